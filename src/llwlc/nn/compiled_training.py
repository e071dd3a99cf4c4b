"""CompiledTraining: `LLwLCNet.outputs` on encoded links with gradients, the blocks and their pooling in compiled code, the rest in torch.

Torch computes what has one row a link: the layers behind the pooling, the ends, the heads, and all dropout.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from llwlc.bases.encoded_links import EncodedLinks
from llwlc.nn.ends import symmetric
from llwlc.nn.link_dropout import set_links
from llwlc.nn.net import LLwLCNet
from llwlc.nn.packed import not_packable, pack_blocks, pack_filters, padded_table, transposed_blocks
from llwlc.nn.readouts import ClassReadout
from llwlc.support.threads import over_parts

if TYPE_CHECKING:
    from llwlc.kernels.numba.blocks import Blocks, Filters
    from llwlc.kernels.numba.gradients import Pooled, TrainingRows, TrainingScratch

GROUPS, IN_GROUP = 16, 12
"""A batch is divided into at most `GROUPS` groups of at least `IN_GROUP` links, whatever the number of threads; their gradients are added in order."""


def not_trainable(net: LLwLCNet) -> str:
    """Why a network is trained by torch alone, "" where kernels can train it."""
    if reason := not_packable(net):
        return reason
    return "" if isinstance(net.pool, ClassReadout) else f"readout {net.config.pooling!r} is trained in torch"


class CompiledTraining:
    """A network for which `not_trainable` is empty, with the compact features `[n, F]`; scratch is reused from step to step."""

    def __init__(self, net: LLwLCNet, features: Tensor | None) -> None:
        self.net, self.features = net, features
        self.dtype = next(net.parameters()).numpy(force=True).dtype.type
        self.table = np.zeros((0, 0), self.dtype) if features is None else padded_table(features, self.dtype)
        self.learned = learned(net)
        self.scratch: list[TrainingScratch] = []
        self.room = -1

    def outputs(self, links: EncodedLinks, index: Tensor, draws: Tensor | None = None) -> Tensor:
        """`net.outputs(links.batch(index, draws), features)`."""
        net, c = self.net, self.net.config
        links, index = links.in_single(index)
        set_links(net, draws)
        values = links.values[index].to(self.learned[0].dtype)
        rows = self._rows(links, index, values)
        found = PooledBlocks.apply(self, rows, *self.learned)  # type: ignore[no-untyped-call]
        mean, largest, ends, gain, size, spectrum = found
        mean, largest, ends = (x[..., : c.channels] for x in (mean, largest, ends))
        pooled = torch.cat([mean.flatten(2), size.log1p().unsqueeze(2)], 2).flatten(1)
        parts = [net.pool.read(pooled, largest.flatten(1))]
        if c.ends:
            parts.append(symmetric(ends[:, 0], ends[:, 1]))
        if net.filtered is not None and self.features is not None:
            first = links.ptr[index]
            own = [
                (links.vectors[at].to(values.dtype), self.features[links.node[at].long()]) for at in (first, first + 1)
            ]
            spectrum = spectrum[:, :, : c.feature_channels]
            parts.append(net.filtered.read(*net.filtered.filtered(gain, spectrum, *own)))
        pair = None if links.pair is None else links.pair[index].to(values.dtype)
        if c.pair_channels and pair is not None:
            parts.append(pair)
        return net.heads(torch.cat(parts, 1), pair)

    def _rows(self, links: EncodedLinks, index: Tensor, values: Tensor) -> TrainingRows:
        from llwlc.kernels.numba.gradients import TrainingRows

        self._grow_scratch(int(links.sizes[index].max()))
        live, keep = links.mask[index].sum(1), self._keep(values)
        fields = (links.ptr, links.vectors, links.node, links.label, links.degree, index, live, values, keep)
        return TrainingRows(*(x.contiguous().numpy() for x in fields))

    def _keep(self, values: Tensor) -> Tensor:
        """The factors of dropout on the filters' hidden layers, `[blocks, B, κ, H]`, drawn as the network draws them; `[0, …]` without dropout."""
        convs: Any = self.net.convs
        hidden, dropouts = self.net.config.filter_hidden, [conv.filter.layers[2] for conv in convs]
        if not self.net.training or not any(dropout.p for dropout in dropouts):
            return values.new_zeros(0, *values.shape, hidden)
        ones = values.new_ones(*values.shape, hidden)
        return torch.stack([dropout(ones) for dropout in dropouts])

    def _grow_scratch(self, largest: int) -> None:
        if largest > self.room:
            self.scratch, self.room = [], largest + largest // 2

    def over_groups(self, links: int, steps: int, blocks: Blocks, filters: Filters, work: Callable[..., None]) -> None:
        """Calls `work(scratch, group, begin, end)` for the groups of so many links."""
        from llwlc.kernels.numba.gradients import training_scratch

        pooled = blocks.bias.size if self.net.config.jumping else blocks.bias.shape[1]
        groups = groups_of(links)
        taken = []

        def make() -> Callable[[int], None]:
            try:
                scratch = self.scratch.pop()
            except IndexError:
                scratch = training_scratch(self.room, steps, blocks, filters, pooled, self.table.shape[1])
            taken.append(scratch)
            return lambda group: work(scratch, group, links * group // groups, links * (group + 1) // groups)

        over_parts(groups, make)
        self.scratch += taken


def learned(net: LLwLCNet) -> list[Tensor]:
    """The weights whose gradients kernels compute: of every block, then of their skips, then of all filters."""
    convs: Any = net.convs
    found: list[Tensor] = [p for conv in convs for p in (conv.weight, conv.bias)]
    found += [conv.skip.weight for conv in convs if conv.skip is not None]
    filters = [conv.filter for conv in convs] + ([] if net.filtered is None else [net.filtered.filter])
    return found + [p for one in filters for p in one.parameters()]


def groups_of(links: int) -> int:
    return max(1, min(GROUPS, links // IN_GROUP))


class PooledBlocks(torch.autograd.Function):
    """Class means `[B, classes, blocks, C]`, largest entries `[B, blocks, C]` and the ends' rows `[B, 2, C]`, C padded to whole lanes, the gains of the ends' filter
    `[B, κ, S]`; and, without gradient, the sizes of the classes `[B, classes]` and the spectrum of the features `[B, κ, F]`.

    Differentiable in the weights that `learned` lists.
    """

    @staticmethod
    def forward(ctx: Any, training: CompiledTraining, rows: TrainingRows, *weights: Tensor) -> Any:
        from llwlc.kernels.numba.gradients import forward

        blocks, filters = pack_blocks(training.net, training.dtype), pack_filters(training.net, training.dtype)
        jumping, steps = training.net.config.jumping, rows.vectors.shape[1]
        links, count = len(rows.chosen), len(blocks.bias) if jumping else 1
        pooled = _pooled(links, steps, blocks, filters, count)
        size = np.empty((links, blocks.classes), training.dtype)
        spectrum = np.empty((links, steps, training.table.shape[1]), training.dtype)

        def work(scratch: TrainingScratch, group: int, begin: int, end: int) -> None:
            forward(blocks, filters, jumping, training.table, rows, begin, end, scratch, pooled, size, spectrum)

        training.over_groups(links, steps, blocks, filters, work)
        ctx.training, ctx.rows, ctx.blocks, ctx.filters = training, rows, blocks, filters
        C = blocks.bias.shape[1]
        mean, largest, ends, gain, *fixed = (torch.from_numpy(x) for x in (*pooled, size, spectrum))
        ctx.mark_non_differentiable(*fixed)
        return mean.view(links, blocks.classes, count, C), largest.view(links, count, C), ends, gain, *fixed

    @staticmethod
    def backward(ctx: Any, mean: Tensor, largest: Tensor, ends: Tensor, gain: Tensor, *_: Tensor) -> Any:
        from llwlc.kernels.numba.gradients import Pooled, backward

        training, rows, blocks, filters = ctx.training, ctx.rows, ctx.blocks, ctx.filters
        jumping, links = training.net.config.jumping, len(rows.chosen)
        given = Pooled(*(x.contiguous().numpy().reshape(links, *shape) for x, shape in (
            (mean, (blocks.classes, -1)), (largest, (-1,)), (ends, (2, -1)), (gain, gain.shape[1:]),
        )))  # fmt: skip
        turned = transposed_blocks(blocks)
        flat, sums = _gradients(groups_of(links), blocks, filters)

        def work(scratch: TrainingScratch, group: int, begin: int, end: int) -> None:
            backward(blocks, filters, turned, jumping, rows, begin, end, scratch, given, *sums[group])

        training.over_groups(links, rows.vectors.shape[1], blocks, filters, work)
        np.sum(flat, 0, out=flat[0])
        return None, None, *_unpacked(training.net, *sums[0])


WEIGHTS = ("first", "mix", "first_skip", "skip", "bias")


def _pooled(links: int, steps: int, blocks: Blocks, filters: Filters, count: int) -> Pooled:
    from llwlc.kernels.numba.gradients import Pooled

    C = blocks.bias.shape[1]
    gains = blocks.filters if len(filters.inner) > len(blocks.bias) else 0  # of the ends' filter, where there is one
    shapes = (links, blocks.classes, count * C), (links, count * C), (links, 2, C), (links, steps, gains)
    return Pooled(*(np.empty(shape, blocks.bias.dtype) for shape in shapes))


def _gradients(groups: int, blocks: Blocks, filters: Filters) -> tuple[np.ndarray, list[tuple[Blocks, Filters]]]:
    """Zeros for the gradients of the groups, a row each, and views of it by weight; rows of the first block are padded to a multiple of four."""
    shapes = {name: getattr(blocks, name).shape for name in WEIGHTS} | {
        name: getattr(filters, name).shape for name in filters._fields
    }
    shapes["first"] = len(blocks.first) + 3, blocks.first.shape[1]
    sizes = [math.prod(shape) for shape in shapes.values()]
    flat = np.zeros((groups, sum(sizes)), blocks.bias.dtype)
    ends = np.cumsum(sizes).tolist()

    def cut(row: np.ndarray) -> tuple[Blocks, Filters]:
        parts = zip(shapes.items(), ends, sizes, strict=True)
        found: dict[str, Any] = {name: row[end - size : end].reshape(shape) for (name, shape), end, size in parts}
        return blocks._replace(**{name: found[name] for name in WEIGHTS}), filters._replace(
            **{name: found[name] for name in filters._fields}
        )

    return flat, [cut(row) for row in flat]


def _unpacked(net: LLwLCNet, blocks: Blocks, filters: Filters) -> list[Tensor]:
    """Gradients in the shapes and the order of `learned`."""
    c, inputs, channels = net.config, net.classes + 1, net.config.channels
    weights: list[np.ndarray] = []
    for block in range(c.blocks):
        mixed = blocks.first[: c.filters * inputs, :channels]
        if block:
            mixed = blocks.mix[block - 1, :, :channels, :channels].reshape(-1, channels)
        weights += [mixed, blocks.bias[block, :channels]]
    if c.skip:
        weights.append(blocks.first_skip[:, :channels].T)
        weights += [skip[:channels, :channels].T for skip in blocks.skip]
    for inner, inner_bias, outer, outer_bias in zip(*filters, strict=True):
        weights += [inner[:, None], inner_bias, outer, outer_bias]
    return [torch.from_numpy(np.ascontiguousarray(w)) for w in weights]
