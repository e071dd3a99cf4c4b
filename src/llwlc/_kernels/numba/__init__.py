"""Kernels for the CPU, one link at a time, all of its stages in cache. Arrays in, arrays out."""
