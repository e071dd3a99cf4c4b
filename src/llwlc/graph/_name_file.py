"""Names of nodes, one per row: those that a graph has whether they have a link or not."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
from torch import Tensor

from llwlc._io.database_url import refuse_url
from llwlc._io.file_bytes import UNZIPPED_LIMIT, UserFile, open_file
from llwlc._io.id_column import find_id_column
from llwlc._io.memory_table import TableSource, get_source_name, is_frame, is_path, open_source
from llwlc._io.table_file import arrow_errors, table_of
from llwlc._io.text_check import TextCheck
from llwlc._support.progress import print_notice
from llwlc._support.text import quote_text
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.graph._names import as_names, find_nodes, format_some_names, suggest_name

HEADERS = ("node", "id", "name", "nodeid", "node_id", "index", "names", "nodes")


def read_names(
    source: TableSource,
    *,
    node: str | None = None,
    graph: Graph | None = None,
    unzipped_limit: int | None = UNZIPPED_LIMIT,
) -> pa.Array:
    """The names in a file: one per line, with or without a header such as node or id; or the id column of a table with
    more columns; or a list of names. `graph`: names of its nodes are wanted, so that a first line that is like none of
    them, above one that is one, is a header too.

    >>> read_names(["Ada", "Bob"]).to_pylist()
    ['Ada', 'Bob']
    """
    path = get_source_name(source)
    if not is_path(source) and not is_frame(source):
        names = [str(name) for name in source]
        return as_names(pa.array(names, pa.string()), where=str(path))
    if is_path(source):
        refuse_url(path, "write the names to a file such as nodes.csv, or in Python give a list")
    with arrow_errors(path):
        if is_path(source):
            with open_file(path, unzipped_limit) as opened:
                lines = None if opened.head[:4] == b"PAR1" else _single_column(opened)
                if lines is not None:
                    lines = lines[1:] if graph is not None and _begins_with_header(path, lines, graph) else lines
                    return as_names(pa.array(lines, pa.string()), where=str(path))
                file = table_of(opened)
        else:
            file = open_source(source)
        column = find_id_column(path, file.columns, node)
        names = file.read(columns=[column], text=[column])[column]
        if not len(names):
            raise InputError(f"{path} names no node: give one per row")
        return as_names(names, where=f"{path}: column {quote_text(column)}")


def read_node_set(source: TableSource, graph: Graph) -> np.ndarray:
    """The numbers of some nodes of a graph, ascending, each once: of names, in any form that `read_names` takes, or of
    node numbers, as a tensor or an array of integers. A node that the graph does not have is an error.

    >>> import torch
    >>> graph = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]), names=["Ada", "Bob", "Cleo"])
    >>> read_node_set(["Cleo", "Ada", "Cleo"], graph)
    array([0, 2])
    """
    where = get_source_name(source)
    if isinstance(source, Tensor | np.ndarray) and np.asarray(source).dtype.kind in "iu":
        nodes = np.asarray(source).reshape(-1).astype(np.int64)
        if len(nodes) and not 0 <= nodes.min() <= nodes.max() < graph.num_nodes:
            bad = nodes[(nodes < 0) | (nodes >= graph.num_nodes)][0]
            raise InputError(f"{where} has node {bad}, and the nodes of the graph are 0 to {graph.num_nodes - 1}")
    else:
        names = read_names(source, graph=graph)
        nodes = find_nodes(names, graph.names, graph.num_nodes)
        absent = np.flatnonzero(nodes < 0)
        if len(absent):
            unknown = names.take(pa.array(absent)).to_pylist()
            what = "a node" if len(unknown) == 1 else f"{len(unknown):,} nodes"
            raise InputError(
                f"{where} names {what} that the graph does not have: {format_some_names(unknown, 10)}."
                f"{suggest_name(unknown[0], graph.names, graph.num_nodes)}"
            )
    if not len(nodes):
        raise InputError(f"{where} names no node: give one, or leave it out")
    return np.unique(nodes)


def _begins_with_header(path: Path, lines: list[str], graph: Graph) -> bool:
    """Whether the first line is neither a node nor similar to one's name, and the second line is a node."""
    first = as_names(pa.array(lines[:2], pa.string()), where=str(path), gaps=True)
    if (find_nodes(first, graph.names, graph.num_nodes) >= 0).tolist() != [False, True] or lines[0].strip().isdigit():
        return False
    if graph.names is not None and suggest_name(lines[0], graph.names, graph.num_nodes):
        return False
    print_notice(f"{path}: the first line, {quote_text(lines[0])}, is not a node, so it is read as the header")
    return True


def _single_column(file: UserFile) -> list[str] | None:
    """The cells of a text of one column, without its header; None where a line has more."""
    data = file.read(TextCheck(file.path, b",;\t"))
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    cells: list[str] = []
    try:
        for row in csv.reader(text):
            if len(cells) < 1000 and (len(row) > 1 or (row and ("\t" in row[0] or ";" in row[0]))):
                return None
            if row:
                cells.append(",".join(row).strip())
    except csv.Error:
        return None
    if not cells:
        return None
    return cells[1:] if cells[0].lower() in HEADERS else cells
