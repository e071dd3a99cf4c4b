"""A whole step of training but the optimizer, on a CPU: loss and gradients of a batch of links, one link after the
other, forward and backward.

Gradients are summed in groups of links, and the groups in their order, so that the last bit does not depend on the
number of threads. Those of the large layers with one row a link are products of matrices over the batch, made when all
links are done.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from llwlc._kernels.numba.dropout import Dropout, bits_of_link, write_dropout_factors
from llwlc._kernels.numba.end_gradients import (
    EndGradientScratch,
    end_gradient_scratch,
    features_backward,
    features_forward,
)
from llwlc._kernels.numba.gradients import (
    BlockGradientScratch,
    TransposedWeights,
    block_gradient_scratch,
    rows_of_link,
    through_blocks,
)
from llwlc._kernels.numba.head_gradients import (
    HeadScratch,
    cross_entropy,
    head_scratch,
    heads_backward,
    heads_forward,
    readout_backward,
)
from llwlc._kernels.numba.lanes import LANES, load, store
from llwlc._kernels.numba.network import NetworkWeights
from llwlc._kernels.numba.products import FOUR, project, whole_fours, zero_entries
from llwlc._kernels.numba.readouts import class_readout
from llwlc._kernels.numba.shared_counter import take_next
from llwlc._support.compiler import uncounted


class TrainingArrays(NamedTuple):
    """All encoded links, as `bases._encoded_links` keeps them."""

    ptr: np.ndarray
    vectors: np.ndarray
    node: np.ndarray
    label: np.ndarray
    degree: np.ndarray
    values: np.ndarray
    mask: np.ndarray
    pair: np.ndarray


class KernelBatch(NamedTuple):
    """The links of a step, `chosen [B]`; `wanted [B, 1 + outputs]`: 0 or 1, then the weight of the link in the
    population of each output; `counts [outputs]`: the links of each population.
    """

    chosen: np.ndarray
    wanted: np.ndarray
    counts: np.ndarray


class TrainingTape(NamedTuple):
    """What the links of a batch leave for the gradients of the large layers: for each layer its inputs, and the
    gradients of its outputs before the ReLU. Of the readout `pooled [B, (classes + 1) H]`, `number [B, classes]`,
    `readout [B, O]`; of the ends `filtered [2 B, (S + 1) F]`, `mixed [2 B, D]`; of the head `parts [B, width]`,
    `hidden [B, H]`. And the `loss [B]`. Widths are padded to whole lanes, with zeros."""

    pooled: np.ndarray
    number: np.ndarray
    readout: np.ndarray
    filtered: np.ndarray
    mixed: np.ndarray
    parts: np.ndarray
    hidden: np.ndarray
    loss: np.ndarray


class TrainingScratch(NamedTuple):
    """Scratch of one thread: `sums`, the gradients of a group of links, and `grads`, views of it by weight; the large
    layers have none there.
    """

    blocks: BlockGradientScratch
    ends: EndGradientScratch
    head: HeadScratch
    sums: np.ndarray
    grads: NetworkWeights


def make_training_tape(links: int, net: NetworkWeights, transposed: TransposedWeights) -> TrainingTape:
    """Room for a batch of so many links."""
    dtype = net.head.hidden.dtype.type
    H, O = net.class_readout.largest.shape
    classes, (D, wide) = net.blocks.classes, transposed.ends.shape

    def zeros(rows: int, width: int) -> np.ndarray:
        return np.zeros((rows, width), dtype)

    return TrainingTape(
        pooled=zeros(links, (classes + 1) * H),
        number=zeros(links, -(-classes // LANES) * LANES),
        readout=zeros(links, O),
        filtered=zeros(2 * links, wide),
        mixed=zeros(2 * links, D),
        parts=zeros(links, transposed.hidden.shape[1]),
        hidden=zeros(links, net.head.hidden.shape[1]),
        loss=np.zeros(links),
    )


def training_scratch(
    n: int, steps: int, net: NetworkWeights, sums: np.ndarray, grads: NetworkWeights
) -> TrainingScratch:
    """Scratch for links of up to n nodes."""
    blocks = block_gradient_scratch(n, steps, net.blocks, net.filters, net.jumping)
    ends = end_gradient_scratch(net.ends, net.blocks.filters, blocks.blocks.kappa)
    return TrainingScratch(blocks, ends, head_scratch(net.head), sums, grads)


@uncounted
def train_groups(
    net: NetworkWeights,
    transposed: TransposedWeights,
    links: TrainingArrays,
    batch: KernelBatch,
    dropout: Dropout,
    groups: int,
    turn: np.ndarray,
    s: TrainingScratch,
    tape: TrainingTape,
    sums: np.ndarray,
) -> None:
    """Takes groups of links until none is left, each link forward and backward, and writes the gradients of a group to
    its row of `sums`. `turn [1]`: the next group, shared with the other threads. (All in one function, since numba
    optimises whatever a function calls once more with it.)"""
    count, size = len(batch.chosen), sums.shape[1]
    S, F, D, width = net.blocks.filters, net.ends.table.shape[1], net.ends.mix.shape[1], tape.parts.shape[1]
    outputs = 2 if len(net.head.ranking) > 0 else 1
    cosines = (S + 1) * (S + 2) // 2 if net.ends.cosines else 0
    ends_at = net.head.pooled
    features_at = ends_at + (2 * net.head.channels if net.head.ends else 0)
    pair_at = features_at + (2 * net.ends.channels + cosines if F > 0 else 0)
    gain = len(net.blocks.bias) * S * s.blocks.blocks.kappa
    parts, readout = tape.parts.reshape(-1), tape.readout.reshape(-1)
    rows, linear = tape.filtered.reshape(-1), tape.mixed.reshape(-1)
    group = take_next(turn)
    while group < groups:
        zero_entries(s.sums, 0, size)
        for b in range(count * group // groups, count * (group + 1) // groups):
            chosen = np.int64(batch.chosen[b])
            p, values, live = links.ptr[chosen], links.values[chosen], live_columns(links.mask[chosen])
            n, at, filtered, mixed = links.ptr[chosen + 1] - p, b * width, 2 * b * (S + 1) * F, 2 * b * D
            sharing = links.pair.shape[1] > 0 and links.pair[chosen, 0] > 0
            dropped = draw_dropout(net, dropout, links, p, s)
            rows_of_link(
                net.blocks,
                net.filters,
                net.jumping,
                links.vectors,
                links.degree,
                links.label,
                p,
                n,
                live,
                values,
                dropped,
                s.blocks,
            )
            class_readout(net.class_readout, s.blocks.pool)
            keep_pooled(net, b, s.blocks, tape)
            if net.head.ends:
                ends_forward(net, n, s.blocks, parts, at + ends_at)
            if F > 0:
                features_forward(
                    net.ends, S, gain, links.node, p, n, live, s.blocks, s.ends, rows, filtered, parts, at + features_at
                )  # fmt: skip
            for c in range(links.pair.shape[1]):
                parts[at + pair_at + c] = links.pair[chosen, c]
            heads_forward(net.head, sharing, parts, at, s.head)
            tape.loss[b] = cross_entropy(batch.wanted[b], batch.counts, outputs, s.head)
            heads_backward(
                net.head, sharing, transposed, parts, at, tape.hidden, b * tape.hidden.shape[1], s.head, s.grads.head
            )  # fmt: skip
            readout_backward(
                net.class_readout,
                transposed,
                ends_at,
                s.head.parts,
                readout,
                b * tape.readout.shape[1],
                s.blocks,
                s.grads.class_readout,
            )
            ends_backward(net, n, s.blocks, s.head.parts, ends_at)
            if F > 0:
                features_backward(
                    net.ends,
                    S,
                    gain,
                    live,
                    transposed,
                    s.blocks,
                    s.ends,
                    rows,
                    filtered,
                    s.head.parts,
                    features_at,
                    linear,
                    mixed,
                    s.grads.ends,
                )
            through_blocks(
                net.blocks,
                net.filters,
                transposed,
                net.jumping,
                links.label,
                p,
                n,
                live,
                values,
                dropped,
                s.blocks,
                s.grads.blocks,
                s.grads.filters,
            )
        for c in range(0, size, LANES):
            store(sums, group * size + c, load(s.sums, c))
        group = take_next(turn)


@uncounted
def live_columns(mask: np.ndarray) -> int:
    """How many columns of a basis are live. (A function of its own: where a literal 0 begins a sum, numba compiles what
    is called with the sum for the literal too.)
    """
    live = 0
    for k in range(len(mask)):
        live += int(mask[k])
    return live


@uncounted
def draw_dropout(net: NetworkWeights, dropout: Dropout, links: TrainingArrays, p: int, s: TrainingScratch) -> int:
    """The factors of all dropout of the link that begins at node p; returns how many filters have dropout. Places: the
    filters of all blocks, the ends' output, the features, the head.
    """
    link = bits_of_link(dropout, links.node[p], links.node[p + 1])
    count, steps, H = len(net.blocks.bias), links.values.shape[1], net.filters.inner.shape[1]
    for block in range(count):
        if dropout.drop[block] > 0:
            write_dropout_factors(dropout, block, link, steps * H, s.blocks.keep, block * steps * H)
    if net.ends.table.shape[1] > 0:
        write_dropout_factors(dropout, count, link, 2 * net.ends.channels, s.ends.keep_out, 0)
        write_dropout_factors(dropout, count + 1, link, net.ends.table.shape[1], s.ends.keep, 0)
    write_dropout_factors(dropout, count + 2, link, net.head.hidden.shape[1], s.head.keep, 0)
    return count if dropout.drop[0] > 0 else 0


@uncounted
def keep_pooled(net: NetworkWeights, b: int, s: BlockGradientScratch, tape: TrainingTape) -> None:
    """The inputs of the readout, and its output as the first of the parts."""
    H, classes, wide = s.pooled, net.blocks.classes, tape.pooled.shape[1]
    for c in range(0, classes * H, LANES):
        store(tape.pooled, b * wide + c, load(s.pool.mean, c))
    for c in range(0, H, LANES):
        store(tape.pooled, b * wide + classes * H + c, load(s.pool.largest, c))
    for c in range(net.head.pooled):
        tape.parts[b, c] = s.pool.out[c]
    for j in range(classes):
        tape.number[b, j] = math.log1p(s.pool.size[j])


@uncounted
def ends_forward(net: NetworkWeights, n: int, s: BlockGradientScratch, parts: np.ndarray, at: int) -> None:
    """Product and distance of the ends' rows of the last block."""
    count, C = net.blocks.bias.shape
    u, channels = (count - 1) * whole_fours(n) * C, net.head.channels
    for c in range(channels):
        a, b = s.blocks.states[u + c], s.blocks.states[u + C + c]
        parts[at + c], parts[at + channels + c] = a * b, abs(a - b)


