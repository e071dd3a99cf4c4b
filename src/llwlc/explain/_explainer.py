"""Explainer: explains the score of one pair by a fitted network."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from llwlc._fitting.fit import FitResult
from llwlc._support.threads import use_one_thread
from llwlc.bases._encoded_links import EncodedLinks, encode_pairs
from llwlc.bases._kernel_compilation import compile_basis_kernels
from llwlc.errors import InputError
from llwlc.explain._blended import AnyPopulation, BesideNetwork
from llwlc.explain._explanation import Explanation
from llwlc.explain._layout import layout_nodes
from llwlc.explain._parts import list_parts, log_odds_of, logits, shapley_values
from llwlc.explain._paths import MAX_PATH_EDGES, find_paths
from llwlc.explain._population import POPULATIONS, CalibratedPopulation, CandidatePopulation, RandomPopulation
from llwlc.explain._records import (
    Drawing,
    DrawnNode,
    EigenvectorEffect,
    FilterEffect,
    PartEffect,
    Prediction,
    Removal,
    SharedFeature,
    SimilarLink,
)
from llwlc.explain._removal import EnclosingSubgraph
from llwlc.explain._spectrum import apply_gates, make_ablations
from llwlc.graph._graph import Graph
from llwlc.models._base import CANDIDATES, RANDOM, Blended, Explainable, score_pairs
from llwlc.models._llwlc.model import LLwLC
from llwlc.models._llwlc.scoring import OUTPUTS, Scorer, split_by_size
from llwlc.ranking._ranking import RankingConfig
from llwlc.training._calibration import Calibration

MAX_EDGES = 500
"""Edges of a subgraph that are removed one by one, unless told otherwise; those nearest to the pair first."""
MAX_COPIED_EDGES = 8_000_000
"""Edges that all altered subgraphs of one explanation have together: beyond, fewer are tried, so that a hub takes
seconds and not minutes.
"""
MAX_PATHS = 200
REFERENCES, SIMILAR_FROM = 64, 1_000
ROWS_PER_BATCH = 20_000
"""Rows of subgraphs that the network reads at once: small batches stay in the cache of a processor."""
MAX_DRAWN_NODES = 60
"""Nodes that are drawn of a subgraph."""
MAX_LISTED = 10
"""Shared features and similar links that are named."""
BLENDED_ABOUT = "beside the network, in this blend"
TWO_PROBABILITIES = (
    "The probabilities compare the pair with different ones: by score, with random pairs, of which --prior are links;"
    " by recommend, with candidates, which are near each other as this pair is, so that few of them are missing links."
)
OF_A_BLEND = (
    "This run is a blend: edges, paths, eigenvectors and filters are those of one network; what the other members add"
    " is held fixed."
)


def why_not_explainable(fitted: FitResult) -> str:
    """Why the scores of a fitted model cannot be explained; "" if they can."""
    if isinstance(fitted.model, Explainable):
        return ""
    return (
        f"this is a run of {fitted.title}, which has no constrained eigenbasis to explain a score by: fit with"
        ' --model llwlc (model="llwlc" in Python) for an explainable one'
    )


@dataclass(frozen=True, eq=False)
class Explainer:
    """A fitted network on its graph. `non_links [m, 2]`: random pairs, of which some serve as the reference; what all
    explanations share is computed once. `blend`: the model that the network is a part of, None where it is alone.
    """

    graph: Graph
    model: LLwLC
    calibration: Calibration
    ranking: RankingConfig
    non_links: Tensor
    blend: Blended | None = None

    @classmethod
    def of(cls, graph: Graph, fitted: FitResult, ranking: RankingConfig, non_links: Tensor) -> Explainer:
        """The explainer of a fitted model; an error for one that has no constrained eigenbasis."""
        if reason := why_not_explainable(fitted):
            raise InputError(reason)
        whole = fitted.model
        model = cast(LLwLC, cast(Explainable, whole).explained)
        compile_basis_kernels(graph, model.basis)
        blend = whole if isinstance(whole, Blended) and not whole.alone else None
        return cls(graph, model, fitted.calibration, ranking, non_links, blend)

    @cached_property
    def scorer(self) -> Scorer:
        return Scorer(copy.deepcopy(self.model.fitted).cpu(), self.model.features, by_torch=True)

    @cached_property
    def references(self) -> Tensor:
        """The readouts `[R, width]` of random pairs that are not links."""
        return self.readouts(self.reference_pairs)

    @property
    def reference_pairs(self) -> Tensor:
        return _spread(self.non_links.reshape(-1, 2), REFERENCES)

    def beside(self, pairs: Tensor, population: CalibratedPopulation) -> BesideNetwork | None:
        """What other members of the blend add to the scores of pairs."""
        return None if self.blend is None else BesideNetwork.of(self.blend, self.graph, pairs, population)

    def of_pairs(self, pairs: Tensor, population: CalibratedPopulation) -> AnyPopulation:
        """The population as the network of a blend sees it at these pairs."""
        beside = self.beside(pairs, population)
        return population if beside is None or self.blend is None else beside.at(self.blend, population)

    @cached_property
    def links(self) -> tuple[Tensor, Tensor]:
        """Existing links `[m, 2]`, all or evenly chosen ones, and their readouts, each without itself in the graph."""
        some = _spread(self.graph.edges, SIMILAR_FROM)
        return some, self.readouts(some)

    def population(self, name: str, prior: float, missing_share: float | None) -> CalibratedPopulation:
        if name not in POPULATIONS:
            raise InputError(f"population is {' or '.join(POPULATIONS)}, got {name!r}")
        if name == "random":
            return RandomPopulation(self.calibration, prior)
        return CandidatePopulation.of(self.ranking, missing_share)

    def readouts(self, pairs: Tensor) -> Tensor:
        """What the heads read of pairs, `[m, width]` in float64."""
        data = encode_pairs(self.graph, pairs, self.model.basis, about="")
        if self.scorer.inputs is not None:
            data = data.with_pair(self.scorer.inputs(self.graph, pairs))
        return self._read(data)

    def _read(self, data: EncodedLinks) -> Tensor:
        net = self.scorer.net
        out = []
        order = data.sizes.argsort(stable=True)
        with torch.inference_mode(), use_one_thread():
            for index in split_by_size(order, data.sizes, ROWS_PER_BATCH):
                out.append(net.readout(data.batch(index).to("cpu", torch.float64), self.scorer.features))
            readouts = torch.cat(out) if out else torch.zeros(0, list_parts(net)[-1].end, dtype=torch.float64)
        return readouts[order.argsort()].clone()

    def enclosing_subgraph(self, u: int, v: int) -> EnclosingSubgraph:
        return EnclosingSubgraph.of(self.graph, (u, v), self.model.basis, self.scorer.inputs)

    def without(self, around: EnclosingSubgraph, removed: Tensor, population: AnyPopulation) -> Tensor:
        """The log-odds `[M]` of the pair where the marked edges `[M, E]` are gone."""
        parts = [torch.zeros(0, dtype=torch.float64)]
        with torch.inference_mode(), use_one_thread():
            for data in around.encoded(removed):
                parts.append(log_odds_of(self.scorer.net, self._read(data), population))
        return torch.cat(parts)

    def explain(
        self,
        u: int,
        v: int,
        *,
        population: str = "random",
        prior: float = 0.5,
        missing_share: float | None = None,
        max_edges: int = MAX_EDGES,
    ) -> Explanation:
        """Why the pair of these two nodes has its score; `max_edges` of its subgraph are tried one by one."""
        if u == v:
            raise InputError(f"a pair has two nodes, got {self.graph.name(u)!r} twice")
        if max_edges < 0:
            raise InputError(f"max_edges is at least 0, got {max_edges}")
        target = self.population(population, prior, missing_share)
        opposite = self.population("candidates" if population == "random" else "random", prior, missing_share)
        around = self.enclosing_subgraph(u, v)
        low, high = around.pair
        pair = torch.tensor([[low, high]])
        for each in (
            RANDOM,
            CANDIDATES,
        ):  # a pair whose score is refused has no reasons, even where 64 bits, as used below, would give a number
            score_pairs(self.model, self.graph, pair, each)
        target_population, other = self.of_pairs(pair, target), self.of_pairs(pair, opposite)
        with torch.inference_mode(), use_one_thread():
            whole = around.encoded(torch.zeros(1, around.num_edges, dtype=torch.bool))[0]
            readout = self.readouts(pair)
            mine, theirs = self.beside(pair, target), self.beside(self.reference_pairs, target)
            beside = None if mine is None or theirs is None else (mine, theirs)
            effects = shapley_values(self.scorer.net, readout, self.references, target_population, beside)
            eigenvectors, filters, vectors = self._spectrum(whole, target_population)
            removals = self._removals(around, target_population, max_edges)
            usual = self.of_pairs(self.reference_pairs, target)
            reference = float(log_odds_of(self.scorer.net, self.references, usual).mean())
        cosine, features = self._features(low, high)
        return Explanation(
            source=self.graph.name(low),
            target=self.graph.name(high),
            linked=bool(self.graph.has_edges(torch.tensor([[low, high]]))[0]),
            predictions=(
                self._predict(pair, readout, target_population),
                self._predict(pair, readout, other),
            ),
            reference=reference,
            references=len(self.references),
            parts=tuple(
                PartEffect(name, about, effect)
                for (name, about), effect in zip(self._part_names(mine), effects, strict=True)
            ),
            eigenvectors=eigenvectors,
            filters=filters,
            edges=removals.edges,
            num_subgraph_edges=around.num_edges,
            common_neighbors=removals.common,
            paths=removals.paths,
            cosine=cosine,
            features=features,
            similar=self._similar(low, high, readout, target),
            drawing=self._drawing(around, removals.loss, vectors),
            notes=(
                *_notes(len(removals.edges), around.num_edges, len(removals.paths), removals.more_paths),
                *((OF_A_BLEND,) if self.blend is not None else ()),
            ),
        )

    def _part_names(self, beside: BesideNetwork | None) -> list[tuple[str, str]]:
        own = [(part.name, part.about) for part in list_parts(self.scorer.net)]
        return own + [(name, BLENDED_ABOUT) for name in (() if beside is None else beside.names)]

    def _predict(self, pair: Tensor, readout: Tensor, population: AnyPopulation) -> Prediction:
        with torch.inference_mode():
            out, sharing = logits(self.scorer.net, readout)
        own = out[:, population.output]
        odds = float(population.log_odds(own, sharing)[0])
        low, high = population.range(own, sharing) or (None, None)
        random = self.of_pairs(pair, RandomPopulation(self.calibration))
        score = float(random.log_odds(out[:, OUTPUTS[RANDOM]], sharing)[0])
        return Prediction(population.name, population.about, score, odds, _sigmoid(odds), low, high)

    def _spectrum(
        self, whole: EncodedLinks, population: AnyPopulation
    ) -> tuple[tuple[EigenvectorEffect, ...], tuple[FilterEffect, ...], Tensor]:
        """What each eigenvector and each filter carries, and the eigenvectors `[n, live]` with their signs made
        definite.
        """
        net, live = self.scorer.net, int(whole.mask[0].sum())
        plan = make_ablations(net, live, whole.values.shape[1])
        batch = whole.batch(torch.zeros(plan.copies, dtype=torch.long)).to("cpu", torch.float64)
        odds = log_odds_of(net, apply_gates(net, plan.gates).readout(batch, self.scorer.features), population)
        lost = (odds[0] - odds[1:]).tolist()
        vectors = whole.vectors[:, :live].double()
        # the sign of an eigenvector is arbitrary: its largest entry (among nearly equal ones that of the smallest id)
        # is made positive
        size = (vectors.abs() > vectors.abs().amax(0) * (1 - 1e-4)).long() * (
            whole.node.max() + 1 - whole.node
        ).unsqueeze(1)
        vectors = vectors * vectors.gather(0, size.argmax(0, keepdim=True)).sign()
        eigen = tuple(
            EigenvectorEffect(k, float(whole.values[0, k]), float(vectors[0, k]), float(vectors[1, k]), lost[k])
            for k in range(live)
        )
        filters = tuple(
            FilterEffect(where, s, loss) for (where, s), loss in zip(plan.filters, lost[live:], strict=True)
        )
        return eigen, filters, vectors

    def _removals(self, around: EnclosingSubgraph, population: AnyPopulation, max_edges: int) -> Removals:
        """Every edge, every common neighbour and every short path removed, in one batch."""
        edges, total = around.edges, around.num_edges
        affordable = max(MAX_COPIED_EDGES // max(total, 1), 1)
        most = min(max_edges, total, affordable)
        order = order_edges(around)[:most]
        paths = find_paths(edges, 0, 1, MAX_PATHS + 1)
        more_paths = len(paths) > min(MAX_PATHS, affordable)
        paths = paths[: min(MAX_PATHS, affordable)]
        number = {pair: i for i, pair in enumerate(map(tuple, edges.tolist()))}
        number |= {(b, a): i for (a, b), i in number.items()}
        sets = [[i] for i in order.tolist()]
        sets += [[number[step] for step in pairwise(path)] for path in paths]
        removed = torch.zeros(1 + len(sets), total, dtype=torch.bool)
        for row, part in enumerate(sets, 1):
            removed[row, part] = True
        odds = self.without(around, removed, population)
        lost = odds[0] - odds[1:]
        loss: list[float | None] = [None] * total
        for i, value in zip(order.tolist(), lost.tolist(), strict=False):
            loss[i] = value
        names = [self.graph.name(i) for i in around.subs.node.tolist()]
        nodes = [tuple(edges[i].tolist()) for i in order.tolist()] + paths
        removals = [
            Removal(tuple(names[i] for i in way), value, _sigmoid(left))
            for way, value, left in zip(nodes, lost.tolist(), odds[1:].tolist(), strict=True)
        ]
        removals, ways = removals[:most], removals[most:]
        common = [Removal(way.nodes[1:2], way.lost, way.probability) for way in ways if len(way.nodes) == 3]
        return Removals(_by_loss(removals), _by_loss(common), _by_loss(ways), more_paths, loss)

    def _features(self, low: int, high: int) -> tuple[float | None, tuple[SharedFeature, ...]]:
        """The cosine of the raw features, and the features that make it up, largest part first."""
        unit = self.model.features.unit
        if unit is None:
            return None, ()
        rows = unit[[low, high]]
        product = (
            rows[[0]].multiply(rows[[1]]) if isinstance(rows, csr_array) else csr_array(rows[[0]] * rows[[1]])
        ).tocsr()
        share = {int(c): float(x) for c, x in zip(product.indices, product.data, strict=True) if x}
        best = sorted(share.items(), key=lambda item: (-abs(item[1]), item[0]))[:MAX_LISTED]
        return float(np.sum(list(share.values()))), tuple(SharedFeature(c, x, self._title(c)) for c, x in best)

    def _title(self, column: int) -> str:
        """What a file calls a column of features; a matrix has numbers only."""
        encoding = self.graph.encoding
        title = str(column) if encoding is None else encoding.titles[column]
        return f"column {title}" if title.isdecimal() else title

    def _similar(
        self, low: int, high: int, readout: Tensor, population: CalibratedPopulation
    ) -> tuple[SimilarLink, ...]:
        links, existing = self.links
        if not len(links):
            return ()
        spread = existing.std(0, correction=0)
        spread[spread == 0] = 1
        distance = ((existing - readout) / spread).square().mean(1).sqrt()
        distance[(links == torch.tensor([low, high])).all(1)] = float("inf")
        order = torch.argsort(distance, stable=True)[:MAX_LISTED]
        order = order[distance[order].isfinite()]
        with torch.inference_mode():
            odds = log_odds_of(self.scorer.net, existing[order], self.of_pairs(links[order], population))
        return tuple(
            SimilarLink(self.graph.name(a), self.graph.name(b), float(d), _sigmoid(o))
            for (a, b), d, o in zip(links[order].tolist(), distance[order].tolist(), odds.tolist(), strict=True)
        )

    def _drawing(self, around: EnclosingSubgraph, loss: list[float | None], vectors: Tensor) -> Drawing:
        """The pair, then the nodes whose edges matter most, then those nearest to it, as many as fit a drawing."""
        subs, edges = around.subs, around.edges.tolist()
        hop, ids, weight = subs.hop.tolist(), subs.node.tolist(), [0.0] * subs.num_nodes
        for (a, b), value in zip(edges, loss, strict=True):
            for i in (a, b):
                weight[i] = max(weight[i], abs(value or 0.0))
        others = sorted(range(2, subs.num_nodes), key=lambda i: (-weight[i], hop[i], ids[i]))
        # in the order of their distance, so that those named beside the pair are near it
        shown = [0, 1, *sorted(others[: MAX_DRAWN_NODES - 2], key=lambda i: (hop[i], -weight[i], ids[i]))]
        place = {i: at for at, i in enumerate(shown)}
        drawn_edges = [
            (place[a], place[b], value) for (a, b), value in zip(edges, loss, strict=True) if a in place and b in place
        ]
        at = layout_nodes(len(shown), [(a, b) for a, b, _ in drawn_edges])
        nodes = tuple(
            DrawnNode(self.graph.name(ids[i]), float(x), float(y), hop[i], tuple(vectors[i].tolist()))
            for i, (x, y) in zip(shown, at, strict=True)
        )
        return Drawing(nodes, tuple(drawn_edges), subs.num_nodes, around.num_edges)


class Removals(NamedTuple):
    """What was removed and what each removal cost; `loss [E]` of single edges, None where not tried; `more_paths`:
    whether there are paths that were not.
    """

    edges: tuple[Removal, ...]
    common: tuple[Removal, ...]
    paths: tuple[Removal, ...]
    more_paths: bool
    loss: list[float | None]


def order_edges(around: EnclosingSubgraph) -> Tensor:
    """The edges in the order of how near they are to the pair: those at an end, those at a common neighbour, and so
    on.
    """
    subs, edges = around.subs, around.edges
    far = torch.minimum(subs.dist_u, subs.dist_v) + (subs.dist_u + subs.dist_v)
    far[:2] = 0
    key = far[edges].sum(1) + 100 * subs.hop[edges].amin(1)
    return torch.argsort(key, stable=True)


def _by_loss(removals: list[Removal]) -> tuple[Removal, ...]:
    return tuple(sorted(removals, key=lambda item: (-item.lost, item.nodes)))


def _notes(removed: int, total: int, paths: int, more_paths: bool) -> tuple[str, ...]:
    """What the numbers mean, and what was left out."""
    notes = [
        "Effects are in log-odds: +1 multiplies the odds of a link by 2.7.",
        TWO_PROBABILITIES,
        (
            "Without an edge: the score on the graph without it, everything around the pair computed again; weights of"
            " the network, features and calibration are held fixed."
        ),
    ]
    if removed < total:
        notes.append(f"{removed:,} of {total:,} edges were tried, those nearest to the pair first.")
    if more_paths:
        notes.append(f"The first {paths} paths of up to {MAX_PATH_EDGES} edges were tried; there are more.")
    return tuple(notes)


def _sigmoid(x: float) -> float:
    return float(torch.sigmoid(torch.tensor(x, dtype=torch.float64)))


def _spread(pairs: Tensor, most: int) -> Tensor:
    """At most `most` of the pairs, spread evenly."""
    if len(pairs) <= most:
        return pairs
    return pairs[torch.linspace(0, len(pairs) - 1, most).long()]
