"""Induced subgraphs of any node sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from llwlc.constraints._columns import Constraints, custom
from llwlc.constraints._degrees import node_degree
from llwlc.errors import InputError
from llwlc.subgraphs._batch import Subgraphs


def induced(
    subs: Subgraphs, sets: Tensor | Sequence[Iterable[int]], *, names: Sequence[str] | None = None
) -> Constraints:
    """Σ_{x∈S} d_x f(x) = 0 for any node sets S: the degrees (in the whole subgraph) on S, zero elsewhere.

    Args:
        subs: B subgraphs with N nodes in all.
        sets: a mask `[N]` or `[N, k]`, or a list of k sets of node ids of the graph, each cut down to what a subgraph
            holds of it.
        names: names of the k columns; by default their numbers.

    Returns:
        `Constraints` with columns `[N, k]`.

    >>> import torch, llwlc
    >>> path = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3]]))
    >>> subs = llwlc.subgraphs.extract(path, torch.tensor([[0, 3]]))
    >>> dict(zip(subs.node.tolist(), induced(subs, [{1, 2}]).columns[:, 0].tolist()))
    {0: 0.0, 3: 0.0, 1: 2.0, 2: 2.0}
    """
    if isinstance(sets, Tensor):
        if sets.dtype != torch.bool:
            raise InputError(
                f"sets: a mask must be boolean, got {sets.dtype}; for ids give a list of sets, [[3, 7], [9]]"
            )
        mask = sets[:, None] if sets.ndim == 1 else sets
    else:
        if not all(isinstance(s, Iterable) and not isinstance(s, str) for s in sets):
            raise InputError("sets: give a list of sets of node ids, [[3, 7], [9]]; one set alone is [[3, 7]]")
        ids = [torch.tensor(list(s), dtype=torch.long, device=subs.node.device) for s in sets]
        mask = (
            torch.stack([torch.isin(subs.node, i) for i in ids], 1) if ids else subs.node.new_zeros(len(subs.node), 0)
        )
    if len(mask) != subs.num_nodes:
        raise InputError(
            f"sets: a mask of {len(mask)} rows for {subs.num_nodes} nodes in the batch; give one row for each"
        )
    names = names if names is not None else [f"induced_{i}" for i in range(mask.shape[1])]
    return custom(subs, node_degree(subs)[:, None] * mask.to(subs.ptr.device), names=names)
