"""The blocks of a network and their pooling by class, forward and backward, for training on a CPU: one link at a time,
its rows in the cache only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from llwlc._kernels.numba.blocks import (
    Blocks,
    BlockScratch,
    Filters,
    all_blocks,
    block_scratch,
    take_degrees,
    take_vectors,
)
from llwlc._kernels.numba.filter_gradients import filter_backward, filter_forward
from llwlc._kernels.numba.lanes import (
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
from llwlc._kernels.numba.products import PAIR, multiply, project, whole_fours, zero_entries
from llwlc._kernels.numba.readouts import PoolScratch, SortReadoutWeights, pool_classes, pool_scratch
from llwlc._support.compiler import uncounted


class TransposedWeights(NamedTuple):
    """The weights as backward reads them: `first [C, S (classes + 1)]`, `mix [blocks − 1, C, S C]`,
    `skip [blocks − 1, C, C]`; of the readout `pooled [classes + 1, O, H]`, the last of which belongs to the largest
    entries; of the ends `ends [D, (S + 1) F]`; of the head `hidden [H, width]`."""

    first: np.ndarray
    mix: np.ndarray
    skip: np.ndarray
    pooled: np.ndarray
    ends: np.ndarray
    hidden: np.ndarray


class BlockGradientScratch(NamedTuple):
    """Scratch of one thread: gradients of the loss with respect to the class means `mean [classes, H]`, the largest
    entries `largest [H]`, where H = `pooled` is all channels that are pooled, and the gains of the filters
    `gain [F, S, kappa]`; `rows [2, n, C]`, those of the rows of a block and of the one before, `mixed [kappa, C]`,
    `filtered [kappa, S C]` and `spectrum [kappa, C]` of what stands between them; `ties [H]`, how many rows share the
    largest entry; of the filters `hidden [F, kappa, H]`, `keep [blocks, κ, H]`, the factors of dropout, and
    `back [H]`."""

    blocks: BlockScratch
    pool: PoolScratch
    pooled: int
    mean: np.ndarray
    largest: np.ndarray
    gain: np.ndarray
    rows: np.ndarray
    mixed: np.ndarray
    filtered: np.ndarray
    spectrum: np.ndarray
    ties: np.ndarray
    hidden: np.ndarray
    keep: np.ndarray
    back: np.ndarray


def block_gradient_scratch(n: int, steps: int, blocks: Blocks, filters: Filters, jumping: bool) -> BlockGradientScratch:
    """Scratch for links of up to n nodes."""
    dtype = blocks.bias.dtype.type
    blocks_count, C = blocks.bias.shape
    count, S, H = filters.outer.shape
    scratch = block_scratch(n, steps, blocks, count, dtype)
    none = np.zeros((0, 0), dtype)
    sorting = SortReadoutWeights(0, 0, none, none.ravel(), none, none.ravel())
    widest = max(blocks.filters * C, len(blocks.first) + PAIR)
    pooled = C * (blocks_count if jumping else 1)

    def zeros(size: int) -> np.ndarray:
        return np.zeros(size + LANES, dtype)

    return BlockGradientScratch(
        blocks=scratch,
        pool=pool_scratch(0, blocks.classes, pooled, sorting, dtype),
        pooled=pooled,
        mean=zeros(blocks.classes * pooled),
        largest=zeros(pooled),
        gain=zeros(count * S * scratch.kappa),
        rows=zeros(2 * (n + 4) * C),
        mixed=zeros(scratch.kappa * C),
        filtered=zeros(scratch.kappa * widest),
        spectrum=zeros(scratch.kappa * C),
        ties=zeros(pooled),
        hidden=zeros(count * scratch.kappa * H),
        keep=zeros(blocks_count * steps * H),
        back=zeros(H),
    )


@uncounted
def rows_of_link(
    blocks: Blocks,
    filters: Filters,
    jumping: bool,
    vectors: np.ndarray,
    degree: np.ndarray,
    label: np.ndarray,
    p: int,
    n: int,
    live: int,
    values: np.ndarray,
    dropped: int,
    s: BlockGradientScratch,
) -> None:
    """Computes gains, rows, class means and largest entries of the link of the nodes p to p + n in the scratch.
    `values [κ]`: its eigenvalues; `dropped`: how many of the filters have dropout, by the factors in the scratch."""
    take_vectors(vectors, live, p, n, s.blocks)
    take_degrees(degree, p, n, s.blocks)
    count, kappa = len(blocks.bias), s.blocks.kappa
    zero_entries(s.blocks.gain, 0, len(filters.inner) * blocks.filters * kappa)
    filter_forward(filters, values, dropped, s.keep, live, kappa, s.hidden, s.blocks.gain)
    all_blocks(blocks, label, p, n, live, s.blocks)
    C = blocks.bias.shape[1]
    stride = whole_fours(n) * C
    pooled, first = (count, 0) if jumping else (1, (count - 1) * stride)
    pool_classes(s.blocks.states, first, pooled, stride, C, label, p, n, s.pool)


@uncounted
def through_blocks(
    blocks: Blocks,
    filters: Filters,
    transposed: TransposedWeights,
    jumping: bool,
    label: np.ndarray,
    p: int,
    n: int,
    live: int,
    values: np.ndarray,
    dropped: int,
    s: BlockGradientScratch,
    grads: Blocks,
    filter_grads: Filters,
) -> None:
    """Adds the gradients of the link in the scratch to `grads` and `filter_grads`. The scratch has those of the loss
    with respect to means, largest entries, the ends' rows of the last block (`rows`, from its beginning) and the gains
    of the ends' filter."""
    count, C = blocks.bias.shape
    kappa = s.blocks.kappa
    count_ties(s, n, count if jumping else 1, 0 if jumping else count - 1, C)
    zero_entries(s.rows, 2 * C, (whole_fours(n) - 2) * C)
    here, there = 0, whole_fours(n) * C
    for back in range(count):
        block = count - 1 - back
        if jumping or back == 0:
            add_pooled(label, p, n, block, block if jumping else 0, C, here, s)
        through_relu(block, n, C, here, s)
        add_bias(block, n, C, here, s, grads)
        project(s.blocks.V, 0, kappa, n, live, s.rows, here, C, s.mixed, 0, False)
        if block == 0:
            first_weights(label, p, n, live, C, here, transposed, s, grads)
            first_gains(blocks, live, s)
        else:
            next_weights(block, n, live, C, here, s, grads)
            next_gains(block, blocks, transposed, live, s)
            rows_before(block, transposed, n, live, C, here, there, s)
        here, there = there, here
    filter_backward(filters, values, dropped, s.keep, live, kappa, s.hidden, s.gain, s.back, filter_grads)


