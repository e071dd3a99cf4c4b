"""CompiledTraining: `LLwLCNet.outputs` on encoded links with gradients, the blocks and their pooling in compiled code, the rest in torch.

What is left to torch has one row a link: filters at eigenvalues, the layers behind the pooling, the ends, the heads, and every dropout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from llwlc.bases.encoded_links import EncodedLinks
from llwlc.linalg.basis import Eigenbasis
from llwlc.nn.ends import symmetric
from llwlc.nn.net import LLwLCNet
from llwlc.nn.packed import not_packable, pack_blocks, padded_table, transposed_blocks
from llwlc.nn.readouts import ClassReadout
from llwlc.support.threads import over_parts

if TYPE_CHECKING:
    from llwlc.kernels.numba.blocks import Blocks
    from llwlc.kernels.numba.gradients import Pooled, TrainingRows, TrainingScratch

GROUPS = 16
"""Links of a batch are taken in so many groups, whatever the number of threads; the gradients of the groups are added in their order."""


def not_trainable(net: LLwLCNet) -> str:
    """Why a network is trained by torch alone, "" where it is not."""
    if reason := not_packable(net):
        return reason
    return "" if isinstance(net.pool, ClassReadout) else f"readout {net.config.pooling!r} is trained in torch"


class CompiledTraining:
    """A network that is `not_trainable` for no reason, with the compact features `[n, F]`; scratch is kept from step to step."""

    def __init__(self, net: LLwLCNet, features: Tensor | None) -> None:
        self.net, self.features = net, features
        self.dtype = next(net.parameters()).numpy(force=True).dtype.type
        self.table = None if features is None else padded_table(features, self.dtype)
        self.scratch: list[TrainingScratch] = []
        self.room = -1

    def outputs(self, links: EncodedLinks, index: Tensor) -> Tensor:
        """`net.outputs(links.batch(index), features)`."""
        net, c = self.net, self.net.config
        values, mask = links.values[index].to(net.head[0].weight.dtype), links.mask[index]
        spectral = Eigenbasis(values, values.new_zeros(0, values.shape[1]), mask, values, links.ptr[:1])
        gain = torch.stack([conv.filter(spectral) for conv in net.convs])
        rows = self._rows(links, index, mask.sum(1), gain)
        weights = [p for conv in net.convs for p in conv.parameters(recurse=False)]
        weights += [conv.skip.weight for conv in net.convs if conv.skip is not None]
        mean, largest, ends, size = PooledBlocks.apply(self, rows, gain, *weights)  # type: ignore[no-untyped-call]
        mean, largest, ends = (x[..., : c.channels] for x in (mean, largest, ends))
        pooled = torch.cat([mean.flatten(2), size.log1p().unsqueeze(2)], 2).flatten(1)
        parts = [net.pool.read(pooled, largest.flatten(1))]
        if c.ends:
            parts.append(symmetric(ends[:, 0], ends[:, 1]))
        if net.filtered is not None and self.features is not None:
            first = links.ptr[index]
            own = [(links.vectors[at].to(values.dtype), self.features[links.node[at].long()]) for at in (first, first + 1)]
            ends_filtered = net.filtered.filtered(spectral, self._spectra(rows), *own)
            parts.append(net.filtered.read(*ends_filtered))
        pair = None if links.pair is None else links.pair[index].to(values.dtype)
        if c.pair_channels and pair is not None:
            parts.append(pair)
        return net.heads(torch.cat(parts, 1), pair)

    def _rows(self, links: EncodedLinks, index: Tensor, live: Tensor, gain: Tensor) -> TrainingRows:
        from llwlc.kernels.numba.gradients import TrainingRows

        self._make_room(int(links.sizes[index].max()))
        fields = (links.ptr, links.vectors, links.node, links.label, links.degree, index, live, gain.detach())
        return TrainingRows(*(x.contiguous().numpy() for x in fields))

    def _make_room(self, largest: int) -> None:
        if largest > self.room:
            self.scratch, self.room = [], largest + largest // 2

    def over_groups(self, links: int, steps: int, blocks: Blocks, work: Callable[..., None]) -> None:
        """Calls `work(scratch, group, begin, end)` for the groups of so many links."""
        from llwlc.kernels.numba.gradients import training_scratch

        pooled = blocks.bias.size if self.net.config.jumping else blocks.bias.shape[1]
        groups = min(GROUPS, links)
        taken = []

        def make() -> Callable[[int], None]:
            try:
                scratch = self.scratch.pop()
            except IndexError:
                scratch = training_scratch(self.room, steps, blocks, pooled)
            taken.append(scratch)
            return lambda group: work(scratch, group, links * group // groups, links * (group + 1) // groups)

        over_parts(groups, make)
        self.scratch += taken

    def _spectra(self, rows: TrainingRows) -> Tensor:
        """VᵀX of the features of the nodes, `[B, κ, F]`."""
        from llwlc.kernels.numba.gradients import feature_spectra

        assert self.features is not None and self.table is not None
        table = self.table
        steps = rows.vectors.shape[1]
        out = np.empty((len(rows.index), steps, self.features.shape[1]), self.dtype)

        def work(scratch: TrainingScratch, group: int, begin: int, end: int) -> None:
            feature_spectra(table, rows, begin, end, scratch, np.empty((steps + 4) * table.shape[1], self.dtype), out)

        self.over_groups(len(rows.index), steps, pack_blocks(self.net, self.dtype), work)
        return torch.from_numpy(out)


class PooledBlocks(torch.autograd.Function):
    """Class means `[B, classes, blocks, C]`, largest entries `[B, blocks, C]` and the ends' rows `[B, 2, C]`, C in whole lanes; and the sizes of the classes `[B, classes]`.

    Differentiable in `gain [blocks, B, κ, S]`, the filters at the eigenvalues, and in the weights: weight and bias of every block, then their skips.
    """

    @staticmethod
    def forward(ctx: Any, training: CompiledTraining, rows: TrainingRows, gain: Tensor, *weights: Tensor) -> Any:
        from llwlc.kernels.numba.gradients import forward

        net = training.net
        blocks, jumping = pack_blocks(net, training.dtype), net.config.jumping
        links, count = len(rows.index), len(blocks.bias) if jumping else 1
        pooled = _pooled(links, blocks, count, training.dtype)
        size = np.empty((links, blocks.classes), training.dtype)

        def work(scratch: TrainingScratch, group: int, begin: int, end: int) -> None:
            forward(blocks, jumping, rows, begin, end, scratch, pooled, size)

        training.over_groups(links, rows.vectors.shape[1], blocks, work)
        ctx.training, ctx.rows, ctx.blocks = training, rows, blocks
        C = blocks.bias.shape[1]
        mean, largest, ends, sizes = (torch.from_numpy(x) for x in (*pooled, size))
        ctx.mark_non_differentiable(sizes)
        return mean.view(links, blocks.classes, count, C), largest.view(links, count, C), ends, sizes

    @staticmethod
    def backward(ctx: Any, mean: Tensor, largest: Tensor, ends: Tensor, _: Tensor) -> Any:
        from llwlc.kernels.numba.gradients import Pooled, backward

        training, rows, blocks = ctx.training, ctx.rows, ctx.blocks
        jumping, links = training.net.config.jumping, len(rows.index)
        given = Pooled(*(x.contiguous().numpy().reshape(links, *shape) for x, shape in (
            (mean, (blocks.classes, -1)), (largest, (-1,)), (ends, (2, -1)),
        )))  # fmt: skip
        gain, turned = np.zeros_like(rows.gain), transposed_blocks(blocks)
        sums = [_zeros_like(blocks) for _ in range(min(GROUPS, links))]

        def work(scratch: TrainingScratch, group: int, begin: int, end: int) -> None:
            backward(blocks, turned, jumping, rows, begin, end, scratch, given, sums[group], gain)

        training.over_groups(links, rows.vectors.shape[1], blocks, work)
        total = _zeros_like(blocks)
        for part in sums:
            for name in WEIGHTS:
                np.add(getattr(total, name), getattr(part, name), out=getattr(total, name))
        return None, None, torch.from_numpy(gain), *_unpacked(training.net, total)


WEIGHTS = ("first", "mix", "first_skip", "skip", "bias")


def _pooled(links: int, blocks: Blocks, count: int, dtype: type[np.floating]) -> Pooled:
    from llwlc.kernels.numba.gradients import Pooled

    C = blocks.bias.shape[1]
    shapes = (links, blocks.classes, count * C), (links, count * C), (links, 2, C)
    return Pooled(*(np.empty(shape, dtype) for shape in shapes))


def _zeros_like(blocks: Blocks) -> Blocks:
    """Room for gradients; of the first block's in whole fours of rows."""
    spare = np.zeros((len(blocks.first) + 3, blocks.first.shape[1]), blocks.first.dtype)
    others = {name: np.zeros_like(getattr(blocks, name)) for name in WEIGHTS[1:]}
    return blocks._replace(first=spare, **others)


def _unpacked(net: LLwLCNet, found: Blocks) -> list[Tensor]:
    """Gradients in the shapes and the order of the weights."""
    c, inputs, channels = net.config, net.classes + 1, net.config.channels
    weights: list[np.ndarray] = []
    for block, conv in enumerate(net.convs):
        mixed = found.first[: c.filters * inputs, :channels]
        if block:
            mixed = found.mix[block - 1, :, :channels, :channels].reshape(-1, channels)
        own = {"weight": mixed, "bias": found.bias[block, :channels]}
        weights += [own[name] for name, _ in conv.named_parameters(recurse=False)]
    if c.skip:
        weights.append(found.first_skip[:, :channels].T)
        weights += [skip[:channels, :channels].T for skip in found.skip]
    return [torch.from_numpy(np.ascontiguousarray(w)) for w in weights]
