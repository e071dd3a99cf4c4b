"""Counting: cycles and graphlets of random graphs, predicted at graphs, nodes and edges by networks on rooted bases."""
