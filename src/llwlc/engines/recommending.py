"""`recommend` by many workers: nodes' candidate lists in shards of nodes, the network's scores in shards of pairs; the steps in between run in this process.

The folder of the job keeps both kinds of shards, so that a second call continues where the first one stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from llwlc.bases.config import BasisConfig
from llwlc.candidates.best_first import Lists
from llwlc.engines.ray_pool import Cluster, over_shards
from llwlc.engines.shards import Shard, ShardFolder, begun
from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.predict.predictor import LinkPredictor
from llwlc.predict.ranking import Recommendations
from llwlc.predict.run_format import MANIFEST
from llwlc.support.files import file_digest, remove, write_tensors
from llwlc.support.progress import bars
from llwlc.training.scoring import RANDOM

NODES, PAIRS = 2_048, 50_000
"""Number of nodes, and of pairs, in a shard."""
ENDING = ".safetensors"


@dataclass(frozen=True)
class RecommendTask:
    """All that a worker needs to know, as text and numbers."""

    run: str
    out: str
    nodes: int
    between: tuple[str, str] | None = None
    budget: int | None = None
    pairs: int = 0
    longest: int = 0
    output: int = RANDOM
    nodes_each: int = NODES
    pairs_each: int = PAIRS

    @property
    def lists(self) -> ShardFolder:
        return ShardFolder(Path(self.out), self.nodes, self.nodes_each, ENDING, _rows_of, "lists")

    @property
    def scores(self) -> ShardFolder:
        return ShardFolder(Path(self.out), self.pairs, self.pairs_each, ENDING, _rows_of, "scores")

    @property
    def pairs_file(self) -> Path:
        """The file of the pairs that the network scores; workers map it."""
        return Path(self.out) / f"pairs{ENDING}"

    @property
    def job(self) -> dict[str, Any]:
        return {
            "task": "recommend",
            "run": file_digest(Path(self.run) / MANIFEST),
            "between": self.between,
            "budget": self.budget,
            "each": [self.nodes_each, self.pairs_each],
        }


class RecommendWorker:
    """Opens the run, its graph mapped, and makes lists or scores."""

    def __init__(self, task: RecommendTask) -> None:
        self.task = task
        self.model = LinkPredictor.load(task.run, device="cpu")
        self._lister: Any = None

    def list_nodes(self, shard: int) -> Shard:
        if self._lister is None:
            self._lister = self.model.lister(self.task.between, self.task.budget)
        found = self._lister(np.arange(*self.task.lists.rows_of(shard)), self.task.longest)
        tensors = {"rows": torch.from_numpy(found.partner.astype(np.int32)), "score": torch.from_numpy(found.score)}
        write_tensors(self.task.lists.file(shard), tensors)
        return self.task.lists.described(shard)

    def score_pairs(self, shard: int) -> Shard:
        begin, end = self.task.scores.rows_of(shard)
        with safe_open(self.task.pairs_file, "pt") as file:
            pairs = file.get_slice("pairs")[begin:end]
        found = self.model.logits(pairs, output=self.task.output)
        write_tensors(self.task.scores.file(shard), {"rows": found})
        return self.task.scores.described(shard)


class ShardedEngine:
    """An `Engine` whose work is done in shards by a cluster."""

    device = torch.device("cpu")

    def __init__(self, task: RecommendTask, cluster: Cluster) -> None:
        self.task, self.cluster = task, cluster

    def lists(self, longest: int) -> Lists:
        task = self._with(longest=longest)
        self._done(task.lists, task, "list_nodes", "candidates")
        partner, score = (
            np.empty((task.nodes, longest), dtype=np.int32),
            np.empty((task.nodes, longest), dtype=np.float32),
        )
        for shard in range(task.lists.shards):
            begin, end = task.lists.rows_of(shard)
            found = load_file(task.lists.file(shard))
            partner[begin:end], score[begin:end] = found["rows"].numpy(), found["score"].numpy()
        return Lists(partner, score)  # type: ignore[arg-type]

    def pairs(self, graph: Graph, pairs: Tensor, config: BasisConfig, output: int = RANDOM) -> Iterator[Tensor]:
        """The scores of pairs of the run's graph, in their order."""
        task = self._with(pairs=len(pairs), output=output)
        write_tensors(task.pairs_file, {"pairs": pairs})
        self._done(task.scores, task, "score_pairs", "scoring candidates")
        for shard in range(task.scores.shards):
            yield load_file(task.scores.file(shard))["rows"]

    def _with(self, **changes: int) -> RecommendTask:
        return RecommendTask(**(vars(self.task) | changes))

    def _done(self, shards: ShardFolder, task: RecommendTask, method: str, about: str) -> None:
        missing = shards.missing()
        with bars() as progress:
            bar = progress.add_task(about, total=shards.rows)
            for shard in over_shards(self.cluster, RecommendWorker, task, method, missing):
                progress.advance(bar, shard.rows)


def recommend_in_shards(
    run: Path, folder: Path, cluster: Cluster, *, between: tuple[str, str] | None, budget: int | None, **asked: Any
) -> Recommendations:
    """`LinkPredictor.recommend` with its long steps done by a cluster; `folder` holds the shards until the end, and is then deleted."""
    model = LinkPredictor.load(run)
    if model.opponent is not None:
        raise InputError("--engine ray ranks by our network: a run of an opponent is ranked without it")
    task = RecommendTask(str(run.absolute()), str(folder.absolute()), model.graph.num_nodes, between, budget)
    with begun(folder, task.job):
        found = model.recommend(between=between, budget=budget, engine=ShardedEngine(task, cluster), **asked)
    remove(folder)
    return found


def _rows_of(file: Path) -> int:
    with safe_open(file, "pt") as opened:
        return int(opened.get_slice("rows").get_shape()[0])
