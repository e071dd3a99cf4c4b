"""Rows of hubs in the order of their draws, for `extract.cu`: what `_kernels.numba.hub_rows` makes on a CPU."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from llwlc._support.counter_hash import mix
from llwlc._support.ragged import pointer

SIGN = -(1 << 63)
NEIGHBOR_CHUNK = 1 << 24
"""Neighbours that are ordered at once; more would take more memory and no less time."""


class GpuHubRows(NamedTuple):
    """`hub [h]`: the nodes of more than `longer_than` neighbours, ascending; `begin [h + 1]`: where their rows begin in
    `neighbor`, which has the neighbours of each by ascending draw.
    """

    hub: Tensor
    begin: Tensor
    neighbor: Tensor
    longer_than: int


def window_key(seed: int, stream: int) -> int:
    """The key of all draws by `seed` on a stream, as a signed number."""
    h = mix(torch.tensor([seed, 0, stream]))
    return int(mix(mix(h[0] ^ h[1] * 3) ^ h[2] * 5))


def hub_rows(
    indptr: Tensor, indices: Tensor, draw_ids: Tensor | None, seed: int, stream: int, longer_than: int
) -> GpuHubRows:
    """The rows of more than so many nodes, ordered for windows, on the device of the graph; four bytes a neighbour."""
    length = indptr.diff()
    hub = torch.nonzero(length > longer_than).squeeze(1)
    begin = pointer(length[hub])
    neighbor = torch.empty(int(begin[-1]), dtype=torch.int32, device=indptr.device)
    key, first = window_key(seed, stream), 0
    while first < len(hub):  # so many rows at once as have AT_ONCE entries, and at least one
        last = max(first + 1, int(torch.searchsorted(begin, begin[first] + NEIGHBOR_CHUNK, right=True)) - 1)
        some = hub[first:last]
        owner = torch.repeat_interleave(length[some])
        place = torch.arange(len(owner), device=owner.device) + (indptr[some] - begin[first:last] + begin[first])[owner]
        row = indices[place]
        draws = mix((row if draw_ids is None else draw_ids[row]) ^ key) ^ SIGN  # signed, in the order of the unsigned
        order = draws.argsort()
        order = order[owner[order].argsort(stable=True)]
        neighbor[begin[first] : begin[last]] = row[order].int()
        first = last
    return GpuHubRows(hub, begin, neighbor, longer_than)
