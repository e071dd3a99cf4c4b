"""What graphs larger than memory and jobs larger than one process cost: the measurements of research/notes/2026-11-19-capacity.md.

    python research/benchmarks/capacity.py make 22e6 5e6 big.csv           # a generated edge list: rows, nodes at most
    python research/benchmarks/capacity.py pack big.csv big                # time, bytes, anonymous memory
    python research/benchmarks/capacity.py open big
    python research/benchmarks/capacity.py fit big run 25                  # on a packed graph, within 25 minutes
    python research/benchmarks/capacity.py node run user17                 # the missing links of one node
    python research/benchmarks/capacity.py all run                         # the hundred likeliest of the graph
    python research/benchmarks/capacity.py score run pairs.parquet big     # on a packed graph, by one process
    python research/benchmarks/capacity.py pairs big 100000 pairs.parquet  # half of them two steps apart
    python research/benchmarks/capacity.py ray run pairs.parquet           # one process, one worker, two workers, in
    one run python research/benchmarks/capacity.py ranks cora 1 2                  # training by so many processes

One line a measurement in research/results/capacity.jsonl, with the machine and its load. Anonymous memory (RssAnon) is
that of a process and its children, looked at every 50 ms.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

# a script finds modules beside itself only
sys.path.insert(0, str(Path(__file__).parents[2]))

RESULTS = Path(__file__).parents[1] / "results" / "capacity.jsonl"
LLWLC = [sys.executable, "-m", "llwlc"]


def write_edges(rows: int, nodes: int, path: Path) -> None:
    """Links of a skewed degree, seven in ten to a node near in a ring, so that neighbours are shared; names in no
    order.
    """
    import pyarrow as pa
    import pyarrow.csv

    rng, name = np.random.default_rng(0), np.random.default_rng(1).permutation(nodes)
    with path.open("wb") as file:
        file.write(b"source,target\n")
        for done in range(0, rows, 1 << 20):
            count = min(1 << 20, rows - done)
            u = (nodes * rng.random(count) ** 2).astype(np.int64)
            v = (u + 1 + (nodes * 0.0002 * rng.random(count) ** 2).astype(np.int64)) % nodes
            far = rng.random(count) < 0.3
            v[far] = (nodes * rng.random(int(far.sum())) ** 2).astype(np.int64)
            table = pa.table({"s": [f"user{x}" for x in name[u].tolist()], "t": [f"user{x}" for x in name[v].tolist()]})
            pa.csv.write_csv(table, file, pa.csv.WriteOptions(include_header=False, quoting_style="none"))


def write_pairs(folder: Path, count: int, path: Path) -> None:
    """Pairs of a packed graph, every other one a neighbour of a neighbour."""
    import pyarrow as pa
    import pyarrow.parquet

    from llwlc import Graph

    graph, rng = Graph.open(folder, verify=False), np.random.default_rng(5)
    n, indptr, indices = graph.num_nodes, graph.indptr.numpy(), graph.indices.numpy()
    u = rng.integers(0, n, count)
    v = (u + 1 + rng.integers(0, n - 2, count)) % n

    def neighbour(node: int) -> int:
        begin, end = indptr[node], indptr[node + 1]
        return int(indices[rng.integers(begin, end)]) if end > begin else int(node)

    for k in range(0, count, 2):
        near = neighbour(neighbour(u[k]))
        v[k] = v[k] if near == u[k] else near
    pa.parquet.write_table(pa.table({"source": [graph.name(i) for i in u], "target": [graph.name(i) for i in v]}), path)


def watch_command(command: list[str], **options: Any) -> dict[str, Any]:
    """Seconds and the most anonymous memory of a command and its children."""
    begin, most = time.perf_counter(), 0
    process = subprocess.Popen(command, **options)
    while process.poll() is None:
        most = max(most, sum(_anonymous(pid) for pid in _family(process.pid)))
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return {"seconds": round(time.perf_counter() - begin, 1), "anonymous_bytes": most}


def _anonymous(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")), 0)


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(one for child in children for one in _family(int(child)))]


def note(what: str, **found: Any) -> None:
    from research.bench.clock import describe_machine

    row = {"what": what, **found, "load": round(os.getloadavg()[0], 1), "machine": describe_machine()}
    with RESULTS.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(json.dumps(row))


def pack(path: Path, folder: Path) -> None:
    found = watch_command([*LLWLC, "data", "pack", str(path), "-o", str(folder)])
    size = sum(file.stat().st_size for file in folder.iterdir())
    report = json.loads((folder / "manifest.json").read_text())["report"]
    note(
        "pack",
        rows=report["rows"],
        nodes=report["nodes"],
        edges=report["edges"],
        read_bytes=path.stat().st_size,
        written_bytes=size,
        **found,
    )


def open_folder(folder: Path) -> None:
    for verify in (True, False):
        code = (
            f"from llwlc import Graph; import time; t = time.perf_counter(); g = Graph.open({str(folder)!r},"
            f" verify={verify}); print(g, time.perf_counter() - t)"
        )
        note("open", folder=folder.name, verify=verify, **watch_command([sys.executable, "-c", code]))


def fit(folder: Path, run: Path, minutes: str) -> None:
    found = watch_command([*LLWLC, "fit", str(folder), "--out", str(run), "--minutes", minutes])
    size = sum(file.stat().st_size for file in run.rglob("*") if file.is_file() and file.stat().st_nlink == 1)
    metrics = json.loads((run / "metrics.json").read_text())
    told = {"minutes": float(minutes), "written_bytes": size, "auc": metrics["auc"], "stages": metrics["stages"]}
    note("fit on a packed graph", folder=folder.name, **told, **found)


def recommend(run: Path, node: str | None) -> None:
    asked = ["--top", "100"] if node is None else ["--node", node]
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "top.csv"
        found = watch_command([*LLWLC, "recommend", str(run), *asked, "-o", str(out)])
        links = len(out.read_text().splitlines()) - 1
    note("recommend on a packed graph", run=run.name, of="all nodes" if node is None else node, links=links, **found)


def score(run: Path, file: Path, folder: Path | None = None) -> None:
    """On the run's own graph, or on another packed one."""
    import pyarrow.parquet

    other = [] if folder is None else ["--graph", str(folder)]
    with tempfile.TemporaryDirectory() as place:
        out = str(Path(place) / "scores.parquet")
        found = watch_command([*LLWLC, "score", str(run), str(file), "-o", out, *other])
    graph = "the run's" if folder is None else folder.name
    note("score on a packed graph", pairs=pyarrow.parquet.read_metadata(file).num_rows, folder=graph, **found)


