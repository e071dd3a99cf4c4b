"""The blocks of a network and their pooling by class, forward and backward, for training on a CPU: one link at a time, its rows in the cache only.

Backward recomputes the rows, which is faster than storing and reading them. Gradients of the weights are summed in groups of links, and the groups in a fixed
order, so that the last bit does not depend on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from llwlc.kernels.numba.blocks import (
    Blocks,
    BlockScratch,
    Filters,
    all_blocks,
    block_scratch,
    take_degrees,
    take_vectors,
)
from llwlc.kernels.numba.filter_gradients import filter_backward, filter_forward
from llwlc.kernels.numba.lanes import (
    LANES,
    broadcast,
    constant,
    divide,
    fma,
    load,
    plus,
    store,
    total,
    where_equal,
    where_positive,
)
from llwlc.kernels.numba.products import PAIR, multiply, project, project_gathered, whole_fours, zero_entries
from llwlc.kernels.numba.readouts import PoolScratch, SortReadout, pool_classes, pool_scratch
from llwlc.support.compiler import compiled


class TrainingRows(NamedTuple):
    """All encoded links, and a batch of them: `chosen [B]`, their live columns `live [B]`, eigenvalues `values [B, κ]`, and `keep [blocks, B, κ, H]`, the factors of
    dropout on the hidden layers of the blocks' filters, empty without dropout."""

    ptr: np.ndarray
    vectors: np.ndarray
    node: np.ndarray
    label: np.ndarray
    degree: np.ndarray
    chosen: np.ndarray
    live: np.ndarray
    values: np.ndarray
    keep: np.ndarray


class Pooled(NamedTuple):
    """The output of forward for each link, or the gradient of a loss with respect to it: `mean [B, classes, H]`, `largest [B, H]`, the rows of the ends `ends [B, 2, C]`, and where the
    features at the ends are filtered, the gains of that filter `gain [B, κ, S]`; H is all channels that are pooled."""

    mean: np.ndarray
    largest: np.ndarray
    ends: np.ndarray
    gain: np.ndarray


class Transposed(NamedTuple):
    """The weights as backward reads them: `first [C, S (classes + 1)]`, `mix [blocks − 1, C, S C]`, `skip [blocks − 1, C, C]`."""

    first: np.ndarray
    mix: np.ndarray
    skip: np.ndarray


class TrainingScratch(NamedTuple):
    """Scratch of one thread: `rows [2, n, C]` gradients of the rows of a block and of the one before, `mixed [kappa, C]`, `filtered [kappa, S C]` and `spectrum [kappa, C]` of what
    stands between them, `ties [H]` how many rows share the largest entry; `features [kappa, F]`; of the filters
    `hidden [F, kappa, H]`, `gain [F, S, kappa]` the gradient with respect to their gains, and `back [H]`."""

    blocks: BlockScratch
    pool: PoolScratch
    rows: np.ndarray
    mixed: np.ndarray
    filtered: np.ndarray
    spectrum: np.ndarray
    ties: np.ndarray
    features: np.ndarray
    hidden: np.ndarray
    gain: np.ndarray
    back: np.ndarray


def training_scratch(
    n: int, steps: int, blocks: Blocks, filters: Filters, pooled: int, features: int
) -> TrainingScratch:
    """Scratch for links of up to n nodes; `features`: columns of the feature table."""
    dtype = blocks.bias.dtype.type
    C = blocks.bias.shape[1]
    count, S, H = filters.outer.shape
    scratch = block_scratch(n, steps, blocks, count, dtype)
    none = np.zeros((0, 0), dtype)
    sorting = SortReadout(0, 0, none, none.ravel(), none, none.ravel())
    widest = max(blocks.filters * C, len(blocks.first) + PAIR)
    return TrainingScratch(
        blocks=scratch,
        pool=pool_scratch(0, blocks.classes, pooled, sorting, dtype),
        rows=np.zeros(2 * (n + 4) * C + LANES, dtype),
        mixed=np.zeros(scratch.kappa * C + LANES, dtype),
        filtered=np.zeros(scratch.kappa * widest + LANES, dtype),
        spectrum=np.zeros(scratch.kappa * C + LANES, dtype),
        ties=np.zeros(pooled + LANES, dtype),
        features=np.zeros(scratch.kappa * features + LANES, dtype),
        hidden=np.zeros(count * scratch.kappa * H, dtype),
        gain=np.zeros(count * S * scratch.kappa, dtype),
        back=np.zeros(H, dtype),
    )


