"""Metrics of link prediction. Each equals its reference (ogb, scikit-learn), on ties as well, and is returned with the
numbers that it depends on.

Scores come as `pos [m]` of links and `neg` of non-links: `[N]`, one pool for all links (OGB), or `[m, k]`, k of its own
for each (HeaRT).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from llwlc.errors import InputError

__all__ = [
    "Evaluation",
    "HitsAtK",
    "auc",
    "average_precision",
    "calibration_error",
    "evaluate",
    "hits_at_fpr",
    "hits_at_k",
    "mrr",
    "ranks",
]

Scores = NDArray[np.float64]


class HitsAtK(NamedTuple):
    """HR@K (`value`, `k`), `num_negatives` that it was measured against, and the `false_positive_rate` K /
    num_negatives that K stands for.

    >>> print(HitsAtK(0.5, k=100, num_negatives=1000, false_positive_rate=0.1))
    HR@100 50.00 (1000 negatives, 10.0 % false positives)
    """

    value: float
    k: int
    num_negatives: int
    false_positive_rate: float

    def __str__(self) -> str:
        return (
            f"HR@{self.k} {100 * self.value:.2f} ({self.num_negatives} negatives, {100 * self.false_positive_rate:.1f}"
            " % false positives)"
        )


def hits_at_k(pos: ArrayLike | Tensor, neg: ArrayLike | Tensor, k: int) -> HitsAtK:
    """The share of links scored strictly above the K-th best negative: ties are misses; 1.0 if there are fewer than K
    negatives (OGB).

    Where each link has its own negatives: the share of links of rank at most K, a tie counting half a place (OGB's and
    HeaRT's rule for MRR data).

    Args:
        pos: scores of links `[m]`.
        neg: scores of non-links, a pool `[N]` or `[m, n]` for each link.
        k: K, at least 1.

    >>> hits_at_k([0.9, 0.5, 0.3], [0.8, 0.5, 0.1, 0.0], 2)
    HitsAtK(value=0.3333333333333333, k=2, num_negatives=4, false_positive_rate=0.5)
    """
    p, n = _scores(pos, neg)
    if k < 1:
        raise InputError(f"k={k}: HR@K needs K of at least 1")
    num = n.shape[-1]
    if n.ndim == 2:
        return HitsAtK(float(np.mean(ranks(p, n) <= k)), k, num, min(k / num, 1.0))
    if num < k:
        return HitsAtK(1.0, k, num, 1.0)
    kth = np.partition(n, num - k)[num - k]
    return HitsAtK(float(np.mean(p > kth)), k, num, k / num)


def hits_at_fpr(pos: ArrayLike | Tensor, neg: ArrayLike | Tensor, fpr: float) -> HitsAtK:
    """HR@K with K = ⌊fpr · N⌋ (at least 1), which makes graphs of different size comparable; the result has the rate K
    / N that was used.

    Args:
        pos: scores of links `[m]`.
        neg: scores of non-links, a pool `[N]` or `[m, n]` for each link.
        fpr: the false-positive rate, above 0 and at most 1.

    >>> hits_at_fpr([0.9, 0.5], [0.8, 0.5, 0.1, 0.0], 0.25).k
    1
    """
    if not 0 < fpr <= 1:
        raise InputError(f"fpr={fpr}: a false-positive rate lies above 0 and at most at 1")
    num = _scores(pos, neg)[1].shape[-1]
    return hits_at_k(pos, neg, _k_of(fpr, num))


def _k_of(fpr: float, num: int) -> int:
    """⌊fpr · num⌋, at least 1, safe against rounding: 0.29 · 100 is 28.999… in binary, but a rate that was meant as K /
    N must give K.
    """
    return max(1, int(fpr * num * (1 + 1e-12)))


def ranks(pos: ArrayLike | Tensor, neg: ArrayLike | Tensor) -> Scores:
    """The rank of each link among its negatives, from 1; among equal scores the mean of the best and the worst rank
    (OGB).

    Args:
        pos: scores of links `[m]`.
        neg: scores of non-links, a pool `[N]` or `[m, n]` for each link.

    Returns:
        Ranks `[m]`.

    >>> ranks([0.9, 0.5], [0.8, 0.5, 0.1]).tolist()
    [1.0, 2.5]
    """
    p, n = _scores(pos, neg)
    if n.ndim == 2:
        above, level = (n > p[:, None]).sum(1), (n == p[:, None]).sum(1)
    else:
        ordered = np.sort(n)
        not_above = np.searchsorted(ordered, p, side="right")
        above, level = len(n) - not_above, not_above - np.searchsorted(ordered, p, side="left")
    return np.asarray(1 + above + level / 2, dtype=np.float64)


def mrr(pos: ArrayLike | Tensor, neg: ArrayLike | Tensor) -> float:
    """The mean of 1 / rank over the links.

    Args:
        pos: scores of links `[m]`.
        neg: scores of non-links, a pool `[N]` or `[m, n]` for each link.

    >>> mrr([0.9, 0.2], [[0.5, 0.1], [0.5, 0.1]])
    0.75
    """
    return float(np.mean(1 / ranks(pos, neg)))


def auc(pos: ArrayLike | Tensor, neg: ArrayLike | Tensor) -> float:
    """The chance that a link scores above a non-link, a tie counting half (Mann–Whitney; scikit-learn's
    `roc_auc_score`).

    Args:
        pos: scores of links `[m]`.
        neg: scores of non-links, any shape.

    >>> auc([2, 1], [1, 0])
    0.875
    """
    p, n = _scores(pos, neg)
    n = n.reshape(-1)
    both = np.sort(np.concatenate([p, n]))
    # ranks from 1, of equal scores their mean; `scipy.stats` has this, and takes a second to import
    place = (np.searchsorted(both, p, "left") + np.searchsorted(both, p, "right") + 1) / 2
    return float((place.sum() - len(p) * (len(p) + 1) / 2) / (len(p) * len(n)))


def average_precision(pos: ArrayLike | Tensor, neg: ArrayLike | Tensor) -> float:
    """Σ (Rᵢ − Rᵢ₋₁) Pᵢ over the distinct thresholds, precision P and recall R (scikit-learn's
    `average_precision_score`).

    Args:
        pos: scores of links `[m]`.
        neg: scores of non-links, any shape.

    >>> average_precision([3, 1], [2])
    0.8333333333333333
    """
    p, n = _scores(pos, neg)
    threshold = np.unique(p)
    hits = len(p) - np.searchsorted(np.sort(p), threshold, side="left")
    wrong = n.size - np.searchsorted(np.sort(n, axis=None), threshold, side="left")
    # recall rises, from one threshold down to the next, by the links that have exactly this score
    gained = hits - np.append(hits[1:], 0)
    return float(np.sum(gained / len(p) * (hits / (hits + wrong))))


def calibration_error(prob: ArrayLike | Tensor, label: ArrayLike | Tensor, *, bins: int = 15) -> float:
    """Expected calibration error: the mean over equally wide bins of |share of links − mean probability|, weighted by
    size.

    Args:
        prob: probabilities `[m]`.
        label: 1 for a link, 0 for none, `[m]`.
        bins: number of bins.

    >>> calibration_error([0.9, 0.9, 0.1, 0.1], [1, 1, 0, 0]).__round__(6)
    0.1
    """
    p, y = _array(prob, "prob").reshape(-1), _array(label, "label").reshape(-1)
    if len(p) != len(y) or not len(p):
        raise InputError(
            f"calibration needs as many labels as probabilities and at least one, got {len(y)} and {len(p)}"
        )
    if p.min() < 0 or p.max() > 1:
        raise InputError(
            f"probabilities lie between 0 and 1, got {p.min():g} to {p.max():g}: pass scores through a sigmoid"
        )
    if not np.isin(y, (0, 1)).all():
        raise InputError("labels must be 0 or 1")
    if bins < 1:
        raise InputError(f"bins={bins}: at least one is needed")
    place = np.minimum((p * bins).astype(np.int64), bins - 1)
    gap = np.bincount(place, y - p, minlength=bins)
    return float(np.abs(gap).sum() / len(p))


@dataclass(frozen=True)
class Evaluation:
    """All metrics of one set of scores; `evaluate` makes it.

    `hits` for each K, `hits_at_rate` for each of the false-positive `rates`, `mrr`, `auc`, `average_precision`,
    `num_positives` and `num_negatives`.

    >>> found = evaluate([3, 2, 1], [2, 0, 0, 0])
    >>> found["auc"], found.num_negatives
    (0.875, 4)
    """

    hits: tuple[HitsAtK, ...]
    hits_at_rate: tuple[HitsAtK, ...]
    rates: tuple[float, ...]
    mrr: float
    auc: float
    average_precision: float
    num_positives: int
    num_negatives: int

    def __getitem__(self, name: str) -> float:
        """A number by its name in `as_dict`."""
        return self.as_dict()[name]

    @staticmethod
    def from_dict(flat: Mapping[str, float]) -> Evaluation:
        """The inverse of `as_dict`.

        Args:
            flat: what `as_dict` returned.
        """
        negatives = int(flat["num_negatives"])
        ks = [int(name[5:]) for name in flat if name.startswith("hits@") and name[5:].isdigit()]
        rates = [float(name[8:]) for name in flat if name.startswith("hits@fpr")]
        at = {rate: _k_of(rate, negatives) for rate in rates}
        return Evaluation(
            tuple(HitsAtK(flat[f"hits@{k}"], k, negatives, flat[f"hits@{k}_fpr"]) for k in ks),
            tuple(HitsAtK(flat[f"hits@fpr{r:g}"], at[r], negatives, min(at[r] / negatives, 1.0)) for r in rates),
            tuple(rates),
            flat["mrr"],
            flat["auc"],
            flat["ap"],
            int(flat["num_positives"]),
            negatives,
        )

    def as_dict(self) -> dict[str, float]:
        """Flat, for JSON: `hits@100` and its `hits@100_fpr`, `hits@fpr0.01`, `mrr`, `auc`, `ap` and the two counts."""
        flat: dict[str, float] = {}
        for hit in self.hits:
            flat[f"hits@{hit.k}"], flat[f"hits@{hit.k}_fpr"] = hit.value, hit.false_positive_rate
        for rate, hit in zip(self.rates, self.hits_at_rate, strict=True):
            flat[f"hits@fpr{rate:g}"] = hit.value
        return flat | {
            "mrr": self.mrr,
            "auc": self.auc,
            "ap": self.average_precision,
            "num_positives": self.num_positives,
            "num_negatives": self.num_negatives,
        }


def evaluate(
    pos: ArrayLike | Tensor,
    neg: ArrayLike | Tensor,
    *,
    ks: Sequence[int] = (10, 20, 50, 100),
    rates: Sequence[float] = (0.01, 0.1),
) -> Evaluation:
    """All metrics at once: HR@K for every K, HR at every false-positive rate, MRR, AUC and AP.

    Args:
        pos: scores of links `[m]`.
        neg: scores of non-links, a pool `[N]` or `[m, n]` for each link.
        ks: the K of HR@K.
        rates: the false-positive rates.

    >>> evaluate([3, 2, 1], [2, 0, 0, 0], ks=[1]).as_dict()["hits@1"]
    0.3333333333333333
    """
    p, n = _scores(pos, neg)
    return Evaluation(
        tuple(hits_at_k(p, n, k) for k in ks),
        tuple(hits_at_fpr(p, n, rate) for rate in rates),
        tuple(rates),
        mrr(p, n),
        auc(p, n),
        average_precision(p, n),
        len(p),
        n.shape[-1],
    )


def _array(values: ArrayLike | Tensor, name: str) -> Scores:
    plain = values.detach().cpu().double().numpy() if isinstance(values, Tensor) else values
    array = np.asarray(plain, dtype=np.float64)
    if np.isnan(array).any():
        raise InputError(
            f"{name}: {int(np.isnan(array).sum())} of {array.size} values are NaN; a ranking cannot place them"
        )
    return array


def _scores(pos: ArrayLike | Tensor, neg: ArrayLike | Tensor) -> tuple[Scores, Scores]:
    p, n = _array(pos, "pos").reshape(-1), _array(neg, "neg")
    if not p.size or not n.size:
        raise InputError(f"scores of at least one link and one non-link are needed, got {p.size} and {n.size}")
    if n.ndim not in (1, 2) or (n.ndim == 2 and len(n) != len(p)):
        raise InputError(f"neg must be a pool [N] or [m, k] with m = {len(p)} links, got {n.shape}")
    return p, n
