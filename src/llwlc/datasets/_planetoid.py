"""The citation graphs of Planetoid, from its raw `ind.*` files."""

from __future__ import annotations

import pickle
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from llwlc._support.roots import locate
from llwlc._support.text import describe_error
from llwlc.errors import DatasetError
from llwlc.graph._graph import Graph

PARTS = ("tx", "allx", "graph", "test.index")


def _dtype(name: str, align: int, copy: int) -> np.dtype[Any]:
    """numpy's type of that name. The files date from Python 2: they carry integers where numpy now wants booleans, and
    warns of others.
    """
    return np.dtype(name, align=bool(align), copy=bool(copy))


# the only classes that these files may name; scipy and numpy have moved theirs since
SAFE_CLASSES = {
    "collections.defaultdict": defaultdict,
    "__builtin__.list": list,
    "numpy.ndarray": np.ndarray,
    "numpy.dtype": _dtype,
    # numpy's private constructor of arrays, found through an array
    "numpy.core.multiarray._reconstruct": np.empty(0).__reduce__()[0],
    "scipy.sparse.csr.csr_matrix": scipy.sparse.csr_matrix,
}


def planetoid(name: str, *, root: str | Path | None = None) -> Graph:
    """`Cora`, `CiteSeer` or `PubMed`, numbered as in PyG's `Planetoid`; features are sparse."""
    prefix = f"ind.{name.lower()}"
    files = [f"{prefix}.{part}" for part in PARTS]
    folder = locate(name, f"planetoid/{name}/raw", files, root=root, fetch=lambda target: _fetch(name, target))
    tx, allx, graph = (_unpickle(folder / f"{prefix}.{part}") for part in PARTS[:3])
    test = np.loadtxt(folder / f"{prefix}.test.index", dtype=np.int64)
    # row i of tx is node test[i]. Numbers that the index skips (15 in CiteSeer) are nodes too, with all features zero
    labelled, unknown = scipy.sparse.coo_array(allx), scipy.sparse.coo_array(tx)
    row = np.concatenate([labelled.row, test[unknown.row]])
    col = np.concatenate([labelled.col, unknown.col])
    data = np.concatenate([labelled.data, unknown.data]).astype(np.float32)
    n = int(test.max()) + 1
    x = scipy.sparse.csr_array((data, (row, col)), shape=(n, labelled.shape[1]))
    source = np.repeat(np.fromiter(graph, np.int64), [len(near) for near in graph.values()])
    target = np.fromiter((v for near in graph.values() for v in near), np.int64)
    return Graph.from_edges(np.stack([source, target], 1), num_nodes=n, x=x)


def _fetch(name: str, target: Path) -> None:
    from torch_geometric.datasets import Planetoid

    Planetoid(str(target), name)
    for file in (target / name / "raw").iterdir():
        shutil.move(file, target / file.name)
    shutil.rmtree(target / name)


class _Unpickler(pickle.Unpickler):
    """Reads arrays, sparse matrices, lists and dictionaries, and runs nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}" not in SAFE_CLASSES:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no Planetoid file does")
        return SAFE_CLASSES[f"{module}.{name}"]


def _unpickle(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            return _Unpickler(file, encoding="latin1").load()
    except Exception as error:
        raise DatasetError(f"{path} is not a valid Planetoid file ({describe_error(error)}): fetch it again") from error