@compiled
def rows_of_link(
    links: TrainingRows, b: int, blocks: Blocks, filters: Filters, jumping: bool, s: TrainingScratch
) -> tuple[int, int]:
    """Computes rows, class means and largest entries of link b in the scratch; returns the index of its first node and the number of its nodes."""
    p = links.ptr[links.chosen[b]]
    n, live = links.ptr[links.chosen[b] + 1] - p, links.live[b]
    take_vectors(links.vectors, live, p, n, s.blocks)
    take_degrees(links.degree, p, n, s.blocks)
    count, kappa = len(blocks.bias), s.blocks.kappa
    zero_entries(s.blocks.gain, 0, len(filters.inner) * blocks.filters * kappa)
    filter_forward(filters, links.values, links.keep, b, live, kappa, s.hidden, s.blocks.gain)
    all_blocks(blocks, links.label, p, n, live, s.blocks)
    C = blocks.bias.shape[1]
    stride = whole_fours(n) * C
    pooled, first = (count, 0) if jumping else (1, (count - 1) * stride)
    pool_classes(s.blocks.states, first, pooled, stride, C, links.label, p, n, s.pool)
    return p, n


@compiled
def forward(
    blocks: Blocks, filters: Filters, jumping: bool, table: np.ndarray, links: TrainingRows, begin: int, end: int, s: TrainingScratch,
    out: Pooled, size: np.ndarray, spectrum: np.ndarray,
) -> None:  # fmt: skip
    """Forward pass of a run of links. Two further outputs need no gradient: `size [B, classes]`, the number of nodes of each class, and `spectrum [B, κ, F]` = VᵀX of the
    nodes' features in `table [nodes, F]`, which may be empty."""
    count, C = blocks.bias.shape
    F = spectrum.shape[2]
    for b in range(begin, end):
        p, n = rows_of_link(links, b, blocks, filters, jumping, s)
        live, kappa = links.live[b], s.blocks.kappa
        for k in range(out.gain.shape[1]):
            for q in range(out.gain.shape[2]):
                out.gain[b, k, q] = s.blocks.gain[(count * blocks.filters + q) * kappa + k]
        if F > 0:
            project_gathered(s.blocks.V, s.blocks.kappa, links.node, p, n, live, table, s.features)
            zero_entries(spectrum, b * spectrum.shape[1] * F, spectrum.shape[1] * F)
            for c in range(0, live * F, LANES):
                store(spectrum, b * spectrum.shape[1] * F + c, load(s.features, c))
        last = (count - 1) * whole_fours(n) * C
        H = out.largest.shape[1]
        for c in range(0, H, LANES):
            store(out.largest, b * H + c, load(s.pool.largest, c))
        for c in range(0, blocks.classes * H, LANES):
            store(out.mean, b * blocks.classes * H + c, load(s.pool.mean, c))
        for c in range(0, 2 * C, LANES):
            store(out.ends, 2 * b * C + c, load(s.blocks.states, last + c))
        for j in range(blocks.classes):
            size[b, j] = s.pool.size[j]


