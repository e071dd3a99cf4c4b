"""EncodedSplit: the encoded links of a split; each part is encoded once."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from llwlc.bases._cache import load_or_encode
from llwlc.bases._encoded_links import EncodedLinks, encode_pairs, place_message_graph
from llwlc.bases._pair_inputs import PairInputs
from llwlc.graph._edge_list import EdgeList
from llwlc.graph._graph import Graph
from llwlc.models._llwlc.config import TrainConfig
from llwlc.models._llwlc.presets import Preset
from llwlc.splits._heart import draw_hard_training_negatives
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._making import fresh_negatives, fresh_ranks, mix_known_negatives, training_non_edges
from llwlc.training._candidate_links import CandidateLinks
from llwlc.training._resources import Resources

ENCODING = "eigenbases"
"""The stage in which links are encoded."""


@dataclass(frozen=True, eq=False)
class EncodedTrainingLinks:
    """Encoded positives, then negatives for random pairs, then negatives for candidates. `member [positives]`: which
    positives count as candidates.

    With several ranks, `data` holds only the links of this rank (link i belongs to rank i mod size), `sizes` the sizes
    of all links.
    """

    data: EncodedLinks
    positives: int
    random: int
    member: Tensor
    sizes: Tensor | None = None

    @property
    def all_sizes(self) -> Tensor:
        """The nodes of each link's subgraph, of all links, on the CPU."""
        return self.data.sizes.cpu() if self.sizes is None else self.sizes

    @property
    def candidates(self) -> int:
        return len(self.data if self.sizes is None else self.sizes) - self.positives - self.random


