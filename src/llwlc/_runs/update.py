"""A run on an updated graph: the links that are known now replace those that it was fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse
import torch
from torch import Tensor

from llwlc._direction.arcs import require_directions
from llwlc._io.memory_table import TableSource
from llwlc._runs.directory import Run
from llwlc._support.progress import print_notice
from llwlc._support.repeated_warnings import suppress_warnings
from llwlc.errors import InputError
from llwlc.graph._edge_file import edge_table, read_graph
from llwlc.graph._feature_file import FeatureTable, read_features
from llwlc.graph._graph import Graph
from llwlc.graph._id_spaces import has_side_names
from llwlc.graph._name_file import read_names
from llwlc.graph._names import find_nodes, format_some_names
from llwlc.graph._report import GraphWarning
from llwlc.models._base import Inductive
from llwlc.training._node_features import NodeFeatures


def updated_graph(
    known: Graph,
    *,
    graph: TableSource | None = None,
    add: TableSource | None = None,
    node_list: TableSource | None = None,
    features: TableSource | None = None,
    new_nodes: TableSource | None = None,
    node: str | None = None,
    missing_values: str = "fill",
    **columns: Any,
) -> Graph:
    """The graph as it is now: `graph` replaces the run's, the links of `add` are added, `node_list` names nodes that
    are in the graph even without links; `columns` are the options of `read_graph` on columns. `features` are needed for
    nodes that the run does not know; other nodes keep the run's features unless new ones are given. `new_nodes`: a
    table of nodes with their features, which is both.
    """
    if new_nodes is not None and features is not None:
        raise InputError("new_nodes is a table of nodes and their features already: leave features out")
    if isinstance(graph, str | Path) and Path(graph).is_dir():
        if any(part is not None for part in (add, node_list, features, new_nodes)):
            raise InputError(
                f"{graph} is a packed graph, which stays as it is: pack the new links together with the others"
            )
        return Graph.open(graph)
    limit = {name: columns[name] for name in ("unzipped_limit",) if name in columns}
    columns["directed"] = known.forward is not None
    columns["weight"] = None if known.weight is None else columns.get("weight", "auto")
    attributes = () if known.attributes is None else known.attributes.names
    columns["link_attributes"] = attributes
    parts = [known if graph is None else _read(graph, known, **columns)]
    if add is not None:
        parts.append(_read(add, known, **columns))
    tables = [_edges(part) for part in parts]
    names = [] if node_list is None else read_names(node_list, node=node, **limit).to_pylist()
    if new_nodes is not None:
        names += read_names(new_nodes, node=node, **limit).to_pylist()
        features = new_nodes
    new_graph = _quietly(
        pa.concat_tables(tables),
        weight=None if known.weight is None else "weight",
        node_list=names,
        directed=known.forward is not None,
        bipartite=False,
        link_attributes=[f"attribute {at}" for at in range(len(attributes))],
    )
    if new_graph.attributes is not None:
        new_graph = replace(new_graph, attributes=replace(new_graph.attributes, names=attributes))
    new_graph = replace(new_graph, report=parts[-1].report if parts[-1] is not known else None)
    if known.x is None:
        if features is not None:
            raise InputError(
                "the run was fitted without features: leave them out, or fit again with them; a new node needs links"
                " (add=, --add)"
            )
        return new_graph
    rows = None
    if features is not None:
        rows = read_features(
            features,
            node=node,
            missing_values=missing_values,
            encoding=known.encoding,
            nodes=pa.array([new_graph.name(i) for i in range(new_graph.num_nodes)], pa.string()),
            **limit,
        )
        for note in (*rows.notes, *_rows_without_nodes(rows, new_graph)):
            print_notice(note)
    if rows is None and (_places(known, new_graph) >= 0).all():
        return new_graph
    return replace(new_graph, x=_features_of(new_graph, known, rows), encoding=known.encoding)


def _rows_without_nodes(table: FeatureTable, graph: Graph) -> list[str]:
    """A sentence on the rows of features whose nodes are not in the updated graph."""
    if table.names is None:
        return []
    lost = table.names.filter(pa.array(find_nodes(table.names, graph.names, graph.num_nodes) < 0)).to_pylist()
    if not lost:
        return []
    return [
        f"{table.path}: rows of nodes that the updated graph does not have are not used ({format_some_names(lost, 3)});"
        " --new-nodes takes nodes without links"
    ]


def transfer_run(run: Run, graph: Graph) -> tuple[Run, Tensor | None]:
    """The run on another graph, and the number that each node of that graph has in it; None if numbers stay the
    same.
    """
    graph, fitted = _weighted_alike(run.graph, graph), run.fitted
    if run.direction is not None:
        require_directions(graph)
    if not isinstance(fitted.model, Inductive):
        graph, at = _in_order_of(run.graph, graph, fitted.title)
        return replace(run, graph=graph), at
    features = _features_for(run, graph)
    model = fitted.model.on(run.graph, graph, features)
    new = find_new_nodes(run.graph, graph)
    return (
        replace(
            run,
            graph=graph,
            fitted=replace(fitted, model=model, features=features),
            node_types=_node_types_for(run, graph),
            new=new if bool(new.any()) and features.comparable is not None else None,
        ),
        None,
    )


def find_new_nodes(known: Graph, graph: Graph) -> Tensor:
    """Which nodes `[n]` of a graph have no links and are not in the known graph."""
    new = graph.degree == 0
    return new & torch.from_numpy(_places(known, graph) < 0) if bool(new.any()) else new


def transfer_pairs(known: Graph, graph: Graph, pairs: Tensor | None) -> Tensor | None:
    """Pairs of the known graph by their numbers in another one, as far as it has their nodes."""
    if pairs is None:
        return None
    at = torch.from_numpy(_places(graph, known))[pairs]
    return at[(at >= 0).all(1)]


def _in_order_of(known: Graph, graph: Graph, title: str) -> tuple[Graph, Tensor]:
    """Another graph with its nodes numbered as in the known one, matched by name, and the new number of each of its
    nodes, for a model that has learned nodes by number.
    """
    at = torch.from_numpy(_places(known, graph))
    if bool((at < 0).any()):
        new = graph.name(int((at < 0).nonzero()[0, 0]))
        raise InputError(f"{title} knows only the nodes it was fitted on, and {new!r} is not among them: fit again")
    row = torch.repeat_interleave(torch.arange(graph.num_nodes), graph.indptr.diff())
    once = row < graph.indices
    pairs = torch.stack([at[row[once]], at[graph.indices[once]]], 1)
    weight = None if graph.weight is None else graph.weight[once]
    aligned = Graph.from_edges(pairs, num_nodes=known.num_nodes, weight=weight)
    if graph.forward is not None:
        directed = Graph.from_edges(at[graph.arcs], num_nodes=known.num_nodes, directed=True)
        aligned = replace(aligned, forward=directed.forward)
    return replace(aligned, names=known.names, x=known.x), at


def _read(table: TableSource, known: Graph, **columns: Any) -> Graph:
    graph = _quietly(table, bipartite=has_side_names(known) or None, **columns)
    if known.weight is not None and graph.weight is None:
        raise InputError(
            "the run's links have weights and the updated graph's have none: name their column (--graph-weight), or fit"
            " again"
        )
    return graph


def _quietly(table: TableSource, **columns: Any) -> Graph:
    """Reads a graph without warnings: they were shown when the run was fitted on such a graph."""
    with suppress_warnings(GraphWarning):
        return read_graph(table, time=None, **columns)


def _edges(graph: Graph) -> pa.Table:
    table = edge_table(replace(graph, time=None))
    columns = {name: table[name].cast(pa.string()) for name in ("source", "target")}
    columns |= {name: table[name] for name in table.column_names if name == "weight"}
    if graph.attributes is not None:
        listed = graph.edge_index[0] < graph.indices if graph.forward is None else graph.forward
        values = graph.attributes.of_entries(graph.indptr, graph.indices)[listed].numpy()
        lonely = np.zeros((table.num_rows - len(values), values.shape[1]))  # self-loops, whose values are dropped
        for at, column in enumerate(np.concatenate([values, lonely]).T):
            columns[f"attribute {at}"] = pa.array(column)
    return pa.table(columns)


def _places(known: Graph, graph: Graph) -> np.ndarray:
    """The number of each node in the known graph, −1 for a new node."""
    names = pa.array([graph.name(i) for i in range(graph.num_nodes)], pa.string())
    return find_nodes(names, known.names, known.num_nodes)


def _features_of(graph: Graph, known: Graph, table: FeatureTable | None) -> Tensor | scipy.sparse.csr_array:
    """The feature rows of the graph's nodes: the given ones, else those of the known graph, else, if the run was fitted
    with nodes without a row, the row of such a node.
    """
    n, encoding, old = graph.num_nodes, known.encoding, known.x
    assert old is not None
    no_row = encoding is not None and encoding.no_row
    rows, before = np.full(n, -1), _places(known, graph)
    fresh = np.zeros((0, old.shape[1]), np.float32)
    if table is not None:
        rows, fresh = _given_rows(graph, table), _dense(table.x)
        if fresh.shape[1] + no_row != old.shape[1]:
            raise InputError(
                f"{table.path} has {fresh.shape[1]} columns of features, but the run was fitted on"
                f" {old.shape[1] - no_row}: give the same columns"
            )
        fresh = np.concatenate([fresh, np.zeros((len(fresh), int(no_row)), np.float32)], 1)
    lost = np.flatnonzero((rows < 0) & (before < 0))
    if len(lost) and not no_row:
        raise _lacks_features(graph, lost)
    if len(lost):
        whose = format_some_names([graph.name(int(i)) for i in lost], 3)
        count = "1 new node has" if len(lost) == 1 else f"{len(lost):,} new nodes have"
        print_notice(f"{count} no row of features ({whose}): the mean of each column stands for it, as in the fit")
    blank = np.zeros(old.shape[1], np.float32)
    if encoding is not None and no_row:
        blank = np.append(encoding.blank, np.float32(1))
    fresh = np.concatenate([fresh, blank[None]])
    place = np.where(rows >= 0, rows, np.where(before >= 0, len(fresh) + before, len(fresh) - 1))
    if isinstance(old, Tensor):
        return torch.cat([torch.from_numpy(fresh), old.float()])[torch.from_numpy(place)]
    return scipy.sparse.csr_array(scipy.sparse.vstack([scipy.sparse.csr_array(fresh), old]))[place]


def _given_rows(graph: Graph, table: FeatureTable) -> np.ndarray:
    """The row of each node of the graph, −1 where it has none."""
    if table.names is None:
        if table.x.shape[0] != graph.num_nodes:
            raise InputError(
                f"{table.path} has {table.x.shape[0]:,} rows and no names, the updated graph has {graph.num_nodes:,}"
                " nodes: name them"
            )
        return np.arange(graph.num_nodes)
    at = find_nodes(table.names, graph.names, graph.num_nodes)
    rows = np.full(graph.num_nodes, -1)
    rows[at[at >= 0]] = np.flatnonzero(at >= 0)
    return rows


def _dense(x: Tensor | scipy.sparse.csr_array) -> np.ndarray:
    return np.asarray(x.numpy() if isinstance(x, Tensor) else x.toarray(), dtype=np.float32)


def _features_for(run: Run, graph: Graph) -> NodeFeatures:
    """The features in the order of another graph's nodes, found by name."""
    features, compactor = run.fitted.features, run.fitted.compactor
    if features.compact is None and features.unit is None:
        return features
    if graph.x is not None and compactor is not None:
        return NodeFeatures.of(graph.x, compactor)
    at = _places(run.graph, graph)
    if (at < 0).any():
        raise _lacks_features(graph, np.flatnonzero(at < 0))
    return features.of_nodes(at)


def _lacks_features(graph: Graph, nodes: np.ndarray) -> InputError:
    missing = [graph.name(int(i)) for i in nodes]
    return InputError(
        f"the updated graph has {len(missing):,} nodes without known features, such as {format_some_names(missing, 3)}:"
        " give their rows (features=, --features), or fit again"
    )


def _weighted_alike(known: Graph, graph: Graph) -> Graph:
    """The updated graph, weighted exactly if the run's graph is: the network was trained on one kind of Laplacian."""
    if known.weight is None:
        return replace(graph, weight=None)
    if graph.weight is None:
        raise InputError(
            "the run's links have weights and the updated graph's have none: name their column (--graph-weight), or fit"
            " again"
        )
    return graph


def _node_types_for(run: Run, graph: Graph) -> tuple[str, ...] | None:
    if run.node_types is None:
        return None
    at, node_types = _places(run.graph, graph), run.node_types
    if (at < 0).any():
        new: Sequence[str] = [graph.name(int(i)) for i in np.flatnonzero(at < 0)]
        raise InputError(
            f"the run knows the type of each node, but not of {format_some_names(new, 3)}, new in the graph: fit again"
        )
    return tuple(node_types[int(i)] for i in at)