def on_ray(run: Path, file: Path) -> None:
    """The same pairs by one process, one worker and two, one after the other, without the start of Python: wall time,
    and processor time, which other users of the machine disturb less; results compared bit by bit."""
    import pyarrow as pa
    import pyarrow.parquet
    import torch

    from llwlc._engines.ray_pool import Cluster
    from llwlc._engines.scoring import ScoreWorker, make_score_task, score_in_shards
    from llwlc._predictor import LinkPredictor

    class TimedWorker(ScoreWorker):
        """Writes down when a shard was begun and done, and the processor time that it took."""

        def score(self, shard: int) -> Any:
            wall, processor = time.time(), time.process_time()
            found = super().score(shard)
            row = [shard, wall, time.time(), time.process_time() - processor]
            Path(f"{self.shards.path}-{shard}.json").write_text(json.dumps(row))
            return found

    torch.set_num_threads(1)
    model, table = LinkPredictor.load(run, device="cpu"), pyarrow.parquet.read_table(file)
    model.score_table(table.slice(0, 10))  # compiles
    wall, processor = time.perf_counter(), time.process_time()
    first = model.score_table(table).table["score"].to_numpy()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    rows = table.num_rows
    note("score", engine="local", pairs=rows, pairs_a_second=rows / wall, pairs_a_processor_second=rows / processor)
    with tempfile.TemporaryDirectory() as place:
        for workers in (1, 2):
            out = Path(place) / f"by_{workers}"
            task = replace(
                make_score_task(run, file, out, prior=0.5, graph=None, source=None, target=None), each=10_000
            )
            score_in_shards(task, Cluster(workers=workers), TimedWorker)
            found = pa.concat_tables([pa.parquet.read_table(part) for part in sorted(out.glob("part-*.parquet"))])
            times = [json.loads(part.read_text()) for part in Path(place).glob(f"by_{workers}-*.json")]
            wall = max(row[2] for row in times) - min(row[1] for row in times)
            told = {"pairs_a_second": rows / wall, "pairs_a_processor_second": rows / sum(row[3] for row in times)}
            same = bool((found["score"].to_numpy() == first).all())
            note(
                "score",
                engine="ray",
                workers=workers,
                pairs=rows,
                shards=len(times),
                rows=found.num_rows,
                same_bits=same,
                **told,
            )


