"""Trees: two ensembles of decision trees as plain arrays, fitted by scikit-learn and evaluated without it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc._support.compiler import in_order
from llwlc._support.threads import choose_num_threads, run_over_links, use_one_openmp_thread
from llwlc.errors import RunFolderError

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int32]
RANDOMISED: Mapping[str, Any] = {
    "n_estimators": 100,
    "min_samples_leaf": 5,
    "max_features": "sqrt",
    "class_weight": "balanced",
}
"""Extremely randomised trees, which have low variance if there are few links. Chosen on the corpus' `tune` networks."""
BOOSTED: Mapping[str, Any] = {
    "max_iter": 150,
    "learning_rate": 0.05,
    "max_leaf_nodes": 5,
    "min_samples_leaf": 20,
    "l2_regularization": 5.0,
    "max_features": 0.3,
    "early_stopping": False,
}
"""Boosted trees, which are more accurate if there are many. Chosen on the same networks."""
MANY_LINKS = 1000
"""Number of links at which the boosted trees have a third of the weight, which grows from 0 to a half in the limit."""


@dataclass(frozen=True, eq=False)
class Trees:
    """`left [N]`, `right [N]`, `feature [N]`, `threshold [N]`, `value [N]` of the nodes of all trees; a leaf is its own
    child. `roots [T]`, ascending: of the randomised trees first, `num_randomised` of them, whose values are shares of
    links; then of the boosted ones, whose values add up to log-odds. `offset`: of the boosted ones; `share`: the weight
    of their log-odds in the mean of both ensembles'.
    """

    left: Integers
    right: Integers
    feature: Integers
    threshold: Singles
    value: Floats
    roots: Integers
    num_randomised: int
    offset: float
    share: float

    @classmethod
    def fit(cls, rows: Singles, label: NDArray[np.bool_], seed: int) -> Trees:
        """Fits both ensembles on rows `[m, s]` with labels `[m]`, links and non-links weighing the same."""
        from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier

        state = seed % 2**32
        randomised = ExtraTreesClassifier(**RANDOMISED, random_state=state, n_jobs=1).fit(rows, label)
        with use_one_openmp_thread():  # otherwise sums over rows are taken in another order
            boosted = HistGradientBoostingClassifier(**BOOSTED, random_state=state).fit(rows, label)
        parts = [_randomised_nodes(tree.tree_) for tree in randomised.estimators_]
        parts += [_boosted_nodes(trees[0].nodes) for trees in boosted._predictors]
        sizes = np.cumsum([0, *(len(part[0]) for part in parts)])
        left, right = (
            np.concatenate([part[i] + first for part, first in zip(parts, sizes, strict=False)]).astype(np.int32)
            for i in (0, 1)
        )
        # boosting is fitted on unbalanced classes: the log of their ratio corrects its log-odds to balanced ones
        even = math.log((len(label) - label.sum()) / label.sum())
        return cls(
            left,
            right,
            np.concatenate([part[2] for part in parts]).astype(np.int32),
            _round_down(np.concatenate([part[3] for part in parts])),
            np.concatenate([part[4] for part in parts]),
            sizes[:-1].astype(np.int32),
            len(randomised.estimators_),
            float(boosted._baseline_prediction.item()) + even,
            weigh_boosted(int(label.sum())),
        )

    def log_odds(self, rows: Singles) -> Floats:
        """The weighted mean of the log-odds of both ensembles, `[m]`, of rows `[m, s]`."""
        links, odds = np.zeros(len(rows)), np.zeros(len(rows))
        nodes = self.left, self.right, self.feature, self.threshold, self.value
        first, second = self.roots[: self.num_randomised], self.roots[self.num_randomised :]

        def make_work() -> Any:
            def work(begin: int, end: int) -> None:
                _add_leaves(*nodes, first, rows[begin:end], links[begin:end])
                _add_leaves(*nodes, second, rows[begin:end], odds[begin:end])

            return work

        run_over_links(len(rows), choose_num_threads(len(rows), 0), make_work)
        # half a tree is added to either class: a share of 0 or 1 has no log-odds
        randomised = np.log((links + 0.5) / (len(first) - links + 0.5))
        return np.asarray((1 - self.share) * randomised + self.share * (odds + self.offset))

    def state(self) -> dict[str, Tensor]:
        """The arrays as tensors, and three numbers."""
        arrays = ("left", "right", "feature", "threshold", "value", "roots")
        state = {name: torch.from_numpy(getattr(self, name)) for name in arrays}
        numbers = torch.tensor([self.num_randomised, self.offset, self.share], dtype=torch.float64)
        return state | {"numbers": numbers}

    @classmethod
    def from_state(cls, state: Mapping[str, Tensor], num_statistics: int) -> Trees:
        """The trees with this `state`, checked so that compiled code neither reads beyond an array nor runs forever."""
        try:
            arrays = {name: tensor.numpy() for name, tensor in state.items()}
            num_randomised, offset, share = arrays.pop("numbers").tolist()
            trees = cls(**arrays, num_randomised=int(num_randomised), offset=offset, share=share)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise RunFolderError("the trees of the stack are incomplete: copy the run again, or fit again") from error
        if not trees._is_valid(num_statistics):
            raise RunFolderError("the trees of the stack are damaged: copy the run again, or fit again")
        return trees

    def _is_valid(self, num_statistics: int) -> bool:
        kinds = {"left": "i4", "right": "i4", "feature": "i4", "threshold": "f4", "value": "f8", "roots": "i4"}
        arrays = [getattr(self, name) for name in kinds]
        if any(a.dtype != kind or a.ndim != 1 for a, kind in zip(arrays, kinds.values(), strict=True)):
            return False
        n, at = len(self.left), np.arange(len(self.left))
        leaf = self.left == at
        return bool(
            all(len(array) == n for array in arrays[:-1])
            and ((self.left > at) | leaf).all()  # children come later, so that every walk ends
            and ((self.right > at) | (leaf & (self.right == at))).all()
            and (self.left < n).all()
            and (self.right < n).all()
            and ((self.feature >= 0) & (self.feature < num_statistics)).all()
            and ((self.roots >= 0) & (self.roots < n)).all()
            and 0 < self.num_randomised < len(self.roots)
            and np.isfinite(self.value).all()
            and self._has_valid_shares(leaf)
            and math.isfinite(self.offset)
            and 0 <= self.share <= 1
        )

    def _has_valid_shares(self, leaf: NDArray[np.bool_]) -> bool:
        end = self.roots[self.num_randomised]
        value = self.value[:end][leaf[:end]]
        return bool(((value >= 0) & (value <= 1)).all())


