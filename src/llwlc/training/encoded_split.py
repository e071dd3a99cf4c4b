"""EncodedSplit: the encoded links of a split, each part once."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from llwlc.bases.cache import cached
from llwlc.bases.encoded_links import EncodedLinks, encode, messages_on
from llwlc.graph.graph import Graph
from llwlc.splits.linksplit import LinkSplit
from llwlc.splits.making import fresh_negatives
from llwlc.training.config import TrainConfig
from llwlc.training.presets import Preset


class EncodedSplit:
    """The encoded links of a split: training links by epoch, the others by part. Encoded once, kept on the device where they fit."""

    def __init__(
        self, split: LinkSplit, preset: Preset, *, cache: Path | None, device: torch.device, memory_budget: int
    ) -> None:
        self.split, self.preset, self.cache = split, preset, cache
        self.device, self.memory_budget = device, memory_budget
        config = preset.train
        order = torch.randperm(len(split.train_pos), generator=torch.Generator().manual_seed(config.seed))
        self.num_positive = max(1, round(config.fraction * len(order)))
        self.positives = split.train_pos[order[: self.num_positive].sort().values]
        self._kept: dict[str, EncodedLinks] = {}
        self._moved: dict[Graph, Graph] = {}

    def training(self, epoch: int) -> EncodedLinks:
        """Positives, then a pool of negatives. Stochastic constraints are redrawn; else copies that lack some edges take turns."""
        config, basis = self.preset.train, self.preset.basis
        if basis.stochastic:
            # where a dense graph has not as many negatives as links, all that it has
            count = self.num_positive if self.num_positive <= len(self.split.train_neg) else None
            negatives = fresh_negatives(self.split, epoch=epoch + 1, seed=config.seed, count=count)
            pairs = torch.cat([self.positives, negatives[: self.num_positive]])
            return encode(self._messages(self.split.train_graph), pairs, basis, epoch=epoch, about="").to(self.device)
        copy = epoch % ((config.copies or 0) + 1)
        name = f"train, copy {copy}" if copy else "train"
        if name not in self._kept:
            self._kept[name] = self._encode(
                _thinned(self.split.train_graph, config.edge_dropout, copy, config.seed), self._training_pairs, name
            )
        return self._kept[name]

    def part(self, name: str) -> EncodedLinks:
        """One of `valid_pos`, `valid_neg`, `test_pos`, `test_neg`; hard negatives one after the other."""
        if name not in self._kept:
            graph: Graph = getattr(self.split, f"{name.split('_')[0]}_graph")
            self._kept[name] = self._encode(graph, getattr(self.split, name).reshape(-1, 2), name.replace("_", " "))
        return self._kept[name]

    @cached_property
    def _training_pairs(self) -> Tensor:
        config = self.preset.train
        # epoch 0 of the split's seed is its train_neg, so the pool begins elsewhere
        draws = range(1, 1 + pool_draws(config))
        pools = [fresh_negatives(self.split, epoch=e, seed=config.seed) for e in draws]
        return torch.cat([self.positives, *pools])

    def _encode(self, graph: Graph, pairs: Tensor, about: str) -> EncodedLinks:
        about, graph = f"eigenbases, {about}", self._messages(graph)
        if self.cache is None:
            data = encode(graph, pairs, self.preset.basis, about=about)
        else:
            data = cached(
                graph, pairs, self.preset.basis, cache=self.cache, memory_budget=self.memory_budget, about=about
            )
        return data.to(self.device) if data.num_bytes <= self.memory_budget else data

    def _messages(self, graph: Graph) -> Graph:
        """The graph where its bases are computed; stages that share one share the copy and its digest."""
        if graph not in self._moved:
            self._moved[graph] = messages_on(graph, self.device)
        return self._moved[graph]


def pool_draws(config: TrainConfig) -> int:
    """How often as many negatives as there are training links are drawn for the pool."""
    return max(1, round(config.negative_pool * config.fraction))


def _thinned(graph: Graph, share: float, copy: int, seed: int) -> Graph:
    if not copy:
        return graph
    keep = torch.rand(graph.num_edges, generator=torch.Generator().manual_seed(seed * 1_000 + copy)) >= share
    return graph.with_edges(graph.edges[keep])
