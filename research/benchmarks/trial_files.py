"""The files of the trial of a new user (a note of November 2026): one small graph in many forms, pairs to score, what
came later, a dense graph and one of a million links.

python research/benchmarks/trial_files.py FOLDER
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa

from dense_graphs import load
from llwlc import datasets
from llwlc._io.table_writing import write_table
from llwlc.graph._edge_file import edge_table

TOWNS = ("Bern", "Rome", "Oslo", "Lima", "Kyiv")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    graph = datasets.generate("coauthor-like", scale=0.005)
    named = [f"Author {i:04d}" for i in range(graph.num_nodes)]
    pairs = [(named[u], named[v]) for u, v in graph.edges.tolist()]
    later = set(rng.choice(len(pairs), 60, replace=False).tolist())
    known = [pair for i, pair in enumerate(pairs) if i not in later]
    since = [pairs[i] for i in sorted(later)]

    def lines(rows: list[tuple[str, ...]], separator: str = ",") -> str:
        return "".join(separator.join(row) + "\n" for row in rows)

    (folder / "edges.csv").write_text("author,coauthor\n" + lines(known))
    (folder / "edges.tsv").write_text(lines(known, "\t"))
    (folder / "edges.csv.gz").write_bytes(gzip.compress(("author,coauthor\n" + lines(known)).encode()))
    write_table(folder / "edges.parquet", pa.table({"source": [u for u, _ in known], "target": [v for _, v in known]}))
    nx.write_graphml_xml(nx.Graph(known), folder / "edges.graphml")
    (folder / "since.csv").write_text(
        "source,target\n" + lines([*since, ("Newcomer", named[7]), ("Newcomer", named[8])])
    )
    (folder / "now.csv").write_text("a;b\n" + lines(pairs, ";"))

    town = rng.integers(0, 5, graph.num_nodes // 40 + 1)[np.arange(graph.num_nodes) // 40]
    rows = []
    for i, name in enumerate(named):
        papers = "" if rng.random() < 0.1 else str(int(graph.degree[i]) + int(rng.integers(0, 4)))
        since_year = "unknown" if rng.random() < 0.04 else str(int(rng.integers(1980, 2020)))
        where = "" if rng.random() < 0.05 else TOWNS[town[i]]
        rows.append((f"{i + 1}", name, papers, since_year, where))
    (folder / "authors.csv").write_text("nr,author,papers,since,town\n" + lines(rows[: -len(rows) // 50]))

    asked = [(u, v, "kept, as it is") for u, v in since[:5]] + [(named[1], "Nobody", "?"), (named[2], named[900], "?")]
    (folder / "pairs.csv").write_text(
        "id,from,to,score,why\n" + "".join(f'{i:03d},{u},{v},-,"{w}"\n' for i, (u, v, w) in enumerate(asked))
    )
    (folder / "people.txt").write_text("Newcomer\nSomebody else\n")
    write_table(folder / "dense.csv", edge_table(load("blocks-1000-100")))
    write_table(folder / "million.parquet", edge_table(load("powerlaw-200000-10")))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="new folder for the files")
    main(parser.parse_args().folder)