def weigh_boosted(num_links: int) -> float:
    """The weight of the boosted trees in a stack that learned from this number of links.

    >>> weigh_boosted(1000)
    0.3333333333333333
    """
    return num_links / (2 * num_links + MANY_LINKS)


Nodes = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], Floats, Floats]


def _randomised_nodes(tree: Any) -> Nodes:
    at = np.arange(tree.node_count)
    leaf = tree.children_left < 0
    left, right = (np.where(leaf, at, child) for child in (tree.children_left, tree.children_right))
    return left, right, np.where(leaf, 0, tree.feature), np.where(leaf, 0.0, tree.threshold), tree.value[:, 0, 1]


def _boosted_nodes(nodes: Any) -> Nodes:
    at, leaf = np.arange(len(nodes)), nodes["is_leaf"].astype(bool)
    left, right = (np.where(leaf, at, nodes[name].astype(np.int64)) for name in ("left", "right"))
    feature = np.where(leaf, 0, nodes["feature_idx"].astype(np.int64))
    return left, right, feature, np.where(leaf, 0.0, nodes["num_threshold"]), nodes["value"].astype(np.float64)


def _round_down(threshold: Floats) -> Singles:
    """The largest float32 that is at most the threshold: no float32 lies between the two."""
    single = threshold.astype(np.float32)
    return np.where(single > threshold, np.nextafter(single, np.float32(-np.inf)), single)


@in_order
def _add_leaves(
    left: Integers,
    right: Integers,
    feature: Integers,
    threshold: Singles,
    value: Floats,
    roots: Integers,
    rows: Singles,
    out: Floats,
) -> None:
    for i in range(len(rows)):
        for root in roots:
            at = root
            while left[at] != at:
                at = left[at] if rows[i, feature[at]] <= threshold[at] else right[at]
            out[i] += value[at]
