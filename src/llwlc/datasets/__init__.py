"""Named graphs: cora embedded in the package; Planetoid, OGB, SEAL and others through the data root."""

from __future__ import annotations

from pathlib import Path

from llwlc.datasets.embedded import cora
from llwlc.errors import InputError
from llwlc.graph import Graph


def load(name: str, *, root: str | Path | None = None) -> Graph:
    """The graph of this name.

    >>> load("cora")
    Graph(num_nodes=2708, num_edges=5278, x)
    """
    if name != "cora":
        raise InputError(f"no dataset is called {name!r}; there is cora")
    return cora()
