"""The MLPs on eigenvalues in training, forward and backward, for one link: a value becomes H hidden numbers, some of them dropped, and S gains."""

from __future__ import annotations

import numpy as np

from llwlc.kernels.numba.blocks import Filters
from llwlc.support.compiler import compiled


@compiled
def filter_forward(
    filters: Filters, values: np.ndarray, keep: np.ndarray, b: int, live: int, kappa: int, hidden: np.ndarray, gain: np.ndarray
) -> None:  # fmt: skip
    """`hidden [F, kappa, H]` and `gain [F, S, kappa]`, flat, of the live values of link b, in `values [B, κ]`. `keep [blocks, B, κ, H]`: what dropout multiplies the first
    filters with; those behind have none."""
    count, S, H = filters.outer.shape
    for f in range(count):
        w, bias, outer = filters.inner[f], filters.inner_bias[f], filters.outer[f]
        for k in range(live):
            row = hidden[(f * kappa + k) * H : (f * kappa + k + 1) * H]
            value = values[b, k]
            for h in range(H):
                row[h] = max(w[h] * value + bias[h], 0.0)
            if f < len(keep):
                kept = keep[f, b, k]
                for h in range(H):
                    row[h] *= kept[h]
            for q in range(S):
                out = outer[q]
                sums = filters.outer_bias[f, q]
                for h in range(H):
                    sums += out[h] * row[h]
                gain[(f * S + q) * kappa + k] = sums


@compiled
def filter_backward(
    filters: Filters, values: np.ndarray, keep: np.ndarray, b: int, live: int, kappa: int, hidden: np.ndarray, given: np.ndarray,
    back: np.ndarray, weights: Filters,
) -> None:  # fmt: skip
    """Adds a link to the gradients of the weights; `given [F, S, kappa]`: how the loss depends on its gains; `back [H]`: scratch."""
    count, S, H = filters.outer.shape
    for f in range(count):
        inner, inner_bias = weights.inner[f], weights.inner_bias[f]
        for k in range(live):
            row = hidden[(f * kappa + k) * H : (f * kappa + k + 1) * H]
            value = values[b, k]
            for h in range(H):
                back[h] = 0.0
            for q in range(S):
                factor = given[(f * S + q) * kappa + k]
                weights.outer_bias[f, q] += factor
                out, found = filters.outer[f, q], weights.outer[f, q]
                for h in range(H):
                    found[h] += factor * row[h]
                    back[h] += factor * out[h]
            if f < len(keep):
                kept = keep[f, b, k]
                for h in range(H):
                    back[h] *= kept[h]
            for h in range(H):
                # what was dropped is zero here too, and its gradient is zero already
                change = back[h] if row[h] > 0 else row.dtype.type(0)
                inner[h] += change * value
                inner_bias[h] += change
