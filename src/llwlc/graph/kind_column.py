"""The kinds of nodes, from a column of the features file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.graph.id_column import id_column
from llwlc.graph.names import as_names, find_nodes, some
from llwlc.graph.table_file import open_table


def read_kinds(path: str | Path, graph: Graph, column: str, *, node: str | None = None) -> tuple[str, ...]:
    """The text in `column` for each node of the graph, in its order; a node without one is an error."""
    path = Path(path)
    if path.suffix == ".npz":
        raise InputError(
            f"{path}: kinds of nodes are a column of text; give a table (CSV, TSV, Parquet) with --features"
        )
    file = open_table(path)
    node = id_column(path, file.columns, node, [column])
    table = file.read(text=[node, column])
    names = as_names(table[node], where=f"{path}: column {node!r}")
    counts = pc.value_counts(names)
    twice = counts.filter(pc.greater(counts.field("counts"), 1)).field("values").to_pylist()
    if twice:
        raise InputError(f"{path} has more than one row for {some(twice)}: keep one row a node")
    try:
        text = pc.utf8_trim_whitespace(pc.fill_null(table[column].combine_chunks().cast(pa.string()), ""))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"{path}: column {column!r} is of type {table[column].type}: give text, one kind a cell"
        ) from error
    at = find_nodes(names, graph.names, graph.num_nodes)
    kinds = np.full(graph.num_nodes, "", dtype=object)
    kinds[at[at >= 0]] = np.asarray(text.to_pylist(), dtype=object)[at >= 0]
    lacking = np.flatnonzero(kinds == "")
    if len(lacking):
        who = [graph.name(int(i)) for i in lacking[:3]]
        raise InputError(
            f"{path}: column {column!r} names no kind for {len(lacking):,} node(s), such as {some(who)}: fill it in"
        )
    return tuple(kinds.tolist())
