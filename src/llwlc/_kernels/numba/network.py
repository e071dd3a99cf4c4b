"""The network on one link after the other: encoded links in, logits out, no matrix of more than one link in memory.

`nn._net` is the specification. What it computes in float64 is computed here in the type of the weights. The numbers of
a link are added up in one fixed order, so a score has the same bits alone, in any batch and on any number of threads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from llwlc._kernels.numba.blocks import (
    Blocks,
    BlockScratch,
    Filters,
    all_blocks,
    block_scratch,
    gains,
    take_basis,
    take_degrees,
)
from llwlc._kernels.numba.lanes import LANES, constant, fma, load, store, times, total
from llwlc._kernels.numba.products import add_row, multiply, project_gathered, rectify, whole_fours
from llwlc._kernels.numba.readouts import (
    ClassReadoutWeights,
    PoolScratch,
    SortReadoutWeights,
    class_readout,
    pool_classes,
    pool_scratch,
    sort_readout,
)
from llwlc._support.compiler import compiled

NORM_EPS, COSINE_EPS = 1e-5, 1e-6  # as in torch's LayerNorm, and in `nn._end_readout.cosines`


class EndWeights(NamedTuple):
    """`nn._end_readout.FilteredEnds`: the features of all nodes `table [nodes, F]`, `mix [(S + 1) F, D]`, `bias`,
    `norm`, `norm_bias [D]`, `channels` of D in use. Without rows where the network has no such part."""

    table: np.ndarray
    mix: np.ndarray
    bias: np.ndarray
    norm: np.ndarray
    norm_bias: np.ndarray
    channels: int
    cosines: bool


class HeadWeights(NamedTuple):
    """`hidden [width, H]`, `bias [H]`, `last [H]`, `last_bias [1]`; `ranking [2, H + width]` in whole lanes,
    `ranking_bias [2]`, empty where candidates have no output of their own. `pooled`, `channels`: entries in use of the
    readout, and of a row; `ends`: whether the rows of the ends are read."""

    hidden: np.ndarray
    bias: np.ndarray
    last: np.ndarray
    last_bias: np.ndarray
    ranking: np.ndarray
    ranking_bias: np.ndarray
    pooled: int
    channels: int
    ends: bool


class NetworkWeights(NamedTuple):
    """All weights. `jumping`: whether the rows of every block are pooled, or of the last alone; `by_class`: which of
    the two readouts.
    """

    blocks: Blocks
    filters: Filters
    by_class: bool
    class_readout: ClassReadoutWeights
    sort_readout: SortReadoutWeights
    jumping: bool
    ends: EndWeights
    head: HeadWeights

    @property
    def outputs(self) -> int:
        return 2 if len(self.head.ranking) else 1


class EncodedRows(NamedTuple):
    """Links as `bases._encoded_links` keeps them: `ptr [B + 1]`, `live [B]`, `values [B, κ]`, `vectors [N, κ]`, `node`,
    `label`, `degree [N]`, `pair [B, P]`.
    """

    ptr: np.ndarray
    live: np.ndarray
    values: np.ndarray
    vectors: np.ndarray
    node: np.ndarray
    label: np.ndarray
    degree: np.ndarray
    pair: np.ndarray


class EndScratch(NamedTuple):
    """`coefficient [2 S, kappa]`, `spectrum [kappa, F]`, `filtered [2 S + 2, F]` with the ends' own features behind,
    `mixed [2, D]`, `units [2 (S + 1)]`; `parts [width]` that the heads read, `hidden [H]`."""

    coefficient: np.ndarray
    spectrum: np.ndarray
    filtered: np.ndarray
    mixed: np.ndarray
    units: np.ndarray
    parts: np.ndarray
    hidden: np.ndarray


class NetworkScratch(NamedTuple):
    blocks: BlockScratch
    pool: PoolScratch
    ends: EndScratch


def network_scratch(net: NetworkWeights, n: int, steps: int) -> NetworkScratch:
    """Scratch of one thread, for links of up to n nodes."""
    dtype = net.head.hidden.dtype.type
    blocks, S = net.blocks, net.blocks.filters
    scratch = block_scratch(n, steps, blocks, len(net.filters.inner), dtype)
    count, C = blocks.bias.shape
    F, D = net.ends.table.shape[1], net.ends.mix.shape[1]
    twice = 2 * S + 6

    def zeros(size: int) -> np.ndarray:
        return np.zeros(size + 2 * LANES, dtype)

    ends = EndScratch(
        coefficient=zeros(twice * scratch.kappa),
        spectrum=zeros(scratch.kappa * F),
        filtered=zeros(twice * F),
        mixed=zeros(2 * D),
        units=zeros(2 * (S + 1)),
        parts=zeros(len(net.head.hidden)),
        hidden=zeros(net.head.hidden.shape[1]),
    )
    pooled = C * (count if net.jumping else 1)
    return NetworkScratch(scratch, pool_scratch(n + 4, blocks.classes, pooled, net.sort_readout, dtype), ends)


@compiled
def run_network(
    net: NetworkWeights, links: EncodedRows, begin: int, end: int, s: NetworkScratch, out: np.ndarray
) -> None:
    """Computes the logits `out [B, outputs]` of a run of links."""
    for b in range(begin, end):
        p, n, live = links.ptr[b], links.ptr[b + 1] - links.ptr[b], links.live[b]
        take_basis(links.values[b], links.vectors, live, p, n, s.blocks)
        take_degrees(links.degree, p, n, s.blocks)
        for f in range(len(net.filters.inner)):
            gains(f, net.filters, live, s.blocks)
        all_blocks(net.blocks, links.label, p, n, live, s.blocks)
        write_row_readout(net, links.label, p, n, s)
        at = net.head.pooled
        if net.head.ends:
            at = write_end_readout(net, n, at, s)
        if len(net.ends.table) > 0:
            at = write_feature_readout(net, links.node, p, n, live, at, s)
        for c in range(links.pair.shape[1]):
            s.ends.parts[at + c] = links.pair[b, c]
        write_logits(net.head, links.pair.shape[1] > 0 and links.pair[b, 0] > 0, s.ends, out[b])


@compiled
def write_row_readout(net: NetworkWeights, label: np.ndarray, p: int, n: int, s: NetworkScratch) -> None:
    """Writes the readout of the rows to the first of the parts."""
    count, C = net.blocks.bias.shape
    stride = whole_fours(n) * C
    last = (count - 1) * stride
    if net.by_class:
        if net.jumping:
            pool_classes(s.blocks.states, 0, count, stride, C, label, p, n, s.pool)
        else:
            pool_classes(s.blocks.states, last, 1, stride, C, label, p, n, s.pool)
        class_readout(net.class_readout, s.pool)
    else:
        sort_readout(net.sort_readout, s.blocks.states, last, C, n, s.pool)
    for c in range(net.head.pooled):
        s.ends.parts[c] = s.pool.out[c]


@compiled
def write_end_readout(net: NetworkWeights, n: int, at: int, s: NetworkScratch) -> int:
    """Writes product and distance of the ends' rows of the last block to the parts from `at` on; returns the index
    behind them.
    """
    count, C = net.blocks.bias.shape
    u = (count - 1) * whole_fours(n) * C
    channels, parts, states = net.head.channels, s.ends.parts, s.blocks.states
    for c in range(channels):
        a, b = states[u + c], states[u + C + c]
        parts[at + c], parts[at + channels + c] = a * b, abs(a - b)
    return at + 2 * channels


@compiled
def write_feature_readout(
    net: NetworkWeights, node: np.ndarray, p: int, n: int, live: int, at: int, s: NetworkScratch
) -> int:
    """Writes the output of `FilteredEnds` to the parts from `at` on; returns the index behind it."""
    e, w, S, kappa = s.ends, net.ends, net.blocks.filters, s.blocks.kappa
    F, D = w.table.shape[1], w.mix.shape[1]
    project_gathered(s.blocks.V, kappa, node, p, n, live, w.table, e.spectrum)
    gain = (len(net.filters.inner) - 1) * S * kappa
    for end in range(2):
        for q in range(S):
            for o in range(0, kappa, LANES):
                product = times(load(s.blocks.gain, gain + q * kappa + o), load(s.blocks.V, end * kappa + o))
                store(e.coefficient, (end * S + q) * kappa + o, product)
    raw = whole_fours(2 * S)
    multiply(e.coefficient, 0, kappa, raw, live, e.spectrum, 0, F, e.filtered, 0, False)
    for end in range(2):
        for c in range(0, F, LANES):
            store(e.filtered, (raw + end) * F + c, load(w.table, np.int64(node[p + end]) * F + c))
        for o in range(0, D, LANES):
            store(e.mixed, end * D + o, load(w.bias, o))
        add_row(e.filtered, end * S * F, S * F, w.mix, 0, D, e.mixed, end * D)
        add_row(e.filtered, (raw + end) * F, F, w.mix, S * F * D, D, e.mixed, end * D)
        normalise_row(e.mixed, end * D, w)
    channels, parts = w.channels, e.parts
    for c in range(channels):
        a, b = e.mixed[c], e.mixed[D + c]
        parts[at + c], parts[at + channels + c] = a * b, abs(a - b)
    at += 2 * channels
    return write_cosines(F, S, at, e) if w.cosines else at


@compiled
def normalise_row(row: np.ndarray, begin: int, w: EndWeights) -> None:
    """LayerNorm of the channels in use."""
    mean = 0.0
    for c in range(w.channels):
        mean += row[begin + c]
    mean /= w.channels
    variance = 0.0
    for c in range(w.channels):
        variance += (row[begin + c] - mean) ** 2
    scale = 1.0 / math.sqrt(variance / w.channels + NORM_EPS)
    for c in range(w.channels):
        row[begin + c] = (row[begin + c] - mean) * scale * w.norm[c] + w.norm_bias[c]


@compiled
def dot(a: np.ndarray, i: int, b: np.ndarray, j: int, count: int) -> float:
    """⟨a, b⟩ over `count` entries, a multiple of 16, from i and j on."""
    sums = constant(a, 0.0)
    for c in range(0, count, LANES):
        sums = fma(load(a, i + c), load(b, j + c), sums)
    return float(total(sums))


@compiled
def write_cosines(F: int, S: int, at: int, e: EndScratch) -> int:
    """Writes the cosines between u's S + 1 rows and v's, each averaged with that of u and v exchanged."""
    rows = e.filtered
    for end in range(2):
        for q in range(S + 1):
            i = end_row(S, end, q) * F
            e.units[end * (S + 1) + q] = 1.0 / max(math.sqrt(dot(rows, i, rows, i, F)), COSINE_EPS)
    for i in range(S + 1):
        for j in range(i, S + 1):
            one = dot(rows, end_row(S, 0, i) * F, rows, end_row(S, 1, j) * F, F) * e.units[i] * e.units[S + 1 + j]
            other = dot(rows, end_row(S, 0, j) * F, rows, end_row(S, 1, i) * F, F) * e.units[j] * e.units[S + 1 + i]
            e.parts[at] = (one + other) / 2
            at += 1
    return at


@compiled
def end_row(S: int, end: int, q: int) -> int:
    """The index of row q of an end: the first S are filtered, the last is the node's own features."""
    return end * S + q if q < S else whole_fours(2 * S) + end


@compiled
def write_logits(head: HeadWeights, sharing: bool, e: EndScratch, out: np.ndarray) -> None:
    """The heads: one for random pairs, and one for candidates, with an output for pairs that share a neighbour and one
    for those that do not.
    """
    width, H = head.hidden.shape
    for o in range(0, H, LANES):
        store(e.hidden, o, load(head.bias, o))
    add_row(e.parts, 0, width, head.hidden, 0, H, e.hidden, 0)
    rectify(e.hidden, 0, H)
    out[0] = dot(e.hidden, 0, head.last, 0, H) + head.last_bias[0]
    if len(head.ranking) > 0:
        kind = 0 if sharing else 1
        begin = kind * head.ranking.shape[1]
        length = head.ranking.shape[1] - H
        mine = dot(e.hidden, 0, head.ranking, begin, H) + dot(e.parts, 0, head.ranking, begin + H, length)
        out[1] = mine + head.ranking_bias[kind]
