"""RelationPredictor: from typed links to scores and lists of missing ones, for one type or any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from llwlc._io.memory_table import TableSource
from llwlc._support.bounds import LARGEST_SCORE, require_whole
from llwlc._support.estimator import Estimator
from llwlc.errors import InputError, NotFittedError, RunFolderError
from llwlc.ranking._scored_table import ScoredTable, Scores, add_scores
from llwlc.relations._added_links import add_triples, fold_in, require_no_new_nodes, spread_scores
from llwlc.relations._candidate_triples import list_candidates
from llwlc.relations._evidence import PatternCounts
from llwlc.relations._explanation import TypedExplanation
from llwlc.relations._factors import ComplexFactors, train_factors
from llwlc.relations._filtered_ranks import filtered_ranks, summarise
from llwlc.relations._pair_channels import FEWEST as FEWEST_TO_COMBINE
from llwlc.relations._pair_channels import TypedScorer, fit_weights
from llwlc.relations._run_folder import FORMAT, MAX_EPOCHS, read_run, write_run
from llwlc.relations._triple_scores import score_triples
from llwlc.relations._triple_table import read_triple_table
from llwlc.relations._triples import Triples
from llwlc.training._calibration import Calibration, fit_calibration, log_odds

if TYPE_CHECKING:
    from llwlc.relations._pair_network import PairNetwork

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
HELD_OUT = 0.1
"""Share of the links for validation, and the same for test."""
FEWEST = 20


class TypedLink(NamedTuple):
    """A possible link of a `type` from `source` to `target`: its `score`, the log-odds of a link where links and random
    triples are equally frequent, and its `probability`.

    >>> TypedLink("Ada", "knows", "Bob", 0.0, 0.5).type
    'knows'
    """

    source: str
    type: str
    target: str
    score: float
    probability: float


class RelationPredictor(Estimator):
    """Predicts links of several types, from source to target, by complex factors of nodes and types and, where hidden
    links show that it helps, by the types that already join a pair, attributes of links, and our network's score of the
    pair.

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
        rows, n, kinds, known = triples.rows, triples.num_nodes, len(triples.types), triples.select(train)
        best: list[Any] = [-1.0, 1, None]

        def choose(epoch: int, factors: ComplexFactors) -> None:
            if epoch % max(1, self.epochs // 10) and epoch != self.epochs:
                return
            found = summarise(filtered_ranks(factors, rows[valid], rows))["mrr"]
            if found > best[0]:
                best[:] = [found, epoch, ComplexFactors(factors.nodes.clone(), factors.types.clone())]

        train_factors(rows[train], n, kinds, self.epochs, seed=self.seed, on_epoch=choose)
        self.epoch_, measured = best[1], best[2]
        scorer = TypedScorer(measured, known)
        network, self.network_note_ = self._fit_network(known, len(valid))
        if network is not None:
            scorer = replace(scorer, network=network.scores(known))
        self.weights_ = fit_weights(scorer, rows[valid], rows, seed=self.seed)
        scorer = replace(scorer, weights=self.weights_)
        if network is not None and (self.weights_ is None or not self.weights_[-1]):
            weights = None if self.weights_ is None else self.weights_[:-1]
            scorer, network, self.weights_ = replace(scorer, network=None, weights=weights), None, weights
            self.network_note_ = "validation links are not ranked better with it"
        self.metrics_: Mapping[str, float] = summarise(filtered_ranks(scorer, rows[test], rows))
        self.factor_metrics_: Mapping[str, float] = summarise(filtered_ranks(measured, rows[test], rows))
        self.triples_, self.node_types_ = triples, None if node_types is None else tuple(node_types)
        self.relation_ = triples.relation
        self.calibration_ = self._calibrate(scorer, rows[valid])
        self.factors_ = train_factors(rows, n, kinds, self.epoch_, seed=self.seed)
        # it is not trained again: it reads all links now
        self.network_ = None if network is None else network.scores(triples)
        for kept in ("_scorer", "_evidence"):  # of an earlier fit
            self.__dict__.pop(kept, None)
        return self

    def _fit_network(self, known: Triples, num_valid: int) -> tuple[PairNetwork | None, str]:
        """Our network on the untyped links, and why there is none."""
        from llwlc.relations._pair_network import fit_pair_network, why_no_network  # a fitted run does not need it

        few = f"{num_valid:,} validation links are fewer than {FEWEST_TO_COMBINE}"
        reason = few if num_valid < FEWEST_TO_COMBINE else why_no_network(known)
        return (None, reason) if reason else (fit_pair_network(known, seed=self.seed), "")

    def _calibrate(self, scorer: TypedScorer, valid: Integers) -> Calibration:
        """Calibrates on validation links and as many triples in which a random node replaces one end."""
        rng = np.random.default_rng([self.seed, 42])
        other, place = valid.copy(), rng.integers(0, 2, len(valid)) * 2
        other[np.arange(len(other)), place] = rng.integers(0, self.triples_.num_nodes, len(other))
        taken = {tuple(row) for row in self.triples_.rows.tolist()}
        other = other[[tuple(row) not in taken for row in other.tolist()]]
        scores = [torch.from_numpy(score_triples(scorer, part, scorer.known.rows)) for part in (valid, other)]
        return fit_calibration(scores[0], scores[1])

    def score(self, triples: Any, *, prior: float = 0.5) -> list[TypedLink]:
        """The triples with their scores and probabilities, in their order.

        Args:
            triples: source, type and target of each, by name.
            prior: the share of links that probabilities assume; the others have one end replaced by a random node.
        """
        self._require_fitted()
        return self._links(self.triples_.find(triples), prior)

    def score_table(
        self,
        table: TableSource,
        *,
        relation: str | None = None,
        prior: float = 0.5,
        unknown: str = "error",
        **reading: Any,
    ) -> ScoredTable:
        """The typed links of a table, with all its columns and their scores.

        Args:
            table: a file, a frame, an arrow table or a query, one typed link a row.
            relation: the column of types; by default that of the fit.
            prior: the share of links that probabilities assume.
            unknown: what happens to a row with a node or a type that the run does not know: error, skip or blank.
            **reading: options of `read_triples` on columns.
        """
        self._require_fitted()
        odds = log_odds(prior)
        found = read_triple_table(table, self.triples_, relation or self.relation_, unknown=unknown, **reading)
        scores = torch.from_numpy(self._checked_scores(found.pairs.numpy()))
        both = Scores(self.calibration_.log_odds(scores), self.calibration_.at(scores, odds))
        return add_scores(found, both, unknown=unknown, source=table)

    def explain(self, source: str, target: str, relation: str | None = None, *, prior: float = 0.5) -> TypedExplanation:
        """Why a typed link has its score: its places in both rankings, and what known links say for it.

        Args:
            source: name of one node.
            target: name of the other.
            relation: the type; by default the likeliest of this pair.
            prior: the share of links that the probability assumes.
        """
        self._require_fitted()
        triples = self.triples_
        if relation is None:
            relation = max(self.score([(source, t, target) for t in triples.types]), key=lambda link: link.score).type
        asked = triples.find([(source, relation, target)])
        link, (head, kind, tail) = self._links(asked, prior)[0], asked[0].tolist()
        ranks = filtered_ranks(self.scorer_, asked, triples.rows)
        ours = triples.rows[triples.rows[:, 1] == kind]
        known = bool((ours == asked[0]).all(1).any())
        out, into = int((ours[:, 0] == head).sum()), int((ours[:, 2] == tail).sum())
        pairs = len(np.unique(ours[:, 0])) * len(np.unique(ours[:, 2]))
        return TypedExplanation(
            *link,
            known,
            prior,
            float(ranks[0]),
            triples.num_nodes - out + known,
            float(ranks[1]),
            triples.num_nodes - into + known,
            out,
            into,
            len(ours) / max(pairs, 1),
            self.evidence_.patterns(head, kind, tail),
            None if self.network_ is None else float(self.network_[head, tail]),
            0.0
            if self.network_ is None or self.weights_ is None
            else self.calibration_.slope * float(self.weights_[-1]),
        )

    @property
    def scorer_(self) -> TypedScorer:
        """What scores typed links: factors, and the channels of pairs where they help."""
        known: TypedScorer | None = self.__dict__.get("_scorer")
        if known is None or known.known is not self.triples_:
            known = self._scorer = TypedScorer(self.factors_.double(), self.triples_, self.weights_, self.network_)
        return known

    @property
    def evidence_(self) -> PatternCounts:
        """The patterns of the known links; made once."""
        known: PatternCounts | None = self.__dict__.get("_evidence")
        if known is None or known.triples is not self.triples_:
            known = self._evidence = PatternCounts(self.triples_)
        return known

    def with_links(self, added: Triples) -> RelationPredictor:
        """The predictor with further known links, between nodes that it knows or new ones: factors of new nodes are
        trained on their links, all others stay, as do our network's scores of pairs; a pair with a new node has their
        mean.

        Args:
            added: the links, of types that it knows.
        """
        self._require_fitted()
        triples, moved = add_triples(self.triples_, added)
        if self.node_types_ is not None:
            require_no_new_nodes(self.triples_, added)
        other = type(self)(epochs=self.epochs, seed=self.seed)
        other.__dict__ |= {name: value for name, value in vars(self).items() if name.endswith("_")}
        other.factors_ = fold_in(self.factors_, triples, moved, seed=self.seed)
        other.network_ = None if self.network_ is None else spread_scores(self.network_, triples.num_nodes, moved)
        other.triples_ = triples
        return other

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
            found = score_triples(self.scorer_, asked, triples.rows)
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
        return list_candidates(self.triples_, self.node_types_, kind, node)

    def _kind(self, relation: str) -> int:
        first = self.triples_.names[0]
        return int(self.triples_.find([(first, relation, first)])[0, 1])

    def _checked_scores(self, rows: Integers) -> Floats:
        scores = score_triples(self.scorer_, rows, self.triples_.rows)
        if not (np.abs(scores) <= LARGEST_SCORE).all():
            raise RunFolderError("some scores are NaN, infinite or huge: the run is damaged, fit again")
        return scores

    def _links(self, rows: Integers, prior: float = 0.5) -> list[TypedLink]:
        triples, scores = self.triples_, torch.from_numpy(self._checked_scores(rows))
        chances = self.calibration_.probability(scores, prior).tolist()
        return [
            TypedLink(triples.names[h], triples.types[r], triples.names[t], score, chance)
            for (h, r, t), score, chance in zip(
                rows.tolist(), self.calibration_.log_odds(scores).tolist(), chances, strict=True
            )
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
            "relation": self.relation_,
            "weights": None if self.weights_ is None else self.weights_.tolist(),
            "factor_metrics": dict(self.factor_metrics_),
            "network_note": self.network_note_,
            "attributes": self.triples_.attribute_names,
            "metrics": dict(self.metrics_),
            "calibration": [self.calibration_.slope, self.calibration_.offset],
            "names": self.triples_.names,
            "types": self.triples_.types,
            "node_types": self.node_types_,
        }
        tensors = {"nodes": self.factors_.nodes, "types": self.factors_.types}
        tensors["triples"] = torch.from_numpy(self.triples_.rows)
        if self.triples_.attributes is not None:
            tensors["attributes"] = torch.from_numpy(self.triples_.attributes)
        if self.network_ is not None:
            tensors["network"] = self.network_
        write_run(Path(folder), about, tensors)

    @classmethod
    def load(cls, folder: Path | str) -> RelationPredictor:
        """Reads a run folder.

        Args:
            folder: what `save`, or `llwlc fit --relation`, wrote.
        """
        about, tensors = read_run(Path(folder))
        model = cls(epochs=about["epochs"], seed=about["seed"])
        values, weights = tensors.get("attributes"), about["weights"]
        model.triples_ = Triples(
            tensors["triples"].numpy(),
            tuple(about["names"]),
            tuple(about["types"]),
            attributes=None if values is None else values.numpy(),
            attribute_names=tuple(about["attributes"]),
        )
        model.weights_ = None if weights is None else np.array(weights)
        model.factor_metrics_ = about["factor_metrics"]
        model.factors_ = ComplexFactors(tensors["nodes"], tensors["types"])
        model.network_, model.network_note_ = tensors.get("network"), about["network_note"]
        model.calibration_ = Calibration(*map(float, about["calibration"]))
        model.relation_ = about["relation"]
        model.epoch_, model.metrics_ = about["epoch"], about["metrics"]
        model.node_types_ = None if about["node_types"] is None else tuple(about["node_types"])
        return model
