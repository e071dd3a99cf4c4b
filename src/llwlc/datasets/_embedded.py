"""Cora, inside the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import scipy.sparse

from llwlc.graph._graph import Graph


def cora(*, root: str | Path | None = None) -> Graph:
    """2708 papers, 5278 citations, 1433 words; nodes in the order of the original `cora.content`. See NOTICE for its
    origin.
    """
    with (files("llwlc.datasets") / "files" / "cora.npz").open("rb") as file, np.load(file) as arrays:
        edges, features = arrays["edges"].astype(np.int64), arrays["features"].astype(np.int64)
    ones = np.ones(len(features), dtype=np.float32)
    x = scipy.sparse.csr_array((ones, (features[:, 0], features[:, 1])), shape=(2708, 1433))
    return Graph.from_edges(edges, num_nodes=2708, x=x)
