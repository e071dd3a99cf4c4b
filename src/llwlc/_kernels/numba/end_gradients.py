"""`nn._end_readout.FilteredEnds` in training, forward and backward, for one link."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from llwlc._kernels.numba.gradients import BlockGradientScratch, TransposedWeights
from llwlc._kernels.numba.lanes import LANES, constant, fma, load, plus, store, times
from llwlc._kernels.numba.network import COSINE_EPS, NORM_EPS, EndWeights, dot
from llwlc._kernels.numba.products import add_row, multiply, project_gathered, whole_fours, zero_entries
from llwlc._support.compiler import uncounted


class EndGradientScratch(NamedTuple):
    """Of one link: `keep [F]` and `keep_out [2 channels]`, the factors of dropout; `coefficient [2 S, kappa]`,
    `spectrum [kappa, F]`, `filtered [2 S, F]`; of the rows after the mixing `unit [2, D]`, normalised, `mixed [2, D]`,
    scaled, and `scale [2]` of the normalisation; of the cosines `inverse [2 (S + 1)]`, one by the length of each row,
    `cosine` and `back [(S + 1)²]`, their gradients. `rows [2, (S + 1) F]`: gradients of the filtered rows."""

    keep: np.ndarray
    keep_out: np.ndarray
    coefficient: np.ndarray
    spectrum: np.ndarray
    filtered: np.ndarray
    unit: np.ndarray
    mixed: np.ndarray
    scale: np.ndarray
    inverse: np.ndarray
    cosine: np.ndarray
    back: np.ndarray
    rows: np.ndarray


def end_gradient_scratch(ends: EndWeights, filters: int, kappa: int) -> EndGradientScratch:
    dtype = ends.mix.dtype.type
    F, D, wide = ends.table.shape[1], ends.mix.shape[1], 2 * filters + 4

    def zeros(size: int) -> np.ndarray:
        return np.zeros(size + 2 * LANES, dtype)

    return EndGradientScratch(
        keep=zeros(F),
        keep_out=zeros(2 * D),
        coefficient=zeros(wide * kappa),
        spectrum=zeros(kappa * F),
        filtered=zeros(wide * F),
        unit=zeros(2 * D),
        mixed=zeros(2 * D),
        scale=zeros(2),
        inverse=zeros(2 * (filters + 1)),
        cosine=zeros((filters + 1) ** 2),
        back=zeros((filters + 1) ** 2),
        rows=zeros(2 * (filters + 1) * F),
    )


@uncounted
def features_forward(
    w: EndWeights,
    S: int,
    gain: int,
    node: np.ndarray,
    p: int,
    n: int,
    live: int,
    blocks: BlockGradientScratch,
    s: EndGradientScratch,
    rows: np.ndarray,
    first: int,
    parts: np.ndarray,
    at: int,
) -> None:
    """Writes the filtered features of the two ends to `rows` from `first` on, `[2, (S + 1) F]`, and the output to
    `parts` from `at` on. `gain`: where the gains of the filter begin.
    """
    F, kappa = w.table.shape[1], blocks.blocks.kappa
    wide = (S + 1) * F
    project_gathered(blocks.blocks.V, kappa, node, p, n, live, w.table, s.spectrum)
    for end in range(2):
        for q in range(S):
            for o in range(0, kappa, LANES):
                product = times(load(blocks.blocks.gain, gain + q * kappa + o), load(blocks.blocks.V, end * kappa + o))
                store(s.coefficient, (end * S + q) * kappa + o, product)
    multiply(s.coefficient, 0, kappa, whole_fours(2 * S), live, s.spectrum, 0, F, s.filtered, 0, False)
    for end in range(2):
        to, own = first + end * wide, np.int64(node[p + end]) * F
        for c in range(0, F, LANES):
            factor = load(s.keep, c)
            for q in range(S):
                store(rows, to + q * F + c, times(load(s.filtered, (end * S + q) * F + c), factor))
            store(rows, to + S * F + c, times(load(w.table, own + c), factor))
        mix_and_normalise(w, rows, to, wide, end, s)
    D, channels = w.mix.shape[1], w.channels
    for c in range(channels):
        a, b = s.mixed[c], s.mixed[D + c]
        parts[at + c] = a * b * s.keep_out[c]
        parts[at + channels + c] = abs(a - b) * s.keep_out[channels + c]
    if w.cosines:
        cosines_forward(F, S, rows, first, s, parts, at + 2 * channels)


@uncounted
def mix_and_normalise(w: EndWeights, rows: np.ndarray, begin: int, wide: int, end: int, s: EndGradientScratch) -> None:
    """The linear layer and LayerNorm of one end; keeps the normalised row."""
    D = w.mix.shape[1]
    to = end * D
    for o in range(0, D, LANES):
        store(s.unit, to + o, load(w.bias, o))
    add_row(rows, begin, wide, w.mix, 0, D, s.unit, to)
    mean, variance = 0.0, 0.0
    for c in range(w.channels):
        mean += s.unit[to + c]
    mean /= w.channels
    for c in range(w.channels):
        variance += (s.unit[to + c] - mean) ** 2
    scale = 1.0 / math.sqrt(variance / w.channels + NORM_EPS)
    s.scale[end] = scale
    for c in range(w.channels):
        s.unit[to + c] = (s.unit[to + c] - mean) * scale
        s.mixed[to + c] = s.unit[to + c] * w.norm[c] + w.norm_bias[c]


@uncounted
def cosines_forward(
    F: int, S: int, rows: np.ndarray, first: int, s: EndGradientScratch, parts: np.ndarray, at: int
) -> None:
    """Writes the cosines between u's S + 1 rows and v's, each averaged with that of u and v exchanged."""
    Q = S + 1
    for i in range(2 * Q):
        length = math.sqrt(dot(rows, first + i * F, rows, first + i * F, F))
        s.inverse[i] = 1.0 / max(length, COSINE_EPS)
    for i in range(Q):
        for j in range(Q):
            product = dot(rows, first + i * F, rows, first + (Q + j) * F, F)
            s.cosine[i * Q + j] = product * s.inverse[i] * s.inverse[Q + j]
    for i in range(Q):
        for j in range(i, Q):
            parts[at] = (s.cosine[i * Q + j] + s.cosine[j * Q + i]) / 2
            at += 1


@uncounted
def features_backward(
    w: EndWeights,
    S: int,
    gain: int,
    live: int,
    transposed: TransposedWeights,
    blocks: BlockGradientScratch,
    s: EndGradientScratch,
    rows: np.ndarray,
    first: int,
    parts: np.ndarray,
    at: int,
    mixed: np.ndarray,
    to: int,
    grads: EndWeights,
) -> None:
    """From `parts`, the gradient of the output from `at` on, to that of the gains, in the scratch of the blocks. Writes
    that of the linear layer's output to `mixed` from `to` on, `[2, D]`, and adds those of its bias and of LayerNorm to
    `grads`."""
    F, D, kappa, Q = w.table.shape[1], w.mix.shape[1], blocks.blocks.kappa, S + 1
    for c in range(w.channels):
        a, b = s.mixed[c], s.mixed[D + c]
        product = parts[at + c] * s.keep_out[c]
        apart = parts[at + w.channels + c] * s.keep_out[w.channels + c] * ((a > b) - (a < b))
        mixed[to + c], mixed[to + D + c] = product * b + apart, product * a - apart
    zero_entries(s.rows, 0, 2 * Q * F)
    for end in range(2):
        through_norm(w, end, s, mixed, to + end * D, grads)
        add_row(mixed, to + end * D, D, transposed.ends, 0, Q * F, s.rows, end * Q * F)
    if w.cosines:
        cosines_backward(F, S, rows, first, parts, at + 2 * w.channels, s)
    for end in range(2):
        for q in range(S):
            for c in range(0, F, LANES):
                here = (end * Q + q) * F + c
                store(s.rows, here, times(load(s.rows, here), load(s.keep, c)))
    for q in range(S):
        for k in range(live):
            one = dot(s.rows, q * F, s.spectrum, k * F, F) * blocks.blocks.V[k]
            other = dot(s.rows, (Q + q) * F, s.spectrum, k * F, F) * blocks.blocks.V[kappa + k]
            blocks.gain[gain + q * kappa + k] = one + other


@uncounted
def through_norm(w: EndWeights, end: int, s: EndGradientScratch, back: np.ndarray, to: int, grads: EndWeights) -> None:
    """The gradient of LayerNorm of one end, in place; padding stays zero."""
    D, scale = w.mix.shape[1], s.scale[end]
    mean, along = 0.0, 0.0
    for c in range(w.channels):
        unit, given = s.unit[end * D + c], back[to + c]
        grads.norm[c] += given * unit
        grads.norm_bias[c] += given
        given *= w.norm[c]
        back[to + c] = given
        mean += given
        along += given * unit
    mean, along = mean / w.channels, along / w.channels
    for c in range(w.channels):
        change = scale * (back[to + c] - mean - s.unit[end * D + c] * along)
        back[to + c] = change
        grads.bias[c] += change


@uncounted
def cosines_backward(
    F: int, S: int, rows: np.ndarray, first: int, parts: np.ndarray, at: int, s: EndGradientScratch
) -> None:
    """Adds the gradient of the cosines to that of the rows. A row shorter than `COSINE_EPS` is divided by that
    constant, so its length has no part in the gradient.
    """
    Q = S + 1
    for i in range(Q):
        for j in range(i, Q):
            # on the diagonal both halves are the same cosine
            s.back[i * Q + j] = parts[at] / 2 if i < j else parts[at]
            s.back[j * Q + i] = s.back[i * Q + j]
            at += 1
    for end in range(2):
        for i in range(Q):
            own, inverse, along = end * Q + i, s.inverse[end * Q + i], 0.0
            for j in range(Q):
                pair = i * Q + j if end == 0 else j * Q + i
                other = (1 - end) * Q + j
                along += s.back[pair] * s.cosine[pair]
                factor = constant(s.rows, s.back[pair] * inverse * s.inverse[other])
                for c in range(0, F, LANES):
                    here = own * F + c
                    store(s.rows, here, fma(factor, load(rows, first + other * F + c), load(s.rows, here)))
            if inverse * COSINE_EPS < 1:
                factor = constant(s.rows, -along * inverse * inverse)
                for c in range(0, F, LANES):
                    here = own * F + c
                    store(s.rows, here, plus(times(factor, load(rows, first + here)), load(s.rows, here)))
