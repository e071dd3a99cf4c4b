"""The networks of the corpus (`corpus/networks.tsv` in the data root) and named datasets, and their links, some of them
hidden.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from llwlc import datasets
from llwlc._support.roots import data_root
from llwlc.errors import InputError
from llwlc.graph._graph import Graph

DATASETS = "datasets"
USES = ("tune", "final", DATASETS)
NAMED = ("usair", "celegans", "ns", "vessel-sample", "citeseer", "cora", "power", "pubmed", "coauthor-cs")
"""The named datasets with links that no generator made, small ones first; ogbl-ddi, of a million links, is left out."""
Pairs = NDArray[np.int64]


class SourceNetwork(NamedTuple):
    """A row of `networks.tsv`, or a named dataset, whose `use` is `DATASETS`."""

    name: str
    domain: str
    nodes: int
    edges: int
    use: str


def find_networks(uses: Sequence[str], names: Sequence[str] | None, least: int) -> list[SourceNetwork]:
    """The networks of these uses with at least `least` links; a name of another use is refused, so that no choice
    sees it.
    """
    networks = _read_corpus() if set(uses) - {DATASETS} else []
    networks += _read_datasets() if DATASETS in uses else []
    found = [network for network in networks if network.use in uses and network.edges >= least]
    if names is None:
        return found
    unknown = set(names) - {network.name for network in found}
    if unknown:
        raise InputError(
            f"no network of use {' or '.join(uses)} with {least} links or more is called {sorted(unknown)[0]!r}"
        )
    return [network for network in found if network.name in names]


def _read_datasets() -> list[SourceNetwork]:
    about = [datasets.info(name) for name in NAMED]
    return [SourceNetwork(each.name, DATASETS, each.nodes, each.edges, DATASETS) for each in about]


def _read_corpus() -> list[SourceNetwork]:
    file = data_root() / "corpus" / "networks.tsv"
    if not file.exists():
        raise InputError(f"{file} does not exist: point LLWLC_DATA at a folder that has the corpus")
    with file.open(newline="") as rows:
        return [
            SourceNetwork(row["name"], row["domain"], int(row["nodes"]), int(row["edges"]), row["use"])
            for row in csv.DictReader(rows, delimiter="\t")
        ]


def read_graph(network: SourceNetwork) -> Graph:
    """The whole network, without duplicates and self-loops, with its features if it has any."""
    if network.use == DATASETS:
        return datasets.load(network.name)
    with gzip.open(data_root() / "corpus" / f"{network.name}.txt.gz", "rt") as lines:
        pairs = np.loadtxt(lines, dtype=np.int64, usecols=(0, 1), ndmin=2)
    return Graph.from_edges(torch.from_numpy(pairs))


def hide_links(links: Pairs, name: str, share: float, hiding: int) -> tuple[Pairs, Pairs]:
    """The links that stay in the file, in their order, and the share of them that is removed at random.

    >>> known, hidden = hide_links(np.arange(40).reshape(20, 2), "ring", 0.1, 0)
    >>> len(known), len(hidden)
    (18, 2)
    """
    rng = np.random.default_rng([zlib.crc32(name.encode()), round(1000 * share), hiding])
    order = rng.permutation(len(links))
    count = round(share * len(links))
    return links[np.sort(order[count:])], links[np.sort(order[:count])]