class EncodedSplit:
    """The encoded links of a split: training links by epoch, the others by part. Encoded once, kept on the device where
    they fit.
    """

    def __init__(
        self,
        split: LinkSplit,
        preset: Preset,
        *,
        resources: Resources,
        evaluated: LinkSplit | None = None,
        inputs: PairInputs | None = None,
        candidates: CandidateLinks | None = None,
    ) -> None:
        self.split, self.preset = split, preset
        self.cache, self.owner, self.watch = resources.cache, resources.owner, resources.watch
        self.device, self.ranks = resources.device, resources.ranks
        self.memory_budget = sys.maxsize if resources.memory_budget is None else resources.memory_budget
        self.evaluated = split if evaluated is None else evaluated
        """The split with the validation and test links that are scored."""
        self.inputs, self.candidates = inputs, candidates
        self.positives = training_positives(split, preset.train)
        self.num_positive = len(self.positives)
        self.member = torch.zeros(self.num_positive, dtype=torch.bool) if candidates is None else candidates.member
        self._kept: dict[str, EncodedLinks] = {}
        self._training: dict[str, EncodedTrainingLinks] = {}
        self._moved: dict[Graph, Graph] = {}

    def training(self, epoch: int) -> EncodedTrainingLinks:
        """Positives, then pools of negatives. Stochastic constraints are redrawn; else copies that lack some edges take
        turns.
        """
        config, basis = self.preset.train, self.preset.basis
        if basis.stochastic:
            # where a dense graph has not as many negatives as links, all that it has
            count = self.num_positive if self.num_positive <= len(self.split.train_neg) else None
            negatives = fresh_negatives(self.split, epoch=epoch + 1, seed=config.seed, count=count)[: self.num_positive]
            chosen = self._drawn_candidates(epoch)
            pairs = torch.cat([self.positives, negatives, chosen])
            own = self._own(pairs)
            with self.watch(ENCODING):
                messages = self._messages(self.split.train_graph)
                data = encode_pairs(messages, own, basis, epoch=epoch, about="").to(self.device)
                data = self._with_inputs(data, self.split.train_graph, own)
            return self._as_training(data, len(negatives), len(pairs))
        copy = epoch % ((config.copies or 0) + 1)
        name = f"train, copy {copy}" if copy else "train"
        if name not in self._training:
            thinned = _thinned(self.split.train_graph, config.edge_dropout, copy, config.seed)
            data = self._encode(thinned, self._own(self._training_pairs), name)
            self._training[name] = self._as_training(data, self._num_random, len(self._training_pairs))
        return self._training[name]

    def part(self, name: str) -> EncodedLinks:
        """One of `valid_pos`, `valid_neg`, `test_pos`, `test_neg`; hard negatives one after the other."""
        if name not in self._kept:
            graph: Graph = getattr(self.split, f"{name.split('_')[0]}_graph")
            self._kept[name] = self._encode(graph, getattr(self.evaluated, name).reshape(-1, 2), name.replace("_", " "))
        return self._kept[name]

    def valid_candidates(self) -> tuple[EncodedLinks, EncodedLinks] | None:
        """Validation links that are candidates, and a sample of the other candidates; None where candidates have no
        head, or one of the two is empty.
        """
        candidates = self.candidates
        if candidates is None or not len(candidates.valid_pos) or not len(candidates.valid_neg):
            return None
        for name in ("valid_pos", "valid_neg"):
            kept = f"candidates, {name}"
            if kept not in self._kept:
                self._kept[kept] = self._encode(
                    self.split.valid_graph, getattr(candidates, name), kept.replace("_", " ")
                )
        return self._kept["candidates, valid_pos"], self._kept["candidates, valid_neg"]

    @cached_property
    def _training_pairs(self) -> Tensor:
        config = self.preset.train
        # epoch 0 of the split's seed is its train_neg, so the pool begins elsewhere
        draws, free = range(1, 1 + pool_draws(config)), training_non_edges(self.split)
        # pairs are made only of the ranks that are used, which may be few of those drawn
        rank = torch.cat([fresh_ranks(self.split, free, epoch=e, seed=config.seed) for e in draws])
        count = config.negative_pool * self.num_positive
        if len(rank) > count:  # only a share of the links is trained on
            order = np.random.default_rng([config.seed, 5]).permutation(len(rank))[:count]
            rank = rank[torch.from_numpy(np.sort(order))]
        random = mix_known_negatives(self.split, free.at(rank), epoch=0, seed=config.seed)
        hard = draw_hard_training_negatives(self.split, round((config.hard_share or 0.0) * len(random)), config.seed)
        pairs = self.positives[:0] if self.candidates is None else self.candidates.negatives
        return torch.cat([self.positives, random[: len(random) - len(hard)], hard, pairs])

    @property
    def _num_random(self) -> int:
        count = 0 if self.candidates is None else len(self.candidates.negatives)
        return len(self._training_pairs) - self.num_positive - count

    def _drawn_candidates(self, epoch: int) -> Tensor:
        """As many candidate negatives as there are positives, of the pool, for one epoch."""
        if self.candidates is None:
            return self.positives[:0]
        pool = self.candidates.negatives
        order = np.random.default_rng([self.preset.train.seed, epoch]).permutation(len(pool))[: self.num_positive]
        return pool[torch.from_numpy(order)]

    def _own(self, pairs: Tensor) -> Tensor:
        """The pairs whose bases this rank computes: all of them where there is one."""
        return pairs if self.ranks is None else pairs[self.ranks.own(len(pairs))]

    def _as_training(self, data: EncodedLinks, random: int, links: int) -> EncodedTrainingLinks:
        sizes = None if self.ranks is None else self.ranks.gather_sizes(data.sizes, links)
        return EncodedTrainingLinks(data, self.num_positive, random, self.member, sizes)

    def _encode(self, graph: Graph, pairs: Tensor, about: str) -> EncodedLinks:
        with self.watch(ENCODING):
            return self._encoded(graph, pairs, about)

    def _encoded(self, graph: Graph, pairs: Tensor, about: str) -> EncodedLinks:
        about, messages = f"eigenbases, {about}" if about else "", self._messages(graph)
        if self.cache is None or self.preset.basis.learned:  # subgraphs alone take less time than a file
            data = encode_pairs(messages, pairs, self.preset.basis, about=about)
        else:
            data = load_or_encode(
                messages,
                pairs,
                self.preset.basis,
                cache=self.cache,
                memory_budget=self.memory_budget,
                owner=self.owner,
                about=about,
            )
        data = self._with_inputs(data, graph, pairs)
        return data.to(self.device) if data.num_bytes <= self.memory_budget else data

    def _with_inputs(self, data: EncodedLinks, graph: Graph, pairs: Tensor) -> EncodedLinks:
        return data if self.inputs is None else data.with_pair(self.inputs(graph, pairs))

    def _messages(self, graph: Graph) -> Graph:
        """The graph on the device that computes bases; stages that share a graph share the copy and its digest."""
        if graph not in self._moved:
            self._moved[graph] = place_message_graph(graph, self.device)
        return self._moved[graph]


def training_positives(split: LinkSplit, config: TrainConfig) -> Tensor:
    """The training links that are used, in their order."""
    order = torch.randperm(len(split.train_pos), generator=torch.Generator().manual_seed(config.seed))
    count = max(1, round(config.fraction * len(order)))
    return split.train_pos[order[:count].sort().values]


def pool_draws(config: TrainConfig) -> int:
    """How often as many negatives as there are training links are drawn for the pool."""
    return max(1, round(config.negative_pool * config.fraction))


def _thinned(graph: Graph, share: float, copy: int, seed: int) -> Graph:
    if not copy:
        return graph
    keep = torch.rand(graph.num_edges, generator=torch.Generator().manual_seed(seed * 1_000 + copy)) >= share
    return EdgeList(graph).select(keep)