@uncounted
def ends_backward(net: NetworkWeights, n: int, s: BlockGradientScratch, parts: np.ndarray, at: int) -> None:
    """The gradients of the ends' rows of the last block, zero where they are not read."""
    count, C = net.blocks.bias.shape
    u, channels = (count - 1) * whole_fours(n) * C, net.head.channels
    zero_entries(s.rows, 0, 2 * C)
    if net.head.ends:
        for c in range(channels):
            a, b = s.blocks.states[u + c], s.blocks.states[u + C + c]
            product, apart = parts[at + c], parts[at + channels + c] * ((a > b) - (a < b))
            s.rows[c], s.rows[C + c] = product * b + apart, product * a - apart


@uncounted
def large_layers(tape: TrainingTape, links: int, classes: int, part: int, parts: int, grads: NetworkWeights) -> None:
    """The gradients of the large layers' matrices from the tape of so many links: the `part`-th of so many parts of
    each matrix. Each entry is summed in the order of links.
    """
    H, O = grads.class_readout.largest.shape
    R, N, width = tape.pooled.shape[1], tape.number.shape[1], tape.parts.shape[1]
    slice_of(tape.pooled, 0, R, links, classes * H, tape.readout, O, part, parts, grads.class_readout.mean)
    slice_of(tape.pooled, classes * H, R, links, H, tape.readout, O, part, parts, grads.class_readout.largest)
    slice_of(tape.number, 0, N, links, classes, tape.readout, O, part, parts, grads.class_readout.number)
    head, hidden = grads.head.hidden, tape.hidden.shape[1]
    slice_of(tape.parts, 0, width, links, len(head), tape.hidden, hidden, part, parts, head)
    if len(grads.ends.mix) > 0:
        wide, D = tape.filtered.shape[1], tape.mixed.shape[1]
        slice_of(tape.filtered, 0, wide, 2 * links, wide, tape.mixed, D, part, parts, grads.ends.mix)


@uncounted
def slice_of(
    inputs: np.ndarray,
    first: int,
    stride: int,
    rows: int,
    columns: int,
    back: np.ndarray,
    width: int,
    part: int,
    parts: int,
    out: np.ndarray,
) -> None:
    """A part of the rows of inputsᵀ back, in whole fours."""
    fours = (columns + FOUR - 1) // FOUR
    begin, end = FOUR * (fours * part // parts), min(FOUR * (fours * (part + 1) // parts), columns)
    project(inputs, first + begin, stride, rows, end - begin, back, 0, width, out, begin * width, False)


@uncounted
def gather(values: np.ndarray, index: np.ndarray, out: np.ndarray) -> None:
    """out = values[index]."""
    for i in range(len(index)):
        out[i] = values[index[i]]
