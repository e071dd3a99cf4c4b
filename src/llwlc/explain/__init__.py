"""Why a pair has its score: parts of the readout, eigenvectors, filters, edges, common neighbours, paths, features and similar links.

Use it by `LinkPredictor.explain`.
"""
