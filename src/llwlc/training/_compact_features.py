"""Compact node features: a few dozen columns that keep most of the information of thousands, without trained
parameters.

Bag-of-words features (non-negative, mostly zero) are weighted by TF-IDF, other features standardised; a truncated SVD
then keeps the leading directions. Only features are used, no links, so no held-out link can leak.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc._support.threads import use_one_blas_thread
from llwlc.errors import InputError

RawFeatures = Tensor | scipy.sparse.csr_array
MOST_RAW = 1 << 30
"""Entries of raw features that one dense table may have: 4 GB."""
SPARSE_SHARE = 0.25  # features with fewer non-zeros than this, none negative, are read as counts of words


@dataclass(frozen=True, eq=False)
class Compactor:
    """x ↦ (x ∘ weight − shift) · components, then, for counts, rows of length one before the projection; x itself where
    there are no components.

    Shapes: `weight [F]`, `shift [F]`, `components [F, d]`, or `[F, 0]` for raw features; `counts` says which of the two
    readings was fitted.
    """

    weight: Tensor
    shift: Tensor
    components: Tensor
    counts: bool

    @property
    def channels(self) -> int:
        return self.components.shape[1] or len(self.components)

    def __call__(self, x: RawFeatures) -> Tensor:
        """The compact features `[n, d]`, float32, of raw ones `[n, F]`."""
        if x.shape[1] != len(self.weight):
            raise InputError(
                f"features have {x.shape[1]} columns, but the model was fitted on {len(self.weight)}; give the same"
                " columns"
            )
        if not self.components.shape[1]:
            return torch.as_tensor(_dense(x).astype(np.float32))
        return torch.as_tensor(np.asarray(self.weighted(x) @ self.components.double().numpy(), dtype=np.float32))

    def weighted(self, x: RawFeatures) -> NDArray[np.float64] | scipy.sparse.csr_array:
        """The features `[n, F]` before the projection: TF-IDF, or standardised."""
        return _weighted(x, self.weight.numpy(), self.shift.numpy(), self.counts)


def fit_compactor(x: RawFeatures, channels: int | str = 64, seed: int = 0) -> Compactor:
    """The map to at most `channels` columns, scaled to unit standard deviation over all entries; `RAW` for the features
    as they are, as one dense table.

    >>> x = torch.randn(100, 8, generator=torch.Generator().manual_seed(0))
    >>> fit_compactor(x, channels=4)(x).shape
    torch.Size([100, 4])
    """
    n, width = x.shape
    counts = _is_counts(x)
    if counts:
        matrix = _sparse(x)
        present = np.bincount(matrix.indices[matrix.data != 0], minlength=width)
        weight, shift = np.log((1 + n) / (1 + present)) + 1, np.zeros(width)
    else:
        dense = _dense(x)
        spread = dense.std(0)
        # the computed deviation of a constant is rounding noise; dividing by it would give ±1
        varies = (np.ptp(dense, axis=0) > 0) & (spread > 0)
        weight = np.divide(1.0, spread, out=np.zeros(width), where=varies)
        shift = dense.mean(0) * weight
    if isinstance(channels, str):
        _require_small(n, width)
        return Compactor(torch.as_tensor(weight), torch.as_tensor(shift), torch.zeros(width, 0), counts)
    weighted = _weighted(x, weight, shift, counts)
    d = min(channels, width)
    components = _leading_directions(weighted, d, seed) if d < width else np.eye(width)
    projected = np.asarray(weighted @ components)
    scale = projected.std()
    components = components / (scale if scale > 0 else 1.0)
    return Compactor(torch.as_tensor(weight), torch.as_tensor(shift), torch.as_tensor(components).float(), counts)


def _require_small(nodes: int, width: int) -> None:
    if nodes * width > MOST_RAW:
        raise InputError(
            f"features='raw' of {nodes:,} nodes and {width:,} columns would be a table of {4e-9 * nodes * width:.0f}"
            " GB: give a number, as in features=64, for compact ones"
        )


def project_rows(rows: NDArray[np.float32] | scipy.sparse.csr_array, width: int, seed: int = 0) -> NDArray[np.float32]:
    """The rows projected to their `width` leading directions, neither weighted nor shifted, so that inner products are
    nearly preserved.
    """
    matrix = rows.astype(np.float64) if isinstance(rows, np.ndarray) else rows
    if min(rows.shape) <= width:
        dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        return np.asarray(dense, dtype=np.float32)
    return np.asarray(matrix @ _leading_directions(matrix, width, seed), dtype=np.float32)


def _is_counts(x: RawFeatures) -> bool:
    if isinstance(x, Tensor):
        return bool((x >= 0).all()) and float((x != 0).float().mean()) < SPARSE_SHARE
    return bool((x.data >= 0).all())


def _sparse(x: RawFeatures) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array(x.double().numpy()) if isinstance(x, Tensor) else x


def _dense(x: RawFeatures) -> NDArray[np.float64]:
    return x.double().numpy() if isinstance(x, Tensor) else np.asarray(x.toarray(), dtype=np.float64)


def _weighted(
    x: RawFeatures, weight: NDArray[np.float64], shift: NDArray[np.float64], counts: bool
) -> NDArray[np.float64] | scipy.sparse.csr_array:
    if not counts:
        return _dense(x) * weight - shift
    tfidf = scipy.sparse.csr_array(_sparse(x) @ scipy.sparse.diags_array(weight))
    length = np.sqrt(np.asarray(tfidf.multiply(tfidf).sum(1)).ravel())
    return scipy.sparse.csr_array(
        scipy.sparse.diags_array(np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)) @ tfidf
    )


@use_one_blas_thread()
def _leading_directions(matrix: NDArray[np.float64] | scipy.sparse.csr_array, d: int, seed: int) -> NDArray[np.float64]:
    """The d leading right singular vectors `[F, d]`; each one's largest entry is positive, as signs are arbitrary.
    (Several threads of BLAS mostly wait for each other in so small steps, and use a processor while they wait.)
    """
    n, width = matrix.shape
    if d >= min(n, width):
        dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        right = np.linalg.svd(dense, full_matrices=True)[2][:d]
    else:
        start = np.random.default_rng(seed).standard_normal(min(n, width))
        right = scipy.sparse.linalg.svds(matrix, k=d, v0=start)[2][::-1]
    signs = np.sign(right[np.arange(d), np.abs(right).argmax(1)])
    return np.ascontiguousarray((right * signs[:, None]).T)
