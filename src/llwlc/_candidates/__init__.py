"""Retrieval: a graph and its features in, pairs worth scoring out. Existing links are left out.

Everything is streamed: memory is bounded by a block of source nodes, not by the number of candidates.
"""
