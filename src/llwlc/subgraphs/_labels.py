"""Labels of nodes, from their distances to the two query nodes."""

from __future__ import annotations

import torch
from torch import Tensor

from llwlc.subgraphs._batch import Subgraphs


def drnl(subs: Subgraphs) -> Tensor:
    """SEAL's double-radius node labels: 1 at both query nodes, 0 where one of them cannot be reached.

    1 + min(d_u, d_v) + ⌊d/2⌋ (⌊d/2⌋ + d mod 2 − 1) with d = d_u + d_v. A distance at the cap counts as unreachable.

    Args:
        subs: B subgraphs with N nodes in all.

    Returns:
        Labels `[N]`.

    >>> import torch, llwlc
    >>> square = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 0]]))
    >>> drnl(llwlc.subgraphs.extract(square, torch.tensor([[0, 2]]))).tolist()
    [1, 1, 2, 2]
    """
    near, far = torch.minimum(subs.dist_u, subs.dist_v), torch.maximum(subs.dist_u, subs.dist_v)
    label = drnl_of_distances(near, far, 2 * subs.hops + 1)
    label[subs.u] = 1
    label[subs.v] = 1
    return label


def drnl_of_distances(near: Tensor, far: Tensor, unreachable: int) -> Tensor:
    """The formula of `drnl`, for nodes that are not ends.

    Args:
        near: distances to the nearer end, `[N]`.
        far: distances to the farther end, `[N]`.
        unreachable: the distance from which on an end cannot be reached.

    Returns:
        Labels `[N]`.

    >>> import torch
    >>> drnl_of_distances(torch.tensor([1, 1, 2]), torch.tensor([1, 2, 3]), 3).tolist()
    [2, 3, 0]
    """
    total = near + far
    half = total // 2
    label = 1 + near + half * (half + total % 2 - 1)
    return torch.where(far >= unreachable, 0, label)


def distance_classes(cap: int) -> int:
    """How many values `distance_encoding` takes.

    Args:
        cap: distances are told apart up to here.

    >>> distance_classes(3)
    10
    """
    return (cap + 1) * (cap + 2) // 2


def distance_encoding(subs: Subgraphs, cap: int = 3) -> Tensor:
    """The unordered pair of distances to the two ends, each capped, as one number in `0 … distance_classes(cap) − 1`.

    Unordered, so that a score cannot depend on which end is called u.

    Args:
        subs: B subgraphs with N nodes in all.
        cap: distances are told apart up to here.

    Returns:
        Classes `[N]`.

    >>> import torch, llwlc
    >>> path = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3]]))
    >>> distance_encoding(llwlc.subgraphs.extract(path, torch.tensor([[1, 2]]))).tolist()
    [6, 6, 7, 7]
    """
    near = torch.minimum(subs.dist_u, subs.dist_v).clamp(max=cap)
    far = torch.maximum(subs.dist_u, subs.dist_v).clamp(max=cap)
    return far * (far + 1) // 2 + near
