"""The networks of the corpus (`corpus/networks.tsv` in the data root), and their links, some of them hidden."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from llwlc._support.roots import data_root
from llwlc.errors import InputError

USES = ("tune", "final")
Pairs = NDArray[np.int64]


class SourceNetwork(NamedTuple):
    """A row of `networks.tsv`."""

    name: str
    domain: str
    nodes: int
    edges: int
    use: str


def find_networks(use: str, names: Sequence[str] | None, least: int) -> list[SourceNetwork]:
    """The networks of one use with at least `least` links; a name of another use is refused, so that no choice
    sees it.
    """
    file = data_root() / "corpus" / "networks.tsv"
    if not file.exists():
        raise InputError(f"{file} does not exist: point LLWLC_DATA at a folder that has the corpus")
    with file.open(newline="") as rows:
        networks = [
            SourceNetwork(row["name"], row["domain"], int(row["nodes"]), int(row["edges"]), row["use"])
            for row in csv.DictReader(rows, delimiter="\t")
        ]
    found = [network for network in networks if network.use == use and network.edges >= least]
    if names is None:
        return found
    unknown = set(names) - {network.name for network in found}
    if unknown:
        raise InputError(f"no network of use {use!r} with {least} links or more is called {sorted(unknown)[0]!r}")
    return [network for network in found if network.name in names]


def read_links(network: SourceNetwork) -> Pairs:
    """The links of a network `[m, 2]`, as node numbers, without duplicates and self-loops."""
    with gzip.open(data_root() / "corpus" / f"{network.name}.txt.gz", "rt") as lines:
        pairs = np.loadtxt(lines, dtype=np.int64, usecols=(0, 1), ndmin=2)
    links: Pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    return links


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
