"""The MLPs on eigenvalues in training, forward and backward, for one link: from a value to H hidden units, with
dropout, to S gains.
"""

from __future__ import annotations

import numpy as np

from llwlc._kernels.numba.blocks import Filters
from llwlc._support.compiler import uncounted


@uncounted
def filter_forward(
    filters: Filters,
    values: np.ndarray,
    dropped: int,
    keep: np.ndarray,
    live: int,
    kappa: int,
    hidden: np.ndarray,
    gain: np.ndarray,
) -> None:
    """`hidden [F, kappa, H]` and `gain [F, S, kappa]`, flat, of the live ones of a link's `values [κ]`.
    `keep [dropped, κ, H]`, flat: the factors of dropout on the first filters, those of the blocks; the filter of the
    ends has none."""
    count, S, H = filters.outer.shape
    for f in range(count):
        w, bias, outer = filters.inner[f], filters.inner_bias[f], filters.outer[f]
        for k in range(live):
            row = hidden[(f * kappa + k) * H : (f * kappa + k + 1) * H]
            value = hidden.dtype.type(values[k])
            for h in range(H):
                row[h] = max(w[h] * value + bias[h], 0.0)
            if f < dropped:
                kept = keep[(f * len(values) + k) * H : (f * len(values) + k + 1) * H]
                for h in range(H):
                    row[h] *= kept[h]
            for q in range(S):
                out = outer[q]
                sums = filters.outer_bias[f, q]
                for h in range(H):
                    sums += out[h] * row[h]
                gain[(f * S + q) * kappa + k] = sums


@uncounted
def filter_backward(
    filters: Filters,
    values: np.ndarray,
    dropped: int,
    keep: np.ndarray,
    live: int,
    kappa: int,
    hidden: np.ndarray,
    gain_gradient: np.ndarray,
    back: np.ndarray,
    grads: Filters,
) -> None:
    """Adds the gradients of a link to `grads`; `gain_gradient [F, S, kappa]`: that of the loss with respect to its
    gains; `back [H]`: scratch.
    """
    count, S, H = filters.outer.shape
    for f in range(count):
        inner, inner_bias = grads.inner[f], grads.inner_bias[f]
        for k in range(live):
            row = hidden[(f * kappa + k) * H : (f * kappa + k + 1) * H]
            value = hidden.dtype.type(values[k])
            for h in range(H):
                back[h] = 0.0
            for q in range(S):
                factor = gain_gradient[(f * S + q) * kappa + k]
                grads.outer_bias[f, q] += factor
                out, outer_grads = filters.outer[f, q], grads.outer[f, q]
                for h in range(H):
                    outer_grads[h] += factor * row[h]
                    back[h] += factor * out[h]
            if f < dropped:
                kept = keep[(f * len(values) + k) * H : (f * len(values) + k + 1) * H]
                for h in range(H):
                    back[h] *= kept[h]
            for h in range(H):
                # a dropped unit is zero here too, and its gradient is zero already
                change = back[h] if row[h] > 0 else row.dtype.type(0)
                inner[h] += change * value
                inner_bias[h] += change