@compiled
def backward(
    blocks: Blocks, filters: Filters, transposed: Transposed, jumping: bool, links: TrainingRows, begin: int, end: int, s: TrainingScratch,
    gradient: Pooled, grads: Blocks, filter_grads: Filters,
) -> None:  # fmt: skip
    """Adds the gradients of a run of links to `grads` and `filter_grads`; `gradient` is that of the loss with respect to the output of forward."""
    count, C = blocks.bias.shape
    for b in range(begin, end):
        p, n = rows_of_link(links, b, blocks, filters, jumping, s)
        live, kappa = links.live[b], s.blocks.kappa
        for k in range(live):
            for q in range(gradient.gain.shape[2]):
                s.gain[(count * blocks.filters + q) * kappa + k] = gradient.gain[b, k, q]
        count_ties(s, n, count if jumping else 1, 0 if jumping else count - 1, C)
        zero_entries(s.rows, 0, whole_fours(n) * C)
        for c in range(0, 2 * C, LANES):
            store(s.rows, c, load(gradient.ends, 2 * b * C + c))
        here, there = 0, whole_fours(n) * C
        for back in range(count):
            block = count - 1 - back
            if jumping or back == 0:
                add_pooled(links.label, p, n, b, block, block if jumping else 0, C, here, gradient, s)
            through_relu(block, n, C, here, s)
            add_bias(block, n, C, here, s, grads)
            project(s.blocks.V, 0, kappa, n, live, s.rows, here, C, s.mixed, 0, False)
            if block == 0:
                first_weights(links.label, p, n, live, C, here, transposed, s, grads)
                first_gains(blocks, live, s)
            else:
                next_weights(block, n, live, C, here, s, grads)
                next_gains(block, blocks, transposed, live, s)
                rows_before(block, transposed, n, live, C, here, there, s)
            here, there = there, here
        filter_backward(filters, links.values, links.keep, b, live, kappa, s.hidden, s.gain, s.back, filter_grads)


@compiled
def count_ties(s: TrainingScratch, n: int, pooled: int, first: int, C: int) -> None:
    """Counts the rows that have the largest entry of each channel: they share its gradient, as in torch."""
    rows = whole_fours(n) * C
    one = constant(s.ties, 1.0)
    for block in range(pooled):
        for o in range(0, C, LANES):
            most, ties = load(s.pool.largest, block * C + o), constant(s.ties, 0.0)
            for i in range(n):
                ties = plus(ties, where_equal(load(s.blocks.states, (first + block) * rows + i * C + o), most, one))
            store(s.ties, block * C + o, ties)


@compiled
def add_pooled(
    label: np.ndarray, p: int, n: int, b: int, block: int, part: int, C: int, here: int, gradient: Pooled, s: TrainingScratch
) -> None:  # fmt: skip
    """Adds the gradient of the pooling to the rows of a block, the `part`-th that was pooled."""
    H = gradient.largest.shape[1]
    states, classes = block * whole_fours(n) * C, gradient.mean.shape[1]
    for o in range(0, C, LANES):
        at = part * C + o
        most = load(s.pool.largest, at)
        share = divide(load(gradient.largest, b * H + at), load(s.ties, at))
        for i in range(n):
            j = np.int64(label[p + i])
            to = here + i * C + o
            mean = load(gradient.mean, (b * classes + j) * H + at)
            row = fma(constant(s.rows, 1.0 / s.pool.size[j]), mean, load(s.rows, to))
            store(s.rows, to, plus(row, where_equal(load(s.blocks.states, states + i * C + o), most, share)))


@compiled
def through_relu(block: int, n: int, C: int, here: int, s: TrainingScratch) -> None:
    states = block * whole_fours(n) * C
    for at in range(0, whole_fours(n) * C, LANES):
        store(s.rows, here + at, where_positive(load(s.blocks.states, states + at), load(s.rows, here + at)))


@compiled
def add_bias(block: int, n: int, C: int, here: int, s: TrainingScratch, grads: Blocks) -> None:
    for o in range(0, C, LANES):
        sums = load(grads.bias, block * C + o)
        for i in range(n):
            sums = plus(sums, load(s.rows, here + i * C + o))
        store(grads.bias, block * C + o, sums)


