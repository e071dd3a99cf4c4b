"""Networks of the corpus: names, domains and links, read from the data root."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import torch

from llwlc._support.roots import data_root
from llwlc.errors import DatasetError, InputError
from llwlc.graph._graph import Graph

Use = Literal["tune", "final"]
USES: tuple[Use, ...] = get_args(Use)
TABLE = "networks.tsv"


@dataclass(frozen=True)
class Network:
    """A line of the table. `use`: choices are made on `tune`; `final` is for reported figures only."""

    name: str
    domain: str
    num_links: int
    use: str

    @property
    def group(self) -> str:
        """The domain without its details in brackets.

        >>> Network("a", "foodweb(directed)", 9, "tune").group
        'foodweb'
        """
        return self.domain.partition("(")[0]


def corpus_folder() -> Path:
    return data_root() / "corpus"


def read_networks() -> list[Network]:
    """All networks of the corpus, small ones first; only the table is read."""
    path = corpus_folder() / TABLE
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        found = [Network(row["name"], row["domain"], int(row["edges"]), row["use"]) for row in rows]
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise DatasetError(
            f"{path} is not the table of the corpus (name, domain, edges, use): set LLWLC_DATA to the data root"
        ) from error
    return sorted(found, key=lambda network: (network.num_links, network.name))


def select_networks(use: Use, names: Sequence[str] | None = None) -> list[Network]:
    """The networks of one use, or those that are named; a name of the other use is refused."""
    known = {network.name: network for network in read_networks()}
    for name in names or ():
        if name not in known:
            raise InputError(f"no network of the corpus is called {name!r}: see {corpus_folder() / TABLE}")
        if known[name].use != use:
            raise InputError(
                f"{name} is a network for {known[name].use!r}, and --use is {use!r}: name networks of one use"
            )
    return [n for n in known.values() if n.use == use and (names is None or n.name in names)]


def load_network(name: str) -> Graph:
    """The graph of a network."""
    path = corpus_folder() / f"{name}.txt.gz"
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            pairs = np.loadtxt(file, dtype=np.int64, ndmin=2)
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path} cannot be read: copy the corpus again") from error
    return Graph.from_edges(torch.from_numpy(pairs[:, :2].copy()))
