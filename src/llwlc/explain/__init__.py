"""Why a pair has its score: parts of the readout, eigenvectors, filters, edges, common neighbours, paths, features and like links.

`LinkPredictor.explain` is the way in.
"""
