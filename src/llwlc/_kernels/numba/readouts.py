"""From the rows of one link to one vector: `nn._readouts`, compiled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from llwlc._kernels.numba.lanes import LANES, constant, fma, larger, load, plus, store, times
from llwlc._kernels.numba.products import add_row, multiply, rectify, whole_fours, zero_entries
from llwlc._support.compiler import uncounted

FIRST_CHANNELS, SECOND_CHANNELS, SEGMENTS = 16, 32, 10
"""Of the sorting readout: channels of the first and of the second convolution, and segments of the adaptive max
pooling.
"""


class ClassReadoutWeights(NamedTuple):
    """Weights of the layer behind the pooling, by what they belong to: `mean [classes, H, O]`, `number [classes, O]`,
    `largest [H, O]`, `bias [O]`; H is all channels that are pooled. Empty with another readout."""

    mean: np.ndarray
    number: np.ndarray
    largest: np.ndarray
    bias: np.ndarray


class SortReadoutWeights(NamedTuple):
    """`rows` are kept, compared by `channels`; the convolutions as matrices, `first [C, 32]`, `second [5 · 16, 32]`,
    with `first_bias`, `second_bias [32]`.
    """

    rows: int
    channels: int
    first: np.ndarray
    first_bias: np.ndarray
    second: np.ndarray
    second_bias: np.ndarray


class PoolScratch(NamedTuple):
    """`mean [classes, H]`, `size [classes]`, `largest [H]`, `out`; where rows are sorted, their `order` and space to
    merge it in, and the outputs of the convolutions.
    """

    mean: np.ndarray
    size: np.ndarray
    largest: np.ndarray
    out: np.ndarray
    order: np.ndarray
    spare: np.ndarray
    chosen: np.ndarray
    first_out: np.ndarray
    row_pairs: np.ndarray
    second_out: np.ndarray


def pool_scratch(
    n: int, classes: int, pooled: int, readout: SortReadoutWeights, dtype: type[np.floating]
) -> PoolScratch:
    """Scratch for links of up to n nodes."""
    rows = readout.rows + 8
    C = readout.first.shape[0]
    sorting = n if readout.rows else 0
    return PoolScratch(
        mean=np.zeros(classes * pooled + LANES, dtype),
        size=np.zeros(classes, np.int64),
        largest=np.zeros(pooled + LANES, dtype),
        out=np.zeros(max(512, pooled), dtype),
        order=np.zeros(sorting, np.int64),
        spare=np.zeros(sorting, np.int64),
        chosen=np.zeros(rows * C + LANES, dtype),
        first_out=np.zeros(rows * 32, dtype),
        row_pairs=np.zeros((rows + 8) * FIRST_CHANNELS, dtype),
        second_out=np.zeros(rows * 32, dtype),
    )


@uncounted
def pool_classes(
    states: np.ndarray, begin: int, blocks: int, stride: int, C: int, label: np.ndarray, p: int, n: int, s: PoolScratch
) -> None:
    """Means of the rows of each class and largest entries, of `blocks` matrices side by side, `stride` apart in
    memory.
    """
    H = blocks * C
    zero_entries(s.mean, 0, len(s.size) * H)
    for j in range(len(s.size)):
        s.size[j] = 0
    for i in range(n):
        s.size[label[p + i]] += 1
    for block in range(blocks):
        for o in range(0, C, LANES):
            most = constant(states, 0.0)
            for i in range(n):
                row = load(states, begin + block * stride + i * C + o)
                to = np.int64(label[p + i]) * H + block * C + o
                store(s.mean, to, plus(load(s.mean, to), row))
                most = larger(row, most)
            store(s.largest, block * C + o, most)
    for j in range(len(s.size)):
        if s.size[j] > 1:
            share = constant(s.mean, 1.0 / s.size[j])
            for c in range(j * H, (j + 1) * H, LANES):
                store(s.mean, c, times(load(s.mean, c), share))


@uncounted
def class_readout(w: ClassReadoutWeights, s: PoolScratch) -> None:
    """The layer behind `pool_classes`; classes without a node add nothing."""
    H, O = w.largest.shape
    for o in range(0, O, LANES):
        store(s.out, o, load(w.bias, o))
    for j in range(len(s.size)):
        if s.size[j] > 0:
            add_row(s.mean, j * H, H, w.mean, j * H * O, O, s.out, 0)
            count = constant(s.out, math.log1p(s.size[j]))
            for o in range(0, O, LANES):
                store(s.out, o, fma(count, load(w.number, j * O + o), load(s.out, o)))
    add_row(s.largest, 0, H, w.largest, 0, O, s.out, 0)
    rectify(s.out, 0, O)


@uncounted
def comes_before(states: np.ndarray, begin: int, C: int, channels: int, i: int, j: int) -> bool:
    """Whether row i is larger than row j in the last channel in which they differ."""
    for c in range(channels - 1, -1, -1):
        a, b = states[begin + i * C + c], states[begin + j * C + c]
        if a != b:
            return bool(a > b)
    return False


@uncounted
def sort_rows(states: np.ndarray, begin: int, C: int, channels: int, n: int, s: PoolScratch) -> None:
    """The order of `nn._pooling.sort_pool`, by a merge sort, which is stable."""
    here, there = s.order, s.spare
    for i in range(n):
        here[i] = i
    size = 1
    while size < n:
        for low in range(0, n, 2 * size):
            middle, high = min(low + size, n), min(low + 2 * size, n)
            a, b = low, middle
            for to in range(low, high):
                second = a >= middle or (b < high and comes_before(states, begin, C, channels, here[b], here[a]))
                if second:
                    there[to] = here[b]
                    b += 1
                else:
                    there[to] = here[a]
                    a += 1
        here, there = there, here
        size *= 2
    for i in range(n):
        s.order[i] = here[i]


@uncounted
def sort_readout(w: SortReadoutWeights, states: np.ndarray, begin: int, C: int, n: int, s: PoolScratch) -> None:
    """DGCNN's readout: the first rows, a convolution over each, max pooling of two, a convolution over five, max
    pooling to ten segments.
    """
    sort_rows(states, begin, C, w.channels, n, s)
    rows, wide = whole_fours(w.rows), w.first.shape[1]
    zero_entries(s.chosen, 0, rows * C)
    for r in range(min(n, w.rows)):
        for c in range(0, C, LANES):
            store(s.chosen, r * C + c, load(states, begin + s.order[r] * C + c))
    multiply(s.chosen, 0, C, rows, C, w.first, 0, wide, s.first_out, 0, False)
    zero, bias = constant(states, 0.0), load(w.first_bias, 0)
    row_pairs = w.rows // 2
    # two zero rows before the first and behind the last: the padding of the second convolution
    zero_entries(s.row_pairs, 0, (whole_fours(row_pairs) + 8) * FIRST_CHANNELS)
    for q in range(row_pairs):
        one, other = load(s.first_out, 2 * q * wide), load(s.first_out, (2 * q + 1) * wide)
        store(s.row_pairs, (q + 2) * FIRST_CHANNELS, larger(plus(larger(one, other), bias), zero))
    multiply(
        s.row_pairs,
        0,
        FIRST_CHANNELS,
        whole_fours(row_pairs),
        5 * FIRST_CHANNELS,
        w.second,
        0,
        SECOND_CHANNELS,
        s.second_out,
        0,
        False,
    )
    for segment in range(SEGMENTS):
        low, high = segment * row_pairs // SEGMENTS, -(-(segment + 1) * row_pairs // SEGMENTS)
        for c in range(SECOND_CHANNELS):
            most = s.second_out[low * SECOND_CHANNELS + c]
            for q in range(low + 1, high):
                most = max(most, s.second_out[q * SECOND_CHANNELS + c])
            s.out[c * SEGMENTS + segment] = max(most + w.second_bias[c], 0.0)
