"""Constraints on the two ends of the pair alone."""

from __future__ import annotations

import torch

from llwlc.constraints._columns import Constraints, custom
from llwlc.subgraphs._batch import Subgraphs


def contraction(subs: Subgraphs) -> Constraints:
    """f(u) = f(v): the two ends glued to one node, so that the link is contracted, where extraction has deleted it.

    For L = D − A of a connected subgraph, the product of the non-zero eigenvalues of PLP is R_uv / 2 times that of L,
    R_uv = (e_u − e_v)ᵀ L⁺ (e_u − e_v) the effective resistance between the ends: contraction multiplies the number of
    spanning trees by R_uv. All eigenvalues interlace with those of L. With the normalised Laplacian it is D^½ f that is
    glued.

    Args:
        subs: B subgraphs with N nodes in all.

    Returns:
        `Constraints` with columns `[N, 1]`.

    >>> import torch, llwlc
    >>> path = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
    >>> contraction(llwlc.subgraphs.extract(path, torch.tensor([[0, 2]]))).columns[:, 0].tolist()
    [1.0, -1.0, 0.0]
    """
    return custom(subs, _ends(subs, -1.0), names=["contraction"])


def marking(subs: Subgraphs) -> Constraints:
    """f(u) + f(v) = 0: the pair is marked, and no edge of the subgraph changes.

    The complement of `contraction`: of the part of a signal on the two ends, the odd one is left, there the even one.

    Args:
        subs: B subgraphs with N nodes in all.

    Returns:
        `Constraints` with columns `[N, 1]`.

    >>> import torch, llwlc
    >>> path = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
    >>> marking(llwlc.subgraphs.extract(path, torch.tensor([[0, 2]]))).columns[:, 0].tolist()
    [1.0, 1.0, 0.0]
    """
    return custom(subs, _ends(subs, 1.0), names=["marking"])


def _ends(subs: Subgraphs, other: float) -> torch.Tensor:
    """1 at the end with the smaller id, `other` at the other end: neither the order of the pair nor of nodes counts."""
    first = subs.node[subs.u] <= subs.node[subs.v]
    low, high = torch.where(first, subs.u, subs.v), torch.where(first, subs.v, subs.u)
    zero = torch.zeros(subs.num_nodes, dtype=torch.float64, device=subs.ptr.device)
    return zero.index_fill(0, low, 1.0).index_fill(0, high, other)
