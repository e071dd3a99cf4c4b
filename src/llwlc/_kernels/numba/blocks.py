"""The blocks of `nn._net` for one link: X₁ = ReLU(V Σ_s f_s(R) VᵀX₀ W_s + X₀W₀ + b), and so on, all on one basis.

X₀ is never stored: a node has a one in the column of its distance class and the logarithm of its degree in the last, so
VᵀX₀ is a sum of rows of V for each class, and X₀W₀ a row of W₀. Filters and weights are applied to κ rows a link (they
commute with V); its n rows are computed only for the ReLU.

Rows of matrices are padded with zeros to whole lanes (`lanes.py`): rows of V to `kappa`, a multiple of 16, rows of X to
`channels`, a multiple of 32.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from llwlc._kernels.numba.lanes import LANES, broadcast, constant, fma, larger, load, plus, store, times
from llwlc._kernels.numba.products import PAIR, multiply, project, whole_fours, zero_entries
from llwlc._support.compiler import uncounted

LOGS = np.log1p(np.arange(1024))
"""log(1 + degree) for small whole degrees, which most are."""


class Blocks(NamedTuple):
    """Weights. `first [S (classes + 1), C]`, `mix [blocks − 1, S C, C]` of the filtered rows;
    `first_skip [classes + 1, C]`, `skip [blocks − 1, C, C]` of the rows themselves, empty where there is no skip;
    `bias [blocks, C]`."""

    classes: int
    filters: int
    first: np.ndarray
    mix: np.ndarray
    first_skip: np.ndarray
    skip: np.ndarray
    bias: np.ndarray


class Filters(NamedTuple):
    """The MLPs on eigenvalues, one a block, and one for the ends behind them: `inner`, `inner_bias [F, H]`,
    `outer [F, S, H]`, `outer_bias [F, S]`.
    """

    inner: np.ndarray
    inner_bias: np.ndarray
    outer: np.ndarray
    outer_bias: np.ndarray


class BlockScratch(NamedTuple):
    """Intermediate results of one link, flat: V `[n, kappa]`, the rows of every block `states [blocks, n, C]`, log
    degrees `[n]`; filters at the eigenvalues `gain [F, S, kappa]`; `classes [classes + 1, kappa]` = (VᵀX₀)ᵀ, filtered
    `classes_filtered [S (classes + 1), kappa]`; and for each block `spectrum [kappa, C]` = VᵀX, filtered
    `spectrum_filtered [kappa, S C]`, mixed `mixed [kappa, C]`. n is padded to a multiple of four."""

    kappa: int
    values: np.ndarray
    V: np.ndarray
    states: np.ndarray
    log_degree: np.ndarray
    gain: np.ndarray
    classes: np.ndarray
    classes_filtered: np.ndarray
    spectrum: np.ndarray
    spectrum_filtered: np.ndarray
    mixed: np.ndarray


def block_scratch(n: int, steps: int, blocks: Blocks, filters: int, dtype: type[np.floating]) -> BlockScratch:
    """Scratch for links of up to n nodes; `filters`: the number of MLPs."""
    kappa, n = -(-steps // LANES) * LANES, n + 4
    count, C = blocks.bias.shape
    inputs = blocks.classes + 1

    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(math.prod(shape) + LANES, dtype)

    return BlockScratch(
        kappa=kappa,
        values=zeros(kappa),
        V=zeros(n, kappa),
        states=zeros(count, n, C),
        log_degree=zeros(n),
        gain=zeros(filters, blocks.filters, kappa),
        classes=zeros(inputs, kappa),
        classes_filtered=zeros(blocks.filters * inputs + 4, kappa),
        spectrum=zeros(count, kappa, C),
        spectrum_filtered=zeros(count, kappa, blocks.filters * C),
        mixed=zeros(count, kappa, C),
    )


@uncounted
def take_basis(values: np.ndarray, vectors: np.ndarray, live: int, p: int, n: int, s: BlockScratch) -> None:
    """Copies Ritz values and vectors to the scratch."""
    zero_entries(s.values, 0, s.kappa)
    for k in range(live):
        s.values[k] = values[k]
    take_vectors(vectors, live, p, n, s)


@uncounted
def take_vectors(vectors: np.ndarray, live: int, p: int, n: int, s: BlockScratch) -> None:
    """Copies the rows p to p + n of `vectors [N, κ]`, and pads with zero rows to a multiple of four."""
    zero_entries(s.V, 0, whole_fours(n) * s.kappa)
    for i in range(n):
        to = i * s.kappa
        for k in range(live):
            s.V[to + k] = vectors[p + i, k]


@uncounted
def take_degrees(degree: np.ndarray, p: int, n: int, s: BlockScratch) -> None:
    for i in range(n):
        d = np.float64(degree[p + i])
        whole = int(d) if 0 <= d < len(LOGS) else -1
        s.log_degree[i] = LOGS[whole] if whole == d else math.log1p(d)
    for i in range(n, whole_fours(n)):
        s.log_degree[i] = 0.0


@uncounted
def gains(f: int, filters: Filters, live: int, s: BlockScratch) -> None:
    """Evaluates filter f at all eigenvalues at once; zero at dead columns."""
    count, hidden = filters.outer.shape[1:]
    zero = constant(s.gain, 0.0)
    for o in range(0, s.kappa, LANES):
        values = load(s.values, o)
        for q in range(count):
            store(s.gain, (f * count + q) * s.kappa + o, broadcast(filters.outer_bias, f * count + q))
        for h in range(hidden):
            at = f * hidden + h
            inner = larger(fma(broadcast(filters.inner, at), values, broadcast(filters.inner_bias, at)), zero)
            for q in range(count):
                to = (f * count + q) * s.kappa + o
                store(s.gain, to, fma(broadcast(filters.outer, (f * count + q) * hidden + h), inner, load(s.gain, to)))
    for q in range(f * count, (f + 1) * count):
        for k in range(live, s.kappa):
            s.gain[q * s.kappa + k] = 0.0


@uncounted
def class_spectrum(label: np.ndarray, p: int, n: int, classes: int, s: BlockScratch) -> None:
    """(VᵀX₀)ᵀ: the rows of V added up by class, and by log degree."""
    zero_entries(s.classes, 0, (classes + 1) * s.kappa)
    for o in range(0, s.kappa, LANES):
        last = constant(s.V, 0.0)
        for i in range(n):
            row = load(s.V, i * s.kappa + o)
            to = np.int64(label[p + i]) * s.kappa + o
            store(s.classes, to, plus(load(s.classes, to), row))
            last = fma(broadcast(s.log_degree, i), row, last)
        store(s.classes, classes * s.kappa + o, last)


@uncounted
def first_mixed(blocks: Blocks, live: int, s: BlockScratch) -> None:
    """Σ_s f_s(R) VᵀX₀ W_s."""
    inputs, kappa = blocks.classes + 1, s.kappa
    for q in range(blocks.filters):
        for j in range(inputs):
            for o in range(0, kappa, LANES):
                product = times(load(s.gain, q * kappa + o), load(s.classes, j * kappa + o))
                store(s.classes_filtered, (q * inputs + j) * kappa + o, product)
    C = blocks.bias.shape[1]
    project(s.classes_filtered, 0, kappa, blocks.filters * inputs, live, blocks.first, 0, C, s.mixed, 0, False)


@uncounted
def first_rows(blocks: Blocks, label: np.ndarray, p: int, n: int, live: int, s: BlockScratch) -> None:
    """X₁."""
    C, kappa, skips = blocks.bias.shape[1], s.kappa, len(blocks.first_skip) > 0
    zero = constant(s.V, 0.0)
    for o in range(0, C, PAIR):
        b0, b1 = load(blocks.bias, o), load(blocks.bias, o + LANES)
        if skips:
            d0, d1 = (
                load(blocks.first_skip, blocks.classes * C + o),
                load(blocks.first_skip, blocks.classes * C + o + LANES),
            )
        else:
            d0, d1 = zero, zero
        for i in range(n):
            c0, c1 = b0, b1
            if skips:
                at, degree = np.int64(label[p + i]) * C + o, broadcast(s.log_degree, i)
                c0 = fma(degree, d0, plus(c0, load(blocks.first_skip, at)))
                c1 = fma(degree, d1, plus(c1, load(blocks.first_skip, at + LANES)))
            for k in range(live):
                v = broadcast(s.V, i * kappa + k)
                c0, c1 = fma(v, load(s.mixed, k * C + o), c0), fma(v, load(s.mixed, k * C + o + LANES), c1)
            store(s.states, i * C + o, larger(c0, zero))
            store(s.states, i * C + o + LANES, larger(c1, zero))
    zero_entries(s.states, n * C, (whole_fours(n) - n) * C)


@uncounted
def next_mixed(block: int, blocks: Blocks, n: int, live: int, s: BlockScratch) -> None:
    """Σ_s f_s(R) VᵀX W_s, X the rows of the block before."""
    C, kappa, count = blocks.bias.shape[1], s.kappa, blocks.filters
    rows, to = whole_fours(n), block * kappa * C
    project(s.V, 0, kappa, n, live, s.states, (block - 1) * rows * C, C, s.spectrum, to, False)
    for k in range(live):
        for q in range(count):
            gain = broadcast(s.gain, (block * count + q) * kappa + k)
            for c in range(0, C, LANES):
                at = (block * kappa + k) * count * C + q * C + c
                store(s.spectrum_filtered, at, times(gain, load(s.spectrum, to + k * C + c)))
    zero_entries(s.spectrum_filtered, (block * kappa + live) * count * C, (whole_fours(live) - live) * count * C)
    wide = count * C
    multiply(
        s.spectrum_filtered,
        block * kappa * wide,
        wide,
        whole_fours(live),
        wide,
        blocks.mix,
        (block - 1) * wide * C,
        C,
        s.mixed,
        to,
        False,
    )


@uncounted
def next_rows(block: int, blocks: Blocks, n: int, live: int, s: BlockScratch) -> None:
    """The rows of a later block, four at a time."""
    C, kappa, rows = blocks.bias.shape[1], s.kappa, whole_fours(n)
    x, out, m = (block - 1) * rows * C, block * rows * C, block * kappa * C
    skip = (block - 1) * C * C
    depth = C if len(blocks.skip) > 0 else 0
    zero = constant(s.V, 0.0)
    for o in range(0, C, PAIR):
        b0, b1 = load(blocks.bias, block * C + o), load(blocks.bias, block * C + o + LANES)
        for i in range(0, rows, 4):
            c00, c01, c10, c11 = b0, b1, b0, b1
            c20, c21, c30, c31 = b0, b1, b0, b1
            for k in range(live):
                at, of = m + k * C + o, i * kappa + k
                w0, w1 = load(s.mixed, at), load(s.mixed, at + LANES)
                s0, s1 = broadcast(s.V, of), broadcast(s.V, of + kappa)
                s2, s3 = broadcast(s.V, of + 2 * kappa), broadcast(s.V, of + 3 * kappa)
                c00, c01 = fma(s0, w0, c00), fma(s0, w1, c01)
                c10, c11 = fma(s1, w0, c10), fma(s1, w1, c11)
                c20, c21 = fma(s2, w0, c20), fma(s2, w1, c21)
                c30, c31 = fma(s3, w0, c30), fma(s3, w1, c31)
            for k in range(depth):
                at, of = skip + k * C + o, x + i * C + k
                w0, w1 = load(blocks.skip, at), load(blocks.skip, at + LANES)
                s0, s1 = broadcast(s.states, of), broadcast(s.states, of + C)
                s2, s3 = broadcast(s.states, of + 2 * C), broadcast(s.states, of + 3 * C)
                c00, c01 = fma(s0, w0, c00), fma(s0, w1, c01)
                c10, c11 = fma(s1, w0, c10), fma(s1, w1, c11)
                c20, c21 = fma(s2, w0, c20), fma(s2, w1, c21)
                c30, c31 = fma(s3, w0, c30), fma(s3, w1, c31)
            to = out + i * C + o
            store(s.states, to, larger(c00, zero))
            store(s.states, to + LANES, larger(c01, zero))
            store(s.states, to + C, larger(c10, zero))
            store(s.states, to + C + LANES, larger(c11, zero))
            store(s.states, to + 2 * C, larger(c20, zero))
            store(s.states, to + 2 * C + LANES, larger(c21, zero))
            store(s.states, to + 3 * C, larger(c30, zero))
            store(s.states, to + 3 * C + LANES, larger(c31, zero))
    zero_entries(s.states, out + n * C, (rows - n) * C)


@uncounted
def all_blocks(blocks: Blocks, label: np.ndarray, p: int, n: int, live: int, s: BlockScratch) -> None:
    """The rows of every block, for the link whose basis, degrees and gains are in the scratch."""
    class_spectrum(label, p, n, blocks.classes, s)
    first_mixed(blocks, live, s)
    first_rows(blocks, label, p, n, live, s)
    for block in range(1, len(blocks.bias)):
        next_mixed(block, blocks, n, live, s)
        next_rows(block, blocks, n, live, s)
