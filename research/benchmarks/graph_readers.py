"""Our readers of graph formats beside those of networkx (with defusedxml) and scipy: time, memory, and what altered
files do.

python research/benchmarks/graph_readers.py --files 400

Needs `defusedxml`. Each reader runs in processes of its own, since some altered files end the process.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

ENDINGS = {"graphml": ".graphml", "gexf": ".gexf", "matrix-market": ".mtx", "graph6": ".g6"}
SECONDS = 20
"""Time that an altered file of some kilobytes may take."""
MEGABYTES = 500
"""Memory, beyond the imports, that it may take."""


def main() -> None:
    """Prints one line for each format and reader."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=400, help="altered files of each format")
    parser.add_argument("--edges", type=int, default=200_000)
    parser.add_argument(
        "--read", nargs=2, metavar=("FORMAT", "READER"), help="read the files that come by standard input"
    )
    given = parser.parse_args()
    if given.read:
        read_all(READERS[tuple(given.read)])
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_legitimate(folder, given.edges)
        print("| format | reader | seconds | MB | " + " | ".join(OUTCOMES) + " | most MB |")
        for kind, reader in READERS:
            (row,) = run(kind, reader, [folder / f"good{ENDINGS[kind]}"])
            found = run(kind, reader, altered(folder, kind, given.files))
            counts = Counter(line["what"] for line in found)
            numbers = " | ".join(str(counts[what]) for what in OUTCOMES)
            odd = Counter(line["error"] for line in found if line["what"] == "traceback").most_common(4)
            most = max(line["mb"] for line in found)
            print(
                f"| {kind} | {reader} | {row['seconds']:.2f} | {row['mb']:.0f} | {numbers} | {most:.0f} |"
                + (f" {row['what']} {row['error']}" if row["what"] != "read" else "")
                + (f" {odd}" if odd else ""),
                flush=True,
            )


OUTCOMES = ("read", "refused", "traceback", "crash", "hang")


def write_legitimate(folder: Path, edges: int) -> None:
    """One graph in each format: XML and Matrix Market as networkx and scipy write them, graph6 of as many edges among
    fewer nodes.
    """
    import networkx as nx
    import scipy.io
    import scipy.sparse

    rng = np.random.default_rng(0)
    ends = rng.integers(0, 50_000, (edges, 2))
    graph = nx.Graph()
    graph.add_weighted_edges_from((f"n{u}", f"n{v}", 1.5) for u, v in ends.tolist() if u != v)
    nx.write_graphml(graph, folder / "good.graphml")
    nx.write_gexf(graph, folder / "good.gexf")
    scipy.io.mmwrite(
        folder / "good.mtx", scipy.sparse.coo_array((rng.random(edges) + 0.1, ends.T), shape=(50_000, 50_000))
    )
    nx.write_graph6(nx.gnm_random_graph(2_000, edges, seed=0), folder / "good.g6")


def altered(folder: Path, kind: str, count: int) -> list[Path]:
    """Files by the fuzzing targets of the tests, odd from the start, each altered once more."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
    from fuzz.graph_files import MAKERS
    from fuzz.mutate import mutated_bytes

    make = next(maker for maker, ending in MAKERS.items() if ending == ENDINGS[kind])
    paths = []
    for i in range(count):
        rng = np.random.default_rng([33, *kind.encode(), i])
        paths.append(folder / f"{kind}-{i}{ENDINGS[kind]}")
        paths[-1].write_bytes(mutated_bytes(make(rng), rng, int(rng.integers(3))))
    corpus = Path(__file__).parents[2] / "tests" / "fuzz" / "corpus"
    return [*paths, *(path for path in corpus.iterdir() if path.suffix == ENDINGS[kind])]


def run(kind: str, reader: str, paths: list[Path]) -> list[dict]:
    """What becomes of each file; after a crash or a hang the rest goes to another process."""
    found: list[dict] = []
    while len(found) < len(paths):
        left = paths[len(found) :]
        child = subprocess.run(
            [sys.executable, __file__, "--read", kind, reader],
            input="\n".join(map(str, left)),
            capture_output=True,
            text=True,
            check=False,
        )
        lines = [json.loads(line) for line in child.stdout.splitlines()]
        found += lines
        if child.returncode and len(lines) < len(left):
            what = "hang" if child.returncode == -signal.SIGALRM else "crash"
            found.append({"what": what, "error": str(child.returncode), "seconds": 0.0, "mb": 0.0})
    return found


def read_all(read: Callable[[Path], object]) -> None:
    """Prints a line of JSON for each file named on standard input."""
    from llwlc.errors import InputError

    warnings.simplefilter("ignore")
    paths = [Path(line) for line in sys.stdin.read().splitlines()]
    warm_up()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # a file of this size is to be read, however long it takes
    limit = SECONDS if len(paths) > 1 or paths[0].stat().st_size < 1 << 20 else 0
    for path in paths:
        start, what, error = time.perf_counter(), "read", ""
        signal.alarm(limit)
        try:
            read(path)
        except InputError:
            what = "refused"
        except Exception as problem:
            error = type(problem).__name__
            what = "refused" if error in CLEAN else "traceback"
        signal.alarm(0)
        peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        line = {"what": what, "error": error, "seconds": time.perf_counter() - start, "mb": peak}
        print(json.dumps(line), flush=True)


CLEAN = ("ParseError", "NetworkXError", "DTDForbidden", "EntitiesForbidden", "ExternalReferenceForbidden", "ValueError")
"""Errors that a caller of these libraries must expect, and can turn into a message."""


def warm_up() -> None:
    import networkx  # noqa: F401
    import scipy.io  # noqa: F401

    from llwlc.graph._graph import Graph

    Graph.read([("a", "b"), ("b", "c")])


def ours(path: Path) -> object:
    from llwlc.graph._graph import Graph

    return Graph.read(path)


def by_networkx(function: str) -> Callable[[Path], object]:
    """networkx's reader, its XML parser replaced by the one of defusedxml, and the conversion to our graph."""

    def read(path: Path) -> object:
        import defusedxml
        import networkx

        from llwlc.graph._graph import Graph

        defusedxml.defuse_stdlib()
        return Graph.from_networkx(getattr(networkx, function)(path))

    return read


def by_scipy(path: Path) -> object:
    import scipy.io

    from llwlc.graph._graph import Graph

    return Graph.from_scipy(scipy.io.mmread(path))


READERS: dict[tuple[str, ...], Callable[[Path], object]] = {
    ("graphml", "ours"): ours,
    ("graphml", "networkx"): by_networkx("read_graphml"),
    ("gexf", "ours"): ours,
    ("gexf", "networkx"): by_networkx("read_gexf"),
    ("matrix-market", "ours"): ours,
    ("matrix-market", "scipy"): by_scipy,
    ("graph6", "ours"): ours,
    ("graph6", "networkx"): by_networkx("read_graph6"),
}


if __name__ == "__main__":
    main()
