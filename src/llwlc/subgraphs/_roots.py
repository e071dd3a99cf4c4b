"""What is asked of roots and of how far subgraphs reach."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from llwlc.errors import InputError


def check_roots(given: Any, ptr: Tensor) -> Tensor:
    """Nodes `[R]` or pairs `[2, R]` as `[R, 1]` or `[R, 2]`."""
    n = int(ptr[-1])
    if not isinstance(given, Tensor):
        raise InputError(
            f"roots must be None for whole graphs, nodes [R] or pairs [2, R], got {given!r}: torch.arange(num_nodes) is"
            " all nodes, data.edge_label_index the pairs of RandomLinkSplit"
        )
    roots: Tensor = given
    whole = roots.dtype != torch.bool and not roots.is_floating_point()
    if not whole or roots.ndim not in (1, 2) or (roots.ndim == 2 and len(roots) != 2):
        advice = ""
        if roots.dtype == torch.bool:
            advice = ": mask.nonzero()[:, 0] gives the nodes of a mask"
        elif roots.ndim == 2 and roots.shape[1] == 2:
            advice = ": roots.t() turns rows of pairs [R, 2] into columns"
        raise InputError(
            f"roots must be integers, nodes [R] or pairs [2, R], got {tuple(roots.shape)} of {roots.dtype}{advice}"
        )
    roots = roots.as_subclass(Tensor).long().to(ptr.device)
    if roots.numel() and (int(roots.min()) < 0 or int(roots.max()) >= n):
        bad = int(roots.min()) if int(roots.min()) < 0 else int(roots.max())
        raise InputError(f"roots name node {bad}, but the batch has {n} nodes, 0 to {n - 1}")
    if roots.ndim == 1:
        return roots[:, None]
    graph = torch.bucketize(roots, ptr[1:], right=True)
    for wrong, what in ((roots[0] == roots[1], "is a node with itself"), (graph[0] != graph[1], "joins two graphs")):
        if bool(wrong.any()):
            at = int(wrong.nonzero()[0])
            raise InputError(f"pair {at} of roots, {tuple(roots[:, at].tolist())}, {what}: remove such pairs")
    return roots.t()


def check_hops(hops: Any, cap: int | None) -> None:
    """Refuses values of `hops` and `max_nodes_per_hop` that make no sense."""
    if isinstance(hops, bool) or not isinstance(hops, int | float) or hops != int(hops) or hops < 1:
        raise InputError(f"hops must be a whole number, at least 1, got {hops}")
    if cap is not None and cap < 1:
        raise InputError(f"max_nodes_per_hop must be at least 1 (or None for no cap), got {cap}")