@uncounted
def count_ties(s: BlockGradientScratch, n: int, pooled: int, first: int, C: int) -> None:
    """Counts the rows that have the largest entry of each channel: they share its gradient, as in torch."""
    rows = whole_fours(n) * C
    one = constant(s.ties, 1.0)
    for block in range(pooled):
        for o in range(0, C, LANES):
            most, ties = load(s.pool.largest, block * C + o), constant(s.ties, 0.0)
            for i in range(n):
                ties = plus(ties, where_equal(load(s.blocks.states, (first + block) * rows + i * C + o), most, one))
            store(s.ties, block * C + o, ties)


@uncounted
def add_pooled(
    label: np.ndarray, p: int, n: int, block: int, part: int, C: int, here: int, s: BlockGradientScratch
) -> None:  # fmt: skip
    """Adds the gradient of the pooling to the rows of a block, the `part`-th that was pooled."""
    H, states = s.pooled, block * whole_fours(n) * C
    for o in range(0, C, LANES):
        at = part * C + o
        most = load(s.pool.largest, at)
        share = divide(load(s.largest, at), load(s.ties, at))
        for i in range(n):
            j = np.int64(label[p + i])
            to = here + i * C + o
            mean = load(s.mean, j * H + at)
            row = fma(constant(s.rows, 1.0 / s.pool.size[j]), mean, load(s.rows, to))
            store(s.rows, to, plus(row, where_equal(load(s.blocks.states, states + i * C + o), most, share)))


@uncounted
def through_relu(block: int, n: int, C: int, here: int, s: BlockGradientScratch) -> None:
    states = block * whole_fours(n) * C
    for at in range(0, whole_fours(n) * C, LANES):
        store(s.rows, here + at, where_positive(load(s.blocks.states, states + at), load(s.rows, here + at)))


@uncounted
def add_bias(block: int, n: int, C: int, here: int, s: BlockGradientScratch, grads: Blocks) -> None:
    for o in range(0, C, LANES):
        sums = load(grads.bias, block * C + o)
        for i in range(n):
            sums = plus(sums, load(s.rows, here + i * C + o))
        store(grads.bias, block * C + o, sums)


@uncounted
def first_weights(
    label: np.ndarray,
    p: int,
    n: int,
    live: int,
    C: int,
    here: int,
    transposed: TransposedWeights,
    s: BlockGradientScratch,
    grads: Blocks,
) -> None:
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
        s.blocks.classes_filtered,
        0,
        kappa,
        whole_fours(grads.filters * inputs),
        live,
        s.mixed,
        0,
        C,
        grads.first,
        0,
        True,
    )
    multiply(s.mixed, 0, C, whole_fours(live), C, transposed.first, 0, transposed.first.shape[1], s.filtered, 0, False)


@uncounted
def first_gains(blocks: Blocks, live: int, s: BlockGradientScratch) -> None:
    inputs, kappa, wide = blocks.classes + 1, s.blocks.kappa, -(-blocks.filters * (blocks.classes + 1) // PAIR) * PAIR
    for q in range(blocks.filters):
        for k in range(live):
            sums = s.gain.dtype.type(0)
            for j in range(inputs):
                sums += s.filtered[k * wide + q * inputs + j] * s.blocks.classes[j * kappa + k]
            s.gain[q * kappa + k] = sums


@uncounted
def next_weights(block: int, n: int, live: int, C: int, here: int, s: BlockGradientScratch, grads: Blocks) -> None:
    before, wide, kappa = (block - 1) * whole_fours(n) * C, grads.filters * C, s.blocks.kappa
    if len(grads.skip) > 0:
        project(s.blocks.states, before, C, n, C, s.rows, here, C, grads.skip, (block - 1) * C * C, True)
    project(
        s.blocks.spectrum_filtered,
        block * kappa * wide,
        wide,
        live,
        wide,
        s.mixed,
        0,
        C,
        grads.mix,
        (block - 1) * wide * C,
        True,
    )


@uncounted
def next_gains(block: int, blocks: Blocks, transposed: TransposedWeights, live: int, s: BlockGradientScratch) -> None:
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


@uncounted
def rows_before(
    block: int, transposed: TransposedWeights, n: int, live: int, C: int, here: int, there: int, s: BlockGradientScratch
) -> None:
    """The gradient of the rows of the block before, without the part of the pooling."""
    rows, kappa = whole_fours(n), s.blocks.kappa
    multiply(s.blocks.V, 0, kappa, rows, live, s.spectrum, 0, C, s.rows, there, False)
    if len(transposed.skip) > 0:
        multiply(s.rows, here, C, rows, C, transposed.skip, (block - 1) * C * C, C, s.rows, there, True)
