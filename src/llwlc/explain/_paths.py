"""Whole paths between the two ends of a pair, the shortest first."""

from __future__ import annotations

from torch import Tensor

MAX_PATH_EDGES = 3
"""Edges that a path may have: within two hops of both ends there are hardly other ways to be near."""


def find_paths(edges: Tensor, u: int, v: int, most: int) -> list[tuple[int, ...]]:
    """Simple paths from u to v of 2 and 3 edges, as positions of nodes, at most `most`; shorter ones first, then by
    number.

    >>> import torch
    >>> find_paths(torch.tensor([[0, 2], [1, 2], [2, 3], [1, 3]]), 0, 1, 10)
    [(0, 2, 1), (0, 2, 3, 1)]
    """
    near: dict[int, list[int]] = {}
    for a, b in edges.tolist():
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    of_v = set(near.get(v, ()))
    first = sorted(near.get(u, ()))
    paths: list[tuple[int, ...]] = [(u, w, v) for w in first if w in of_v]
    for w in first:
        if len(paths) >= most:
            break
        paths += [(u, w, x, v) for x in sorted(near[w]) if x in of_v and x not in (u, v) and w != v]
    return paths[:most]
