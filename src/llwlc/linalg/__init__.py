"""Projectors, constrained Lanczos, spectral filters and their error bounds: tensors in, tensors out, no links, no PyG."""
