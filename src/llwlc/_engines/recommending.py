"""`recommend` by many workers: nodes' candidate lists in shards of nodes, the network's scores in shards of pairs; the
steps in between run in this process.

The folder of the job keeps both kinds of shards, so that a second call continues where the first one stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from llwlc._candidates.candidate_lists import CandidateLists
from llwlc._engines.ray_pool import Cluster, run_over_shards
from llwlc._engines.shards import Shard, ShardFolder, open_job_folder
from llwlc._predictor import LinkPredictor
from llwlc._runs.format import MANIFEST
from llwlc._support.files import file_digest, remove, write_tensors
from llwlc._support.progress import make_progress
from llwlc.graph._graph import Graph
from llwlc.models._base import CANDIDATES, score_pairs
from llwlc.ranking._recommendations import Recommendations

SHARD_NODES, SHARD_PAIRS = 2_048, 50_000
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
    node: str | None = None
    pairs: int = 0
    longest: int = 0
    nodes_per_shard: int = SHARD_NODES
    pairs_per_shard: int = SHARD_PAIRS

    @property
    def lists(self) -> ShardFolder:
        return ShardFolder(Path(self.out), self.nodes, self.nodes_per_shard, ENDING, _rows_of, "lists")

    @property
    def scores(self) -> ShardFolder:
        return ShardFolder(Path(self.out), self.pairs, self.pairs_per_shard, ENDING, _rows_of, "scores")

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
            "node": self.node,  # two nodes may have equally many candidates, whose scores are not the same
            "each": [self.nodes_per_shard, self.pairs_per_shard],
        }


class RecommendWorker:
    """Opens the run, its graph mapped, and makes lists or scores."""

    def __init__(self, task: RecommendTask) -> None:
        self.task = task
        self.model = LinkPredictor.load(task.run, device="cpu")
        self._retriever: Any = None

    def list_nodes(self, shard: int) -> Shard:
        if self._retriever is None:
            self._retriever = self.model.recommender_.make_retriever(self.task.between, self.task.budget)
        lists = self._retriever(np.arange(*self.task.lists.rows_of(shard)), self.task.longest)
        tensors = {"rows": torch.from_numpy(lists.partner.astype(np.int32)), "score": torch.from_numpy(lists.score)}
        write_tensors(self.task.lists.file(shard), tensors)
        return self.task.lists.described(shard)

    def score_pairs(self, shard: int) -> Shard:
        begin, end = self.task.scores.rows_of(shard)
        with safe_open(self.task.pairs_file, "pt") as file:
            pairs = file.get_slice("pairs")[begin:end]
        scores = score_pairs(self.model.model_, self.model.graph_, pairs, CANDIDATES)
        write_tensors(self.task.scores.file(shard), {"rows": scores})
        return self.task.scores.described(shard)


class ShardedRankingEngine:
    """An `Engine` whose work is done in shards by a cluster."""

    def __init__(self, task: RecommendTask, cluster: Cluster) -> None:
        self.task, self.cluster = task, cluster

    def lists(self, longest: int) -> CandidateLists:
        task = self._with(longest=longest)
        self._run_shards(task.lists, task, "list_nodes", "candidates")
        partner, score = (
            np.empty((task.nodes, longest), dtype=np.int32),
            np.empty((task.nodes, longest), dtype=np.float32),
        )
        for shard in range(task.lists.shards):
            begin, end = task.lists.rows_of(shard)
            tensors = load_file(task.lists.file(shard))
            partner[begin:end], score[begin:end] = tensors["rows"].numpy(), tensors["score"].numpy()
        return CandidateLists(partner, score)  # type: ignore[arg-type]

    def score_candidates(self, graph: Graph, pairs: Tensor) -> Tensor:
        """The scores of candidates of the run's graph, in their order."""
        task = self._with(pairs=len(pairs))
        write_tensors(task.pairs_file, {"pairs": pairs})
        self._run_shards(task.scores, task, "score_pairs", "scoring candidates")
        parts = [load_file(task.scores.file(shard))["rows"] for shard in range(task.scores.shards)]
        return torch.cat([torch.zeros(0, dtype=torch.float64), *parts])

    def _with(self, **changes: int) -> RecommendTask:
        return RecommendTask(**(vars(self.task) | changes))

    def _run_shards(self, shards: ShardFolder, task: RecommendTask, method: str, about: str) -> None:
        missing = shards.missing()
        with make_progress() as progress:
            bar = progress.add_task(about, total=shards.rows)
            for shard in run_over_shards(self.cluster, RecommendWorker, task, method, missing):
                progress.advance(bar, shard.rows)


def recommend_in_shards(
    run: Path,
    folder: Path,
    cluster: Cluster,
    *,
    between: tuple[str, str] | None,
    budget: int | None,
    node: str | None,
    **options: Any,
) -> Recommendations:
    """`LinkPredictor.recommend` with its long steps done by a cluster; `folder` holds the shards until the end, and is
    then deleted.
    """
    model = LinkPredictor.load(run)
    task = RecommendTask(str(run.absolute()), str(folder.absolute()), model.graph_.num_nodes, between, budget, node)
    with open_job_folder(folder, task.job):
        recommendations = model.recommend(
            between=between, budget=budget, node=node, engine=ShardedRankingEngine(task, cluster), **options
        )
    remove(folder)
    return recommendations


def _rows_of(file: Path) -> int:
    with safe_open(file, "pt") as opened:
        return int(opened.get_slice("rows").get_shape()[0])