RANKED = """
import json, os, sys, time
import torch
from llwlc import datasets, splits, Graph
from llwlc._support.devices import pick_device
from llwlc.models._llwlc.worker import train_worker
from llwlc.models._llwlc.training import ValidationLinks, train_network
from llwlc.training._resources import Resources
from llwlc.training._node_features import NodeFeatures
from llwlc.training._compact_features import fit_compactor
from llwlc.models._llwlc.presets import find_preset
from llwlc.training._ranks import Ranks
from llwlc.models._llwlc.setup import prepare_training
from safetensors.torch import save_file

name, epochs, out, batch = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
device = pick_device(os.environ.get("W20_DEVICE", "cpu"))
ranks = Ranks.join(device)
graph = Graph.open(name) if os.path.isdir(name) else Graph.read(name) if os.path.isfile(name) else datasets.load(name)
split = splits.make(graph, protocol="random", seed=0)
chosen = find_preset("anchored", epochs=epochs, ranking=False, copies=0, fraction=min(1.0, 5000 / len(split.train_pos))).changed(seed=0)
chosen = chosen.resolve_defaults(len(split.train_pos))
chosen = chosen.changed(batch_size=batch) if batch else chosen
compactor = None if graph.x is None else fit_compactor(graph.x, chosen.features)
features = NodeFeatures.of(graph.x, compactor)
begin = time.perf_counter()
ready = prepare_training(split, chosen, features, None, resources=Resources(torch.device(device), memory_budget=2 << 30, ranks=ranks))
links = ready.links.training(0)
encoded = time.perf_counter() - begin
if ranks.first:
    parts = [ready.links.part(part) for part in ("valid_pos", "valid_neg")]
    clock = []
    begin = time.perf_counter()
    done = train_network(ready.net, ready.links.training, ValidationLinks(*parts), ready.preset.train, features=features, ranks=ranks, on_epoch=lambda record: clock.append(time.perf_counter()))
    seconds = clock[-1] - clock[0]
    save_file(ready.net.state_dict(), out + ".safetensors")
    found = {"links": len(links.all_sizes), "encoding_seconds": encoded, "epoch_links": 2 * links.positives}
    found |= {"epoch_seconds": seconds / (epochs - 1), "valid_auc": done.history[-1].valid_auc}
    json.dump(found, open(out + ".json", "w"))
else:
    train_worker(ready.net, ready.links.training, ready.preset.train, features=features, ranks=ranks)
ranks.leave()
"""


def ranks(name: str, counts: list[int], epochs: int = 4, batch: int = 0) -> None:
    """Bases and epochs of at most 5,000 training links by so many processes of one thread each; `batch` 0 is the
    preset's.
    """
    from safetensors.torch import load_file

    first: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        script = Path(place) / "ranked.py"
        script.write_text(RANKED)
        for count in counts:
            out = str(Path(place) / f"by_{count}")
            launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)]
            found = watch_command(
                [sys.executable, *launcher, str(script), name, str(epochs), out, str(batch)],
                env=os.environ | {"OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"},
            )
            weights = load_file(f"{out}.safetensors")
            first = first or weights
            far = max(float((weights[key] - first[key]).abs().max()) for key in weights)
            told = json.loads(Path(f"{out}.json").read_text())
            note(
                "train",
                graph=name,
                ranks=count,
                batch=batch or "preset",
                epochs=epochs,
                farthest_weight=far,
                **told,
                **found,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "what", choices=("make", "pairs", "pack", "open", "fit", "node", "all", "score", "ray", "ranks")
    )
    parser.add_argument("given", nargs="*", help="paths and numbers, as above")
    parser.add_argument("--batch", type=int, default=0, help="of ranks: links of a step, 0 for the preset's")
    asked = parser.parse_args()
    given, paths = asked.given, [Path(word) for word in asked.given]
    match asked.what:
        case "make":
            write_edges(int(float(given[0])), int(float(given[1])), paths[2])
        case "pairs":
            write_pairs(paths[0], int(given[1]), paths[2])
        case "pack":
            pack(*paths)
        case "open":
            open_folder(*paths)
        case "fit":
            fit(paths[0], paths[1], given[2])
        case "node":
            recommend(paths[0], given[1])
        case "all":
            recommend(paths[0], None)
        case "score":
            score(*paths)
        case "ray":
            on_ray(*paths)
        case "ranks":
            ranks(given[0], [int(count) for count in given[1:]], batch=asked.batch)


if __name__ == "__main__":
    main()
