"""Graphs in files of their own: SEAL's, the co-authorship graph and the vessel sample."""

from __future__ import annotations

import inspect
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import scipy.io
import scipy.sparse
import torch
from torch import Tensor

from llwlc._support.roots import locate
from llwlc._support.text import describe_error
from llwlc.errors import DatasetError
from llwlc.graph._graph import Graph

SEAL_FOLDERS = {"USAir": "Python", "Celegans": "Python", "NS": "MATLAB", "Power": "Python"}
GITHUB = "https://raw.githubusercontent.com"
VESSEL_FOLDERS = {"example_nodes.csv": "data", "example_edges.csv": "sample_data"}


def seal(name: str, *, root: str | Path | None = None) -> Graph:
    """`USAir`, `Celegans`, `NS` or `Power`: the adjacency matrix `net` of SEAL's `.mat` file; no features, no
    weights.
    """

    def fetch(target: Path) -> None:
        _download(f"{GITHUB}/muhanzhang/SEAL/master/{SEAL_FOLDERS[name]}/data/{name}.mat", target)

    path = locate(name, "seal", [f"{name}.mat"], root=root, fetch=fetch) / f"{name}.mat"
    # scipy 1.18 warns unless it is told which of its classes to give
    given: Any = {"spmatrix": False} if "spmatrix" in inspect.signature(scipy.io.loadmat).parameters else {}
    try:
        net = scipy.sparse.coo_array(scipy.io.loadmat(path, **given)["net"])
    except Exception as error:
        raise DatasetError(
            f"{path} is not a readable .mat file with a matrix `net` ({describe_error(error)}): fetch it again"
        ) from error
    return Graph.from_edges(np.stack([net.row, net.col], 1), num_nodes=net.shape[0])


def coauthor_cs(*, root: str | Path | None = None) -> Graph:
    """18,333 computer scientists, 81,894 co-authorships, 6805 keywords of their papers (counts, sparse)."""
    path = locate("coauthor-cs", "attributed", ["coauthor_cs.npz"], root=root, fetch=_fetch_coauthor)
    try:
        with np.load(path / "coauthor_cs.npz") as file:
            x = scipy.sparse.csr_array(
                (file["x_data"].astype(np.float32), file["x_indices"], file["x_indptr"]), shape=tuple(file["x_shape"])
            )
            return Graph.from_edges(file["edges"], num_nodes=x.shape[0], x=x)
    except Exception as error:
        raise DatasetError(
            f"{path / 'coauthor_cs.npz'} cannot be read ({describe_error(error)}): fetch it again"
        ) from error


def vessel_sample(*, root: str | Path | None = None) -> Graph:
    """One real sample of a brain's blood vessels: bifurcations with their coordinates, normalised; vessels as edges.

    Of its 3062 vessels, 13 are self-loops and 14 join the same two nodes as another one.
    """

    def fetch(target: Path) -> None:
        for file, folder in VESSEL_FOLDERS.items():
            _download(f"{GITHUB}/jocpae/VesselGraph/main/{folder}/{file}", target)

    folder = locate("vessel-sample", "vessel_sample", list(VESSEL_FOLDERS), root=root, fetch=fetch)
    nodes = _columns(folder / "example_nodes.csv", ("id", "pos_x", "pos_y", "pos_z"))
    edges = _columns(folder / "example_edges.csv", ("node1id", "node2id")).astype(np.int64)
    order = np.argsort(nodes[:, 0])
    position = torch.from_numpy(nodes[order, 1:]).float()
    return Graph.from_edges(
        np.searchsorted(nodes[order, 0], edges), num_nodes=len(nodes), x=normalise_coordinates(position)
    )


def normalise_coordinates(x: Tensor) -> Tensor:
    """Every axis to mean 0 and standard deviation 1, computed in double precision.

    OGB's example divides every axis by its Euclidean norm instead, which leaves numbers of size 1/√n: on 3.5 million
    nodes a network would hardly see them. The two differ by a shift and a factor an axis.

    >>> normalise_coordinates(torch.tensor([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    wide = x.double()
    centred = wide - wide.mean(0)
    scale = centred.square().mean(0).sqrt()
    return (centred / torch.where(scale > 0, scale, torch.ones_like(scale))).float()


def _columns(path: Path, names: tuple[str, ...]) -> np.ndarray:
    try:
        table = pyarrow.csv.read_csv(path, parse_options=pyarrow.csv.ParseOptions(delimiter=";"))
        return np.stack([table[name].to_numpy().astype(np.float64) for name in names], 1)
    except (pyarrow.ArrowInvalid, KeyError) as error:
        raise DatasetError(
            f"{path} lacks some of the columns {', '.join(names)} ({describe_error(error)}): fetch it again"
        ) from error


def _download(url: str, target: Path) -> None:
    from torch_geometric.data import download_url

    download_url(url, str(target), log=False)


def _fetch_coauthor(target: Path) -> None:
    """PyG's `Coauthor`, stored as the data root stores it."""
    from torch_geometric.datasets import Coauthor

    data = Coauthor(str(target / "pyg"), "CS")[0]
    shutil.rmtree(target / "pyg", ignore_errors=True)
    x = scipy.sparse.csr_array(data.x.numpy())
    edges = data.edge_index.t()[data.edge_index[0] < data.edge_index[1]].numpy()
    arrays = {"edges": edges, "x_indptr": x.indptr, "x_indices": x.indices, "x_data": x.data}
    np.savez_compressed(target / "coauthor_cs.npz", x_shape=np.array(x.shape), **arrays)
