"""RelationPredictor: from typed links to scores and lists of missing ones, for one type or any."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file
from scipy.special import expit

from llwlc._support.bounds import LARGEST_SCORE, require_whole
from llwlc._support.estimator import Estimator
from llwlc._support.files import open_atomic_folder, write_tensors, write_text
from llwlc._support.json_file import read_json
from llwlc.errors import InputError, NotFittedError, RunFolderError
from llwlc.relations._factors import ComplexFactors, train_factors
from llwlc.relations._filtered_ranks import filtered_ranks, summarise
from llwlc.relations._run_folder import ABOUT, FORMAT, MAX_EPOCHS, TENSORS, check_contents
from llwlc.relations._triples import Triples
from llwlc.training._calibration import Calibration, fit_calibration

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
HELD_OUT = 0.1
"""Share of the links for validation, and the same for test."""
FEWEST = 20
MAX_PAIRS = 20_000_000
"""Maximum number of pairs of a source and a target that one list may score."""
QUESTIONS_AT_ONCE = 1024


class TypedLink(NamedTuple):
    """A possible link of a `type` from `source` to `target`: its `score`, and its `probability` where links and random
    triples are equally frequent.

    >>> TypedLink("Ada", "knows", "Bob", 0.0, 0.5).type
    'knows'
    """

    source: str
    type: str
    target: str
    score: float
    probability: float


class RelationPredictor(Estimator):
    """Predicts links of several types, from source to target, by complex factors of nodes and types.

    A tenth of the links is used to choose the epoch and to calibrate, another tenth to measure (`metrics_`: filtered
    MRR and Hits@K over both ends); then the factors are trained again, on all links.

    Args:
        epochs: maximum number of epochs.
        seed: seed of the split and of training.

    >>> facts = [(f"p{i}", "cites", f"p{j}") for i in range(12) for j in range(i)]
    >>> facts += [(target, "cited by", source) for source, _, target in facts]
    >>> model = RelationPredictor(epochs=20).fit(Triples.of(facts))
    >>> model.recommend("cites", top=1)[0].type, sorted(model.metrics_)
    ('cites', ['hits@1', 'hits@10', 'hits@3', 'mrr'])
    """

    def __init__(self, *, epochs: int = 60, seed: int = 0) -> None:
        self.epochs, self.seed, self.options = epochs, seed, {}

    def fit(
        self,
        triples: Triples,
        *,
        valid: Integers | None = None,
        test: Integers | None = None,
        node_types: Sequence[str] | None = None,
    ) -> RelationPredictor:
        """Trains, chooses the epoch, measures, and trains on all links.

        Args:
            triples: the known links.
            valid: rows `[m]` of `triples` that choose the epoch; by default a tenth, drawn at random.
            test: rows `[k]` that are measured; by default another tenth.
            node_types: the type of each node: links of a type are then sought between node types that known ones join,
                otherwise between nodes that links of the type start from and end at.
        """
        require_whole("epochs", self.epochs, least=1, most=MAX_EPOCHS)
        if node_types is not None and len(node_types) != triples.num_nodes:
            raise InputError(f"node_types names {len(node_types):,} types for {triples.num_nodes:,} nodes")
        if len(triples) < FEWEST:
            raise InputError(f"there are {len(triples)} typed links, too few to hold some out: give at least {FEWEST}")
        order = np.random.default_rng([self.seed, 41]).permutation(len(triples))
        held = max(1, round(HELD_OUT * len(triples)))
        valid = order[:held] if valid is None else valid
        test = order[held : 2 * held] if test is None else test
        train = np.setdiff1d(np.arange(len(triples)), np.concatenate([valid, test]))
        rows, n, kinds = triples.rows, triples.num_nodes, len(triples.types)
        best: list[Any] = [-1.0, 1, None]

        def choose(epoch: int, factors: ComplexFactors) -> None:
            if epoch % max(1, self.epochs // 10) and epoch != self.epochs:
                return
            found = summarise(filtered_ranks(factors, rows[valid], rows))["mrr"]
            if found > best[0]:
                best[:] = [found, epoch, ComplexFactors(factors.nodes.clone(), factors.types.clone())]

        train_factors(rows[train], n, kinds, self.epochs, seed=self.seed, on_epoch=choose)
        self.epoch_, measured = best[1], best[2]
        self.metrics_: Mapping[str, float] = summarise(filtered_ranks(measured, rows[test], rows))
        self.triples_, self.node_types_ = triples, None if node_types is None else tuple(node_types)
        self.factors_ = measured
        self.calibration_ = self._calibrate(triples.select(train), rows[valid])
        self.factors_ = train_factors(rows, n, kinds, self.epoch_, seed=self.seed)
        return self

    def _calibrate(self, known: Triples, valid: Integers) -> Calibration:
        """Calibrates on validation links and as many triples in which a random node replaces one end."""
        rng = np.random.default_rng([self.seed, 42])
        other, place = valid.copy(), rng.integers(0, 2, len(valid)) * 2
        other[np.arange(len(other)), place] = rng.integers(0, known.num_nodes, len(other))
        taken = {tuple(row) for row in self.triples_.rows.tolist()}
        other = other[[tuple(row) not in taken for row in other.tolist()]]
        scores = [torch.from_numpy(self._scores(part, known.rows)) for part in (valid, other)]
        return fit_calibration(scores[0], scores[1])

    def _scores(self, asked: Integers, known: Integers) -> Floats:
        """The mean of log(k + 1) + log p from both ends, `[m]`: p is the probability of the target among all nodes, k
        the number of known links of the type from the source, so that both add up to the log of an expected number; the
        same from the target.
        """
        n, kinds = self.triples_.num_nodes, len(self.triples_.types)
        total, factors = np.zeros(len(asked)), self.factors_.double()
        for near, far in ((0, 2), (2, 0)):
            count = np.bincount(known[:, 1] * n + known[:, near], minlength=n * kinds)
            question, at = np.unique(asked[:, 1] * n + asked[:, near], return_inverse=True)
            order = np.argsort(at, kind="stable")
            start = np.searchsorted(at[order], np.arange(len(question) + 1))
            for begin in range(0, len(question), QUESTIONS_AT_ONCE):
                some = question[begin : begin + QUESTIONS_AT_ONCE]
                kind, node = np.divmod(some, n)
                scores = factors.targets(node, kind) if near == 0 else factors.sources(kind, node)
                log_share = torch.log_softmax(scores, 1).numpy()
                rows = order[start[begin] : start[begin + len(some)]]
                own = log_share[at[rows] - begin, asked[rows, far]]
                total[rows] += np.log1p(count[question[at[rows]]]) + own
        return total / 2

    def score(self, triples: Any) -> list[TypedLink]:
        """The triples with their scores and probabilities, in their order.

        Args:
            triples: source, type and target of each, by name.
        """
        self._require_fitted()
        return self._links(self.triples_.find(triples))

    def recommend(self, relation: str | None = None, *, top: int = 20, node: str | None = None) -> list[TypedLink]:
        """The likeliest missing links, best first.

        Args:
            relation: their type; None for any.
            top: how many.
            node: only links from or to this node.
        """
        self._require_fitted()
        require_whole("top", top, least=1, most=10**7)
        triples = self.triples_
        kinds = range(len(triples.types)) if relation is None else [self._kind(relation)]
        end = None if node is None else int(triples.find([(node, triples.types[0], node)])[0, 0])
        parts, scores = [np.zeros((0, 3), dtype=np.int64)], [np.zeros(0)]
        for kind in kinds:
            asked = self.candidates(kind, node=end)
            found = self._scores(asked, triples.rows)
            best = np.argsort(-found, kind="stable")[:top]
            parts.append(asked[best])
            scores.append(found[best])
        order = np.argsort(-np.concatenate(scores), kind="stable")[:top]
        return self._links(np.concatenate(parts)[order])

    def candidates(self, kind: int, *, node: int | None = None) -> Integers:
        """The triples `[m, 3]` of a type that are not known links, between admissible nodes.

        Args:
            kind: number of the type.
            node: number of a node that is one end; None for all.
        """
        triples, n = self.triples_, self.triples_.num_nodes
        known = triples.rows[triples.rows[:, 1] == kind]
        label = None
        if self.node_types_ is None:
            starts, ends = np.unique(known[:, 0]), np.unique(known[:, 2])
        else:
            _, label = np.unique(np.asarray(self.node_types_), return_inverse=True)
            starts, ends = (np.flatnonzero(np.isin(label, label[known[:, place]])) for place in (0, 2))
        if node is None and len(starts) * len(ends) > MAX_PAIRS:
            raise InputError(
                f"{len(starts):,} sources and {len(ends):,} targets of {triples.types[kind]!r} are too many for one"
                " list: name a node"
            )
        own = () if node is None else (np.array([node]),)
        blocks = (
            [(starts, ends)] if not own else [(np.intersect1d(starts, own), ends), (starts, np.intersect1d(ends, own))]
        )
        grids = [np.stack(np.meshgrid(*block, indexing="ij"), -1).reshape(-1, 2) for block in blocks]
        pairs = np.concatenate(grids)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        if label is not None:
            joined = np.unique(label[known[:, 0]] * n + label[known[:, 2]])
            pairs = pairs[np.isin(label[pairs[:, 0]] * n + label[pairs[:, 1]], joined)]
        pairs = pairs[~np.isin(pairs[:, 0] * n + pairs[:, 1], known[:, 0] * n + known[:, 2])]
        return np.stack([pairs[:, 0], np.full(len(pairs), kind), pairs[:, 1]], 1)

    def _kind(self, relation: str) -> int:
        first = self.triples_.names[0]
        return int(self.triples_.find([(first, relation, first)])[0, 1])

    def _links(self, rows: Integers) -> list[TypedLink]:
        triples, scores = self.triples_, self._scores(rows, self.triples_.rows)
        if not (np.abs(scores) <= LARGEST_SCORE).all():
            raise RunFolderError("some scores are NaN, infinite or huge: the run is damaged, fit again")
        odds = self.calibration_.log_odds(torch.from_numpy(scores)).double().numpy()
        return [
            TypedLink(triples.names[h], triples.types[r], triples.names[t], float(score), float(expit(odd)))
            for (h, r, t), score, odd in zip(rows.tolist(), scores, odds, strict=True)
        ]

    def _require_fitted(self) -> None:
        if not hasattr(self, "factors_"):
            raise NotFittedError("this predictor is not fitted yet: call fit, or load")

    def save(self, folder: Path | str) -> None:
        """Writes a run folder.

        Args:
            folder: a new folder.
        """
        self._require_fitted()
        about = {
            "format": FORMAT,
            "epochs": self.epochs,
            "seed": self.seed,
            "epoch": self.epoch_,
            "metrics": dict(self.metrics_),
            "calibration": [self.calibration_.slope, self.calibration_.offset],
            "names": self.triples_.names,
            "types": self.triples_.types,
            "node_types": self.node_types_,
        }
        tensors = {
            "nodes": self.factors_.nodes.contiguous(),
            "types": self.factors_.types.contiguous(),
            "triples": torch.from_numpy(self.triples_.rows),
        }
        if Path(folder).exists():
            raise RunFolderError(f"{folder} exists already: choose another folder, or delete it")
        with open_atomic_folder(Path(folder)) as partial:
            write_tensors(partial / TENSORS, tensors)
            write_text(partial / ABOUT, json.dumps(about, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, folder: Path | str) -> RelationPredictor:
        """Reads a run folder.

        Args:
            folder: what `save`, or `llwlc fit --relation`, wrote.
        """
        where = Path(folder)
        try:
            about, tensors = read_json(where / ABOUT), load_file(where / TENSORS)
            check_contents(about, tensors)
        except (OSError, KeyError, TypeError, ValueError, IndexError, AttributeError, SafetensorError) as error:
            raise RunFolderError(f"{folder} is no readable run of typed links ({error}): fit again") from error
        model = cls(epochs=about["epochs"], seed=about["seed"])
        model.triples_ = Triples(tensors["triples"].numpy(), tuple(about["names"]), tuple(about["types"]))
        model.factors_ = ComplexFactors(tensors["nodes"], tensors["types"])
        model.calibration_ = Calibration(*map(float, about["calibration"]))
        model.epoch_, model.metrics_ = about["epoch"], about["metrics"]
        model.node_types_ = None if about["node_types"] is None else tuple(about["node_types"])
        return model
