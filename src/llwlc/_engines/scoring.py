"""Pairs of a file scored by many workers, into a folder of shards: the scores equal those of `LinkPredictor.score`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from llwlc._engines.pair_shards import PairShards
from llwlc._engines.ray_pool import Cluster, run_over_shards
from llwlc._engines.shards import Shard, ShardFolder, open_job_folder
from llwlc._predictor import LinkPredictor
from llwlc._runs.format import MANIFEST
from llwlc._support.files import file_digest, open_atomic_file
from llwlc._support.progress import make_progress
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.graph._packed_folder import MANIFEST as PACKED
from llwlc.graph._packed_folder import is_packed
from llwlc.training._calibration import log_odds

SHARD_PAIRS = 50_000
"""Number of pairs in a shard: at most a minute of work, so that little is lost with a worker."""


@dataclass(frozen=True)
class ScoreTask:
    """All that a worker needs to know, as text and numbers."""

    run: str
    pairs: str
    out: str
    rows: int
    prior: float = 0.5
    graph: str | None = None
    source: str | None = None
    target: str | None = None
    unknown: str = "error"
    each: int = SHARD_PAIRS

    @property
    def shards(self) -> ShardFolder:
        return ShardFolder(Path(self.out), self.rows, self.each, ".parquet", _rows_of)

    @property
    def job(self) -> dict[str, Any]:
        """Everything that the scores depend on; files by their contents, not by their names."""
        options: dict[str, Any] = {
            name: value
            for name, value in asdict(self).items()
            if name in ("rows", "prior", "source", "target", "unknown", "each")
        }
        options |= {
            "run": file_digest(Path(self.run) / MANIFEST),
            "pairs": file_digest(Path(self.pairs)),
            "task": "score",
        }
        return options | {"graph": None if self.graph is None else file_digest(Path(self.graph) / PACKED)}


class ScoreWorker:
    """Opens the run and the graph, mapped, and scores shards of pairs."""

    def __init__(self, task: ScoreTask) -> None:
        self.shards, self.prior, self.unknown = task.shards, task.prior, task.unknown
        self.model = LinkPredictor.load(task.run, device="cpu")
        self.other = None if task.graph is None else Graph.open(task.graph, verify=False)  # the driver has verified it
        self.pairs = PairShards(Path(task.pairs), task.source, task.target)

    def score(self, shard: int) -> Shard:
        """Writes the shard, atomically."""
        begin, end = self.shards.rows_of(shard)
        source, target = self.pairs.ends
        try:
            scored = self.model.score_table(
                self.pairs.read(begin, end),
                prior=self.prior,
                graph=self.other,
                source=source,
                target=target,
                unknown=self.unknown,
            )
        except InputError as error:
            raise InputError(f"{self.pairs.path}, rows counted from row {begin + 1:,}: {error}") from error
        with open_atomic_file(self.shards.file(shard)) as partial:
            pa.parquet.write_table(scored.table, partial)
        return self.shards.described(shard)


def score_in_shards(task: ScoreTask, cluster: Cluster, worker: type[ScoreWorker] = ScoreWorker) -> Mapping[str, int]:
    """Scores the missing shards of a task; returns how many pairs there are, and how many were scored by this call."""
    log_odds(task.prior)
    with open_job_folder(Path(task.out), task.job) as finished:
        shards = task.shards
        missing = shards.missing()
        scored = []
        with make_progress() as progress:
            bar = progress.add_task(
                "scoring pairs", total=task.rows, completed=task.rows - sum(_size(shards, k) for k in missing)
            )
            for shard in run_over_shards(cluster, worker, task, "score", missing):
                scored.append(shard)
                progress.advance(bar, shard.rows)
        if missing or not finished:
            shards.finish(task.job, scored)
        return {"pairs": task.rows, "scored": sum(shard.rows for shard in scored)}


def make_score_task(
    run: Path,
    pairs: Path,
    out: Path,
    *,
    prior: float,
    graph: Path | None,
    source: str | None,
    target: str | None,
    unknown: str = "error",
) -> ScoreTask:
    """The task, after checks of everything that would fail in every worker."""
    if unknown not in ("error", "blank"):
        raise InputError(f"with --engine ray rows keep their order: --unknown is error or blank, got {unknown!r}")
    if not pairs.is_file():
        raise InputError(f"there is no file {pairs}: check the name and the folder")
    with pairs.open("rb") as file:
        if file.read(4) != b"PAR1":
            raise InputError(
                f"{pairs} is not a Parquet file: workers read ranges of rows, which only Parquet supports. Write the"
                " pairs as Parquet, or leave --engine out"
            )
    if out.suffix or (out.exists() and not out.is_dir()):
        raise InputError(f"with --engine ray, -o names a folder for the shards, not a file: {out}")
    model = LinkPredictor.load(run)
    if graph is not None:
        if not is_packed(graph):
            raise InputError(
                f"with --engine ray every worker maps the graph: pack it first, with llwlc data pack {graph} -o FOLDER"
            )
        model.check_graph(Graph.open(graph))
    shards = PairShards(pairs, source, target)
    if not shards.rows:
        raise InputError(f"{pairs} has no pairs: give one pair a row")
    shards.ends  # noqa: B018 (refuses columns that are not there)
    where = None if graph is None else str(graph.absolute())
    return ScoreTask(
        str(run.absolute()),
        str(pairs.absolute()),
        str(out.absolute()),
        shards.rows,
        prior,
        where,
        source,
        target,
        unknown,
    )


def _size(shards: ShardFolder, shard: int) -> int:
    begin, end = shards.rows_of(shard)
    return end - begin


def _rows_of(file: Path) -> int:
    return int(pa.parquet.read_metadata(file).num_rows)
