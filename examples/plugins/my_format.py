"""A file format of one's own: `llwlc fit friends.adj --plugin my_format.py`."""

import llwlc


@llwlc.graph.register("adjacency", endings=(".adj",))
def read_adjacency(content):
    """a node and its neighbours in each line, # before a comment"""
    rows = []
    for line in content.decode().splitlines():
        node, *neighbors = line.partition("#")[0].split() or [None]
        if node is not None:
            rows += [(node, other) for other in neighbors or [node]]  # itself: a node without an edge
    return rows
