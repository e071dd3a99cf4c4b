"""The rows of a network and what is read of them, by the kernel of `network.cu`: encoded links in, one row per link
out.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from llwlc._kernels.cuda.driver import KernelEngine
from llwlc._kernels.cuda.task import address, task_type

GROUPS = (
    128,
    64,
    32,
)  # threads that share a link, as many as fast memory allows: each 32 have a tile of 32 nodes at a time
TILE = 32
CHUNK = 32  # channels are padded to a multiple

NetworkTask = task_type(
    "Network",
    "ptr node dist_u dist_v label values vectors degree resident first mix table counter out",
    width="int64",
    links="int32",
    kappa="int32",
    stride="int32",
    blocks="int32",
    channels="int32",
    C="int32",
    classes="int32",
    filters="int32",
    hidden="int32",
    features="int32",
    skips="int32",
    jumping="int32",
    ends="int32",
    cap="int32",
)


class NetworkKernelShape(NamedTuple):
    """Numbers of blocks, of channels and of them with padding, of distance classes, filters, hidden channels of a
    filter, features of a node; whether blocks add their input (`skips`), whether all blocks are pooled (`jumping`),
    whether the rows of the ends are read."""

    blocks: int
    channels: int
    padded: int
    classes: int
    filters: int
    hidden: int
    features: int
    skips: bool
    jumping: bool
    ends: bool

    @property
    def pooled(self) -> int:
        """H, the channels that are pooled."""
        return self.channels * (self.blocks if self.jumping else 1)

    @property
    def parts(self) -> dict[str, int]:
        """The widths of what a link's row consists of: means and logarithms of sizes by class, largest entries, rows of
        the ends, their filtered features.
        """
        return {
            "pooled": self.classes * (self.pooled + 1),
            "largest": self.pooled,
            "ends": 2 * self.channels if self.ends else 0,
            "filtered": 2 * (self.filters + 1) * self.features,
        }


class GpuWeights(NamedTuple):
    """`resident`: see `resident_of` in `network.cu`; `first [S (classes + 1), C]`, `mix [blocks - 1, S, C, C]`;
    `table [n, F]` the features of all nodes, or None. Float32.
    """

    resident: Tensor
    first: Tensor
    mix: Tensor
    table: Tensor | None


class GpuRows(NamedTuple):
    """Links: `ptr [B + 1]`; `values [B, κ]`, `vectors [N, κ]`, `degree [N]` in float32; `node [N]` int64, where
    features are read; distance classes as `label [N]`, uint8, or as `dist_u`, `dist_v [N]`, int64, capped at `cap`."""

    ptr: Tensor
    values: Tensor
    vectors: Tensor
    degree: Tensor
    node: Tensor
    label: Tensor | None = None
    dist_u: Tensor | None = None
    dist_v: Tensor | None = None
    cap: int = 0


def compute_readouts(engine: KernelEngine, shape: NetworkKernelShape, weights: GpuWeights, rows: GpuRows) -> Tensor:
    """The readout of each link, `[B, sum of Shape.parts]`, on the device of the arrays."""
    links, kappa = rows.values.shape
    width = sum(shape.parts.values())
    out = torch.empty(links, width, device=rows.ptr.device)
    if not links:
        return out
    counter = torch.zeros(1, dtype=torch.int32, device=rows.ptr.device)
    given = weights._asdict() | rows._asdict() | {"counter": counter, "out": out}
    arrays = {name: x.contiguous() for name, x in given.items() if isinstance(x, Tensor)}
    task = NetworkTask(
        **{name: address(tensor) for name, tensor in arrays.items()}, **sizes_of(shape),
        width=width, links=links, kappa=kappa, stride=stride_of(kappa), cap=rows.cap,
    )  # fmt: skip
    group = group_of(engine, shape, kappa)
    engine.launch("network", group, min(links, engine.groups), shared_bytes(shape, kappa, group), task)
    return out


def group_of(engine: KernelEngine, shape: NetworkKernelShape, kappa: int) -> int:
    """The number of threads for each link, 0 where fast memory is too small."""
    return next((group for group in GROUPS if shared_bytes(shape, kappa, group) <= engine.shared_bytes), 0)


def sizes_of(shape: NetworkKernelShape) -> dict[str, int]:
    """The fields of a shape by their names in the kernel."""
    return {"C" if name == "padded" else name: int(value) for name, value in shape._asdict().items()}


def padded_channels(channels: int) -> int:
    return -(-channels // CHUNK) * CHUNK


def stride_of(kappa: int) -> int:
    """Columns of V with padding: an odd number of fours, so that eight rows lie in different banks of fast memory."""
    return 4 * (-(-kappa // 4) | 1)


def shared_bytes(shape: NetworkKernelShape, kappa: int, group: int) -> int:
    """The bytes that `space_of` in `network.cu` takes."""
    C, stride, perceptrons, later = (
        shape.padded,
        stride_of(kappa),
        shape.blocks + (shape.features > 0),
        shape.blocks - 1,
    )
    hidden = perceptrons * (2 * shape.hidden + shape.filters * (shape.hidden + 1))
    resident = (shape.classes + 1 + later) * C + shape.skips * later * C * C + hidden
    features, sizes = stride * _fours(shape.features), _fours(shape.classes)
    by_class = (shape.classes + 1) * stride
    link = perceptrons * shape.filters * stride + by_class + (1 + shape.blocks) * stride * C + features + sizes
    sums = max(by_class + features + sizes, (stride + shape.classes + 1) * C)
    warp = TILE * stride + (2 if C > CHUNK else 1) * TILE * (C + 4) + 3 * TILE + sums
    return 4 * (_fours(resident) + link + group // 32 * warp)


def _fours(count: int) -> int:
    return -(-count // 4) * 4
