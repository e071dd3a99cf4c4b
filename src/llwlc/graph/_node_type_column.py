"""The node types, from a column of the features file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from llwlc._io.id_column import find_id_column
from llwlc._io.memory_table import TableSource, get_source_name, open_source
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.graph._names import as_names, find_nodes, format_some_names


def read_node_types(source: TableSource, graph: Graph, column: str, *, node: str | None = None) -> tuple[str, ...]:
    """The text in `column` for each node of the graph, in its order; a node without one is an error."""
    path = get_source_name(source)
    if path.suffix == ".npz":
        raise InputError(f"{path}: node types are a column of text; give a table (CSV, TSV, Parquet) with --features")
    file = open_source(source)
    node = find_id_column(path, file.columns, node, [column])
    table = file.read(text=[node, column])
    names = as_names(table[node], where=f"{path}: column {node!r}")
    counts = pc.value_counts(names)
    twice = counts.filter(pc.greater(counts.field("counts"), 1)).field("values").to_pylist()
    if twice:
        raise InputError(f"{path} has more than one row for {format_some_names(twice)}: keep one row per node")
    try:
        text = pc.utf8_trim_whitespace(pc.fill_null(table[column].combine_chunks().cast(pa.string()), ""))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"{path}: column {column!r} is of type {table[column].type}: give text, one type a cell"
        ) from error
    at = find_nodes(names, graph.names, graph.num_nodes)
    node_types = np.full(graph.num_nodes, "", dtype=object)
    node_types[at[at >= 0]] = np.asarray(text.to_pylist(), dtype=object)[at >= 0]
    lacking = np.flatnonzero(node_types == "")
    if len(lacking):
        who = [graph.name(int(i)) for i in lacking[:3]]
        raise InputError(
            f"{path}: column {column!r} names no type for {len(lacking):,} node(s), such as {format_some_names(who)}:"
            " fill it in"
        )
    return tuple(node_types.tolist())
