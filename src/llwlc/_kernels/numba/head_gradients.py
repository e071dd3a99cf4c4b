"""The layers behind the pooling and the heads in training, and the loss, forward and backward, for one link."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from llwlc._kernels.numba.gradients import BlockGradientScratch, TransposedWeights
from llwlc._kernels.numba.lanes import LANES, constant, fma, load, plus, store, times, where_positive
from llwlc._kernels.numba.network import HeadWeights, dot
from llwlc._kernels.numba.products import add_row, rectify, zero_entries
from llwlc._kernels.numba.readouts import ClassReadoutWeights
from llwlc._support.compiler import uncounted


class HeadScratch(NamedTuple):
    """Of one link: `hidden [H]` after dropout, its factors `keep [H]`, the logits `out [2]` and their gradients
    `back [2]`; `parts [width]`, the gradient of what the heads read.
    """

    hidden: np.ndarray
    keep: np.ndarray
    out: np.ndarray
    back: np.ndarray
    parts: np.ndarray


def head_scratch(head: HeadWeights) -> HeadScratch:
    width, H = head.hidden.shape
    dtype = head.hidden.dtype.type

    def zeros(size: int) -> np.ndarray:
        return np.zeros(size + 2 * LANES, dtype)

    return HeadScratch(zeros(H), zeros(H), np.zeros(2), np.zeros(2), zeros(width + LANES))


@uncounted
def heads_forward(head: HeadWeights, sharing: bool, parts: np.ndarray, at: int, s: HeadScratch) -> None:
    """The logits from the parts from `at` on."""
    width, H = head.hidden.shape
    for o in range(0, H, LANES):
        store(s.hidden, o, load(head.bias, o))
    add_row(parts, at, width, head.hidden, 0, H, s.hidden, 0)
    rectify(s.hidden, 0, H)
    for o in range(0, H, LANES):
        store(s.hidden, o, times(load(s.hidden, o), load(s.keep, o)))
    s.out[0] = dot(s.hidden, 0, head.last, 0, H) + head.last_bias[0]
    if len(head.ranking) > 0:
        kind = 0 if sharing else 1
        wide = head.ranking.shape[1]
        mine = dot(s.hidden, 0, head.ranking, kind * wide, H) + dot(parts, at, head.ranking, kind * wide + H, wide - H)
        s.out[1] = mine + head.ranking_bias[kind]


@uncounted
def cross_entropy(wanted: np.ndarray, counts: np.ndarray, outputs: int, s: HeadScratch) -> float:
    """The link's part of `models._llwlc.step.population_loss`; its gradient with respect to the logits in the scratch.
    `wanted [1 + outputs]`: 0 or 1, then the link's weight in each population; `counts`: the links of each."""
    loss = 0.0
    s.back[0], s.back[1] = 0.0, 0.0
    for k in range(outputs):
        x, weight = s.out[k], wanted[1 + k] / counts[k]
        small = math.exp(-abs(x))
        loss += weight * (max(x, 0.0) - x * wanted[0] + math.log1p(small))
        share = 1.0 / (1.0 + small) if x >= 0 else small / (1.0 + small)
        s.back[k] = weight * (share - wanted[0])
    return loss


@uncounted
def heads_backward(
    head: HeadWeights,
    sharing: bool,
    transposed: TransposedWeights,
    parts: np.ndarray,
    at: int,
    hidden: np.ndarray,
    to: int,
    s: HeadScratch,
    grads: HeadWeights,
) -> None:
    """From the gradients of the logits to that of the parts, in the scratch. Writes that of the hidden layer, before
    its ReLU, to `hidden` from `to` on; adds those of all weights but the hidden layer's matrix to `grads`."""
    H, width = head.hidden.shape[1], transposed.hidden.shape[1]
    first, second = constant(s.hidden, s.back[0]), constant(s.hidden, s.back[1])
    ranks, kind = len(head.ranking) > 0, 0 if sharing else 1
    begin = kind * head.ranking.shape[1]
    grads.last_bias[0] += s.back[0]
    for o in range(0, H, LANES):
        unit = load(s.hidden, o)
        store(grads.last, o, fma(first, unit, load(grads.last, o)))
        back = times(first, load(head.last, o))
        if ranks:
            store(grads.ranking, begin + o, fma(second, unit, load(grads.ranking, begin + o)))
            back = fma(second, load(head.ranking, begin + o), back)
        # a dropped unit is zero, and so is its gradient
        back = where_positive(unit, times(back, load(s.keep, o)))
        store(hidden, to + o, back)
        store(grads.bias, o, plus(load(grads.bias, o), back))
    zero_entries(s.parts, 0, width)
    add_row(hidden, to, H, transposed.hidden, 0, width, s.parts, 0)
    if ranks:
        grads.ranking_bias[kind] += s.back[1]
        for o in range(0, head.ranking.shape[1] - H, LANES):
            here = begin + H + o
            store(s.parts, o, fma(second, load(head.ranking, here), load(s.parts, o)))
            store(grads.ranking, here, fma(second, load(parts, at + o), load(grads.ranking, here)))


@uncounted
def readout_backward(
    w: ClassReadoutWeights,
    transposed: TransposedWeights,
    used: int,
    parts: np.ndarray,
    out: np.ndarray,
    to: int,
    blocks: BlockGradientScratch,
    grads: ClassReadoutWeights,
) -> None:
    """From the gradient of the first `used` parts to those of means and largest entries, in the scratch of the blocks.
    Writes that of the readout, before its ReLU, to `out` from `to` on, and adds it to that of the bias."""
    H, O = w.largest.shape
    zero_entries(out, to, O)
    for c in range(used):
        if blocks.pool.out[c] > 0:
            out[to + c] = parts[c]
    for o in range(0, O, LANES):
        store(grads.bias, o, plus(load(grads.bias, o), load(out, to + o)))
    classes = len(blocks.pool.size)
    for j in range(classes):
        if blocks.pool.size[j] > 0:  # the gradient of the mean of no node is not read
            zero_entries(blocks.mean, j * H, H)
            add_row(out, to, O, transposed.pooled, j * O * H, H, blocks.mean, j * H)
    zero_entries(blocks.largest, 0, H)
    add_row(out, to, O, transposed.pooled, classes * O * H, H, blocks.largest, 0)