@compiled
def first_weights(
    label: np.ndarray, p: int, n: int, live: int, C: int, here: int, transposed: Transposed, s: TrainingScratch, grads: Blocks
) -> None:  # fmt: skip
    """Gradients of the first block's weights, whose input X₀ is ones and log degrees."""
    inputs, kappa = grads.classes + 1, s.blocks.kappa
    if len(grads.first_skip) > 0:
        for o in range(0, C, LANES):
            last = grads.classes * C + o
            sums = load(grads.first_skip, last)
            for i in range(n):
                row, to = load(s.rows, here + i * C + o), np.int64(label[p + i]) * C + o
                store(grads.first_skip, to, plus(load(grads.first_skip, to), row))
                sums = fma(broadcast(s.blocks.log_degree, i), row, sums)
            store(grads.first_skip, last, sums)
    multiply(
        s.blocks.classes_filtered, 0, kappa, whole_fours(grads.filters * inputs), live, s.mixed, 0, C, grads.first, 0, True
    )  # fmt: skip
    multiply(s.mixed, 0, C, whole_fours(live), C, transposed.first, 0, transposed.first.shape[1], s.filtered, 0, False)


@compiled
def first_gains(blocks: Blocks, live: int, s: TrainingScratch) -> None:
    inputs, kappa, wide = blocks.classes + 1, s.blocks.kappa, -(-blocks.filters * (blocks.classes + 1) // PAIR) * PAIR
    for q in range(blocks.filters):
        for k in range(live):
            sums = s.gain.dtype.type(0)
            for j in range(inputs):
                sums += s.filtered[k * wide + q * inputs + j] * s.blocks.classes[j * kappa + k]
            s.gain[q * kappa + k] = sums


@compiled
def next_weights(block: int, n: int, live: int, C: int, here: int, s: TrainingScratch, grads: Blocks) -> None:
    before, wide, kappa = (block - 1) * whole_fours(n) * C, grads.filters * C, s.blocks.kappa
    if len(grads.skip) > 0:
        project(s.blocks.states, before, C, n, C, s.rows, here, C, grads.skip, (block - 1) * C * C, True)
    project(
        s.blocks.spectrum_filtered, block * kappa * wide, wide, live, wide, s.mixed, 0, C, grads.mix, (block - 1) * wide * C, True
    )  # fmt: skip


@compiled
def next_gains(block: int, blocks: Blocks, transposed: Transposed, live: int, s: TrainingScratch) -> None:
    """Gradients of the filters at the eigenvalues, and of the spectrum VᵀX that they multiply."""
    C, S, kappa = blocks.bias.shape[1], blocks.filters, s.blocks.kappa
    wide = S * C
    multiply(s.mixed, 0, C, whole_fours(live), C, transposed.mix, (block - 1) * C * wide, wide, s.filtered, 0, False)
    zero_entries(s.spectrum, 0, whole_fours(live) * C)
    for k in range(live):
        for q in range(S):
            factor, sums = broadcast(s.blocks.gain, (block * S + q) * kappa + k), constant(s.rows, 0.0)
            for c in range(0, C, LANES):
                part, to = load(s.filtered, k * wide + q * C + c), k * C + c
                sums = fma(part, load(s.blocks.spectrum, block * kappa * C + to), sums)
                store(s.spectrum, to, fma(factor, part, load(s.spectrum, to)))
            s.gain[(block * S + q) * kappa + k] = total(sums)


@compiled
def rows_before(
    block: int, transposed: Transposed, n: int, live: int, C: int, here: int, there: int, s: TrainingScratch
) -> None:
    """The gradient of the rows of the block before, without the part of the pooling."""
    rows, kappa = whole_fours(n), s.blocks.kappa
    multiply(s.blocks.V, 0, kappa, rows, live, s.spectrum, 0, C, s.rows, there, False)
    if len(transposed.skip) > 0:
        multiply(s.rows, here, C, rows, C, transposed.skip, (block - 1) * C * C, C, s.rows, there, True)
