"""Graphs from and to networkx, PyG, scipy and numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse
import torch
from torch import Tensor

from llwlc._support.text import describe_error
from llwlc.errors import InputError
from llwlc.graph._clean import assemble_graph, check_weights, issue_warnings
from llwlc.graph._graph import Graph
from llwlc.graph._names import number_nodes


def as_graph(source: Any, *, directed: bool = False) -> Graph:
    """The graph of whatever holds one: a Graph itself, a networkx graph, a PyG `Data`, a scipy sparse matrix, or a
    table of links as `Graph.read` takes it.

    >>> as_graph(scipy.sparse.coo_array(([1, 1, 1], ([0, 0, 1], [1, 2, 2])), shape=(3, 3)))
    Graph(num_nodes=3, num_edges=3)
    """
    if isinstance(source, Graph):
        return source
    if all(hasattr(source, name) for name in ("nodes", "edges", "is_directed", "adj")):
        return from_networkx(source, directed=directed)
    if type(source).__module__.partition(".")[0] == "torch_geometric" or hasattr(source, "edge_index"):
        return from_pyg(source, directed=directed)
    if scipy.sparse.issparse(source):
        return from_scipy(source, directed=directed)
    if isinstance(source, Tensor):
        raise InputError("a tensor does not say what it holds: make a graph of it, as in Graph.from_edges(pairs)")
    return Graph.read(source, directed=directed)


def from_networkx(graph: Any, *, directed: bool = False) -> Graph:
    """Any networkx graph: nodes are called `str(node)` and numbered as in a file, integers by size, others as text.

    Edge attributes `weight` (1 where missing, as networkx has it) and `time`, and the node attribute `x`, are taken
    along.
    """
    nodes = list(graph.nodes)
    called = [str(node) for node in nodes]
    if len(set(called)) < len(called):
        raise InputError("two nodes of the networkx graph are written alike (such as 1 and '1'): relabel one")
    codes, names = number_nodes(pa.array(called, pa.string()))
    at = dict(zip(nodes, codes.tolist(), strict=True))
    edges = list(graph.edges(data=True))
    attributes = [data for _, _, data in edges]
    weight = time = None
    if any("weight" in data for data in attributes):
        weight = _numbers([data.get("weight", 1) for data in attributes], what="edge attribute 'weight'")
        weight = check_weights(weight.astype(np.float64), where="networkx edge attribute 'weight'")
    if any("time" in data for data in attributes):
        time = _numbers([data.get("time") for data in attributes], what="edge attribute 'time'")
    return issue_warnings(
        assemble_graph(
            np.array([at[u] for u, _, _ in edges], dtype=np.int64),
            np.array([at[v] for _, v, _ in edges], dtype=np.int64),
            num_nodes=len(nodes),
            weight=weight,
            time=time,
            x=_node_features(graph, nodes, codes),
            names=names,
            directed=graph.is_directed(),
            keep_direction=directed,
        )
    )


def to_networkx(graph: Graph) -> Any:
    """A `networkx.Graph` with nodes by name (or number), edge attributes `weight` and `time`, node attribute `x` (a
    numpy row); a `networkx.DiGraph` of a graph that keeps its direction.
    """
    import networkx

    called = range(graph.num_nodes) if graph.names is None else graph.names
    result = networkx.Graph() if graph.forward is None else networkx.DiGraph()
    result.add_nodes_from(called)
    row, col = graph.edge_index
    listed = row < col if graph.forward is None else graph.forward
    weight = graph.arc_weight if graph.forward is not None else None if graph.weight is None else graph.weight[listed]
    time = None if graph.time is None else graph.time[listed]
    values = {name: v.tolist() for name, v in (("weight", weight), ("time", time)) if v is not None}
    for i, (u, v) in enumerate(graph.edge_index.T[listed].tolist()):
        result.add_edge(called[u], called[v], **{name: column[i] for name, column in values.items()})
    if graph.x is not None:
        for i, name in enumerate(called):
            x = graph.x
            result.nodes[name]["x"] = x[i].numpy() if isinstance(x, Tensor) else x[[i]].toarray()[0]
    return result


def from_pyg(data: Any, *, directed: bool = False) -> Graph:
    """A homogeneous PyG `Data`: `edge_index`, `edge_weight` (or a one-column `edge_attr`), `edge_time`, `x`,
    `names`.
    """
    if getattr(data, "edge_index", None) is None or not isinstance(data.edge_index, Tensor):
        raise InputError(
            "this PyG object has no edge_index of its own: give a homogeneous Data (see HeteroData.to_homogeneous)"
        )
    attr = data.get("edge_attr")
    weight = data.get("edge_weight")
    if weight is None and attr is not None and attr.numel() == data.num_edges:
        weight = attr
    values = None if weight is None else weight.reshape(-1).double().cpu().numpy()
    time, x = data.get("edge_time"), data.get("x")
    source, target = data.edge_index.cpu().long().numpy()
    return issue_warnings(
        assemble_graph(
            source,
            target,
            num_nodes=data.num_nodes,
            weight=None if values is None else check_weights(values, where="PyG edge_weight"),
            time=None if time is None else time.reshape(-1).cpu().numpy(),
            x=x if x is None else x.cpu().to_dense().reshape(len(x), -1).float(),
            names=data.get("names"),
            keep_direction=directed,
        )
    )


def to_pyg(graph: Graph) -> Any:
    """A PyG `Data`, both directions of every edge; sparse features become dense."""
    from torch_geometric.data import Data

    x = graph.x if graph.x is None or isinstance(graph.x, Tensor) else torch.from_numpy(graph.x.toarray())
    attributes = {"x": x, "edge_weight": graph.weight, "edge_time": graph.time, "names": graph.names}
    extras = {name: value for name, value in attributes.items() if value is not None}
    return Data(edge_index=graph.edge_index, num_nodes=graph.num_nodes, **extras)


def from_scipy(
    matrix: Any,
    *,
    x: Tensor | scipy.sparse.csr_array | None = None,
    names: Sequence[str] | None = None,
    directed: bool = False,
) -> Graph:
    """The graph of an adjacency matrix `[n, n]`, symmetric or one triangle of it; entries are weights unless all are 1.

    A matrix that is neither may be directed: weights of the two directions are summed.
    """
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"an adjacency matrix is square, this one has shape {tuple(matrix.shape)}")
    n = int(matrix.shape[0])
    entries = scipy.sparse.coo_array(matrix)
    there = entries.data != 0
    source, target = (axis[there].astype(np.int64) for axis in entries.coords)
    weight = check_weights(entries.data[there].astype(np.float64), where="the adjacency matrix")
    return issue_warnings(
        assemble_graph(
            source,
            target,
            num_nodes=n,
            weight=None if (weight == 1).all() else weight,
            x=x,
            names=names,
            keep_direction=directed,
        )
    )


def to_scipy(graph: Graph) -> scipy.sparse.csr_array:
    """The symmetric adjacency matrix `[n, n]`: weights, or ones where there are none."""
    data = torch.ones(len(graph.indices)) if graph.weight is None else graph.weight
    n = graph.num_nodes
    return scipy.sparse.csr_array((data.numpy(), graph.indices.numpy(), graph.indptr.numpy()), shape=(n, n))


def _numbers(values: list[Any], *, what: str) -> np.ndarray:
    array = np.array(values)
    if array.dtype.kind not in "iuf" or array.ndim != 1:
        at = next((i for i, value in enumerate(values) if not isinstance(value, int | float | np.number)), 0)
        raise InputError(f"networkx {what} must be a number on every edge: edge {at + 1} has {values[at]!r}")
    return array


def _node_features(graph: Any, nodes: list[Any], codes: np.ndarray) -> Tensor | None:
    rows = [graph.nodes[node].get("x") for node in nodes]
    if all(row is None for row in rows):
        return None
    lacking = [str(node) for node, row in zip(nodes, rows, strict=True) if row is None]
    if lacking:
        raise InputError(f"{len(lacking)} nodes of the networkx graph have no attribute 'x', such as {lacking[0]!r}")
    try:
        x = np.stack([np.atleast_1d(np.asarray(row, dtype=np.float32)) for row in rows])
    except (ValueError, TypeError) as error:
        raise InputError(
            f"node attribute 'x' must be equally many numbers on every node: {describe_error(error)}"
        ) from error
    if not np.isfinite(x).all():
        bad = str(nodes[int((~np.isfinite(x)).any(1).argmax())])
        raise InputError(f"node attribute 'x' of {bad!r} has NaN or infinity: fill it in")
    ordered = np.empty_like(x)
    ordered[codes] = x
    return torch.from_numpy(ordered)
