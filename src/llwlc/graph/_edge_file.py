"""Edge lists in and out: from what a user's file says to a clean Graph, with an account of what was done."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from llwlc._io.edge_source import open_edges
from llwlc._io.file_bytes import UNZIPPED_LIMIT
from llwlc._io.memory_table import TableSource, is_path
from llwlc._io.table_file import TableFile, arrow_errors, as_numbers
from llwlc._io.table_writing import write_table
from llwlc._support.text import quote_text
from llwlc.errors import InputError
from llwlc.graph._clean import assemble_graph, check_weights, issue_warnings
from llwlc.graph._feature_file import FeatureTable, join_features, read_features, resolve_names
from llwlc.graph._graph import Graph
from llwlc.graph._id_spaces import keep_sides_apart
from llwlc.graph._link_attributes import LinkAttributes, read_attributes
from llwlc.graph._name_file import read_names
from llwlc.graph._names import as_names, number_nodes
from llwlc.graph._unused_columns import find_unused

FAMILIAR = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("u", "v"),
    ("head", "tail"),
    ("subject", "object"),
    ("start", "end"),
    ("node1", "node2"),
    ("id1", "id2"),
    ("sourceid", "targetid"),
    ("fromid", "toid"),
    ("node1id", "node2id"),
    ("fromnodeid", "tonodeid"),
    ("sourcenodeid", "targetnodeid"),
)


class ReadOptions(TypedDict, total=False):
    """How to read an edge list; see `read_graph`."""

    source: str | None
    target: str | None
    weight: str | None
    time: str | None
    header: bool | None
    separator: str | None
    features: TableSource | None
    node: str | None
    categorical: Sequence[str]
    missing_values: str
    node_list: TableSource | None
    isolated: str
    unzipped_limit: int | None
    directed: bool
    bipartite: bool | None
    link_attributes: Sequence[str]


class EndColumns(NamedTuple):
    """The columns of the two ends of a pair; `certain` unless they were taken only because they come first."""

    source: str
    target: str
    certain: bool


def read_graph(
    path: TableSource,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = "auto",
    time: str | None = "auto",
    header: bool | None = None,
    separator: str | None = None,
    features: TableSource | None = None,
    node: str | None = None,
    categorical: Sequence[str] = (),
    missing_values: str = "fill",
    node_list: TableSource | None = None,
    isolated: str = "error",
    unzipped_limit: int | None = UNZIPPED_LIMIT,
    directed: bool = False,
    bipartite: bool | None = None,
    link_attributes: Sequence[str] = (),
) -> Graph:
    """The graph of a table, one edge a row, or of a file in a graph format.

    Self-loops are dropped, though a node that has only those stays as an isolated node. Rows that repeat a pair are
    merged: weights are summed, the latest time is kept. Direction is dropped unless `directed`, so weights of the two
    directions are summed too, except where every edge comes in both directions with equal weights: that is an
    undirected graph written twice, and each weight counts once. The counts are in `graph.report`; a bipartite or
    strongly directed graph, and features with gaps, raise a `GraphWarning`.

    Args:
        path: a CSV, TSV or Parquet file (also gzipped), a pandas or polars frame, an arrow table or a list of pairs; or
            a file in one of the graph formats of `edge_source.FORMATS` (GraphML, GEXF, Matrix Market, graph6, KONECT's
            and SNAP's edge lists).
        source: the column of one end (without a header: "1", "2", ...). By default familiar pairs of names are looked
            for (source and target, from and to, u and v, ...), then the first two columns are taken. Ids are integers
            or text; `number_nodes` has their order.
        target: the column of the other end.
        weight: the column (in a graph format the attribute) of edge weights; "auto" uses one called `weight`, None
            none.
        time: the column (or attribute) of times, numbers or dates; dates become seconds since 1970. "auto" uses one
            called `time`, None none.
        header: whether the first line names the columns; None finds out.
        separator: one character; None finds out.
        features: a table or npz of node features (`read_features`).
        node: the column of node ids in it.
        categorical: its columns whose numbers are categories.
        missing_values: "fill" fills missing values and rows and notes it, "error" refuses them.
        node_list: names of nodes, one per row, that are in the graph whether they have an edge or not.
        isolated: what happens to a node that has features but no edge: "error", "keep" or "drop".
        unzipped_limit: bytes that a compressed file may unpack to; None for any number.
        directed: keep which way each row points, from its first end to its second.
        bipartite: whether the two columns number different things, such as users and items, so that user 7 and item 7
            are two nodes, L7 and R7. None finds out by the header and the values, and notes it.
        link_attributes: columns of numbers of the links beyond the weight, which the topological stack reads; of rows
            that repeat a pair, in either direction, the mean.

    >>> graph = read_graph([("Ada", "Bob"), ("Bob", "Cleo"), ("Cleo", "Ada"), ("Ada", "Cleo")])
    >>> graph, str(graph.report)
    (Graph(num_nodes=3, num_edges=3, names), '4 rows gave 3 nodes and 3 edges: 1 reversed duplicate merged.')
    """
    if isolated not in ("error", "keep", "drop"):
        raise InputError(f"isolated must be 'error', 'keep' or 'drop', got {isolated!r}")
    # what is wrong with arrays shows before a long list of edges is read; a table's ids are found by the edges' names
    arrays = features is not None and is_path(features) and Path(features).suffix == ".npz"
    known = None
    if features is not None and arrays:
        known = read_features(features, missing_values=missing_values, unzipped_limit=unzipped_limit)
    edge_source = open_edges(path, header=header, separator=separator, unzipped_limit=unzipped_limit)
    file, path = edge_source.file, edge_source.file.path
    with arrow_errors(path):
        ends = find_ends(file, source, target)
        file, ends, notes = _first_line_may_be_an_edge(file, ends, header)
        weight, time = choose_column(file, "weight", weight), choose_column(file, "time", time)
        numbers = check_attribute_columns(file, link_attributes, {*ends[:2], weight, time})
        extra = [*(name for name in (weight, time) if name is not None), *numbers]
        unused, dates = find_unused(file, {*ends[:2], *extra})
        table = file.read(columns=list(dict.fromkeys([*ends[:2], *extra])), text=ends[:2])
        heads = [as_names(table[name], where=f"{path}: column {quote_text(name)}") for name in ends[:2]]
        strengths = (
            None if weight is None else read_weights(table[weight], where=f"{path}: weight column {quote_text(weight)}")
        )
        times = None if time is None else read_times(table[time], where=f"{path}: time column {quote_text(time)}")
        values = read_attributes(table, numbers, where=str(path)) if numbers else None

    in_doubt = False
    if edge_source.nodes is None and edge_source.directed is None:
        (one, other), note, in_doubt = keep_sides_apart(
            (heads[0], heads[1]), ends[:2], bipartite, has_header=file.has_header, certain=ends.certain
        )
        heads, notes = [one, other], [*notes, *([note] if note else [])]
    if directed and file.has_header and not ends.certain:
        notes = [
            *notes,
            f"Links point from {quote_text(ends.source)} to {quote_text(ends.target)}, the first two columns (--source"
            " and --target name others).",
        ]
    declared = [] if edge_source.nodes is None else [as_names(edge_source.nodes, where=f"{path}: nodes")]
    if node_list is not None:
        declared.append(read_names(node_list, node=node if features is None else None, unzipped_limit=unzipped_limit))
    names = pa.concat_arrays([*heads, *declared])
    if features is not None and not arrays:
        known = read_features(
            features,
            node=node,
            categorical=categorical,
            missing_values=missing_values,
            nodes=pc.unique(names),
            unzipped_limit=unzipped_limit,
        )
    codes, listed = number_nodes(_with_isolated(names, known, keep=isolated == "keep"))
    m, n = len(heads[0]), _count(codes, listed)
    if known is not None:
        resolve_names(known, listed, n)  # refuses arrays with too few rows
    graph = assemble_graph(
        codes[:m],
        codes[m : 2 * m],
        num_nodes=n,
        weight=strengths,
        time=times,
        names=listed,
        directed=edge_source.directed,
        notes=(*edge_source.notes, *notes),
        keep_direction=directed,
    )
    if values is not None:
        both = torch.from_numpy(np.stack([codes[:m], codes[m : 2 * m]], 1))
        graph = replace(graph, attributes=LinkAttributes.of(numbers, both, values))
    assert graph.report is not None
    graph = replace(graph, report=replace(graph.report, unused=unused, dates=dates, may_have_sides=in_doubt))
    if not graph.num_edges:
        raise InputError(f"{path} has no edges ({m} rows, self-loops aside): an edge list needs at least one")
    if known is not None:
        graph = join_features(graph, known, isolated=isolated, fill=missing_values == "fill")
    return issue_warnings(graph)


def edge_table(graph: Graph) -> pa.Table:
    """Columns source, target, weight and time, each edge once; an isolated node is a self-loop, so that none gets
    lost. An edge that points both ways is two rows, each with half of its weight.
    """
    lonely = (graph.degree == 0).nonzero()
    row, col = graph.edge_index
    listed = row < col if graph.forward is None else graph.forward
    ends = torch.cat([torch.stack([row, col], 1)[listed], lonely.expand(-1, 2)])
    columns: dict[str, pa.Array] = {}
    for name, side in zip(("source", "target"), ends.T, strict=True):
        numbers = pa.array(side.numpy())
        columns[name] = numbers if graph.names is None else pa.array(graph.names, pa.string()).take(numbers)
    for name, values in (("weight", graph.weight), ("time", graph.time)):
        if values is not None:
            shown = graph.arc_weight if name == "weight" and graph.forward is not None else values[listed]
            assert shown is not None
            # a self-loop's weight and time are dropped with it; ones keep the column valid
            columns[name] = pa.array(torch.cat([shown, values.new_ones(len(lonely))]).numpy())
    return pa.table(columns)


def write_graph(graph: Graph, path: str | Path) -> None:
    """Writes the edge list, which `read_graph` reads back to the same graph, features aside.

    Args:
        graph: Each edge becomes a row; an isolated node a self-loop, so that none gets lost.
        path: File to write, its format by its ending: .csv, .tsv, .parquet, .jsonl, text also .gz.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "edges.csv"
    >>> write_graph(Graph.from_edges(torch.tensor([[0, 1], [1, 2]])), file)
    >>> file.read_text()
    'source,target\\n0,1\\n1,2\\n'
    """
    write_table(path, edge_table(graph))


def find_ends(file: TableFile, source: str | None = None, target: str | None = None) -> EndColumns:
    """The columns of the two ends: as given, else by a familiar pair of names, else the first two that have a name."""
    for name in (source, target):
        if name is not None:
            require_column(file, name)
    plain = {"".join(filter(str.isalnum, name.lower())): name for name in reversed(file.columns)}
    familiar = next(((plain[a], plain[b]) for a, b in FAMILIAR if a in plain and b in plain), None)
    named = [name for name in file.columns if name and name not in (source, target)]
    missing = (source is None) + (target is None)
    if len(named) < missing:
        raise InputError(f"{file.path} has {len(file.columns)} column(s): two are needed, one for each end of an edge")
    if missing == 2 and familiar is not None:
        return EndColumns(*familiar, certain=True)
    rest = iter(named)
    first, second = source if source is not None else next(rest), target if target is not None else next(rest)
    if first == second:
        raise InputError(f"source and target are both column {quote_text(first)} of {file.path}: name two columns")
    return EndColumns(first, second, certain=missing < 2)


def require_column(file: TableFile, name: str) -> None:
    if name not in file.columns:
        columns = ", ".join(quote_text(column) for column in file.columns[:20])
        hint = "" if file.has_header else " (without a header, columns are called by their numbers)"
        raise InputError(f"{file.path} has no column {quote_text(name)}{hint}: it has {columns}")


def _first_line_may_be_an_edge(
    file: TableFile, ends: EndColumns, header: bool | None
) -> tuple[TableFile, EndColumns, list[str]]:
    if header is not None or ends.certain or not file.has_header or file.separator is None:
        return file, ends, []
    table = file.read(columns=ends[:2], text=ends[:2])
    seen = pa.concat_arrays([pc.utf8_trim_whitespace(table[name].combine_chunks()) for name in ends[:2]])
    repeated = [end for end in ends[:2] if pc.is_in(pa.scalar(end), value_set=seen).as_py()]
    if len(repeated) < 2:
        doubt = [
            f"The first line of {file.path} ({quote_text(ends.source)}, {quote_text(ends.target)}) was read as a"
            f" header, though {quote_text(end)} is a node further down. If it is an edge, say so with header=False"
            " (--no-header)."
            for end in repeated
        ]
        return file, ends, doubt
    note = (
        f"The first line of {file.path} ({quote_text(ends.source)}, {quote_text(ends.target)}) was read as an edge,"
        " since both are nodes further down. If it is a header, name its columns with source= and target= (--source,"
        " --target)."
    )
    plain = file.without_header()
    return plain, find_ends(plain), [note]


def check_attribute_columns(file: TableFile, names: Sequence[str], taken: set[str | None]) -> tuple[str, ...]:
    """The names of link attributes; one that is no column, given twice, or used already is refused."""
    for at, name in enumerate(names):
        require_column(file, name)
        if name in taken or name in names[:at]:
            raise InputError(
                f"link attribute {quote_text(name)} is used already, as an end, a weight, a time or an attribute: leave"
                " it out"
            )
    return tuple(names)


def choose_column(file: TableFile, what: str, name: str | None) -> str | None:
    if name != "auto":
        if name is not None:
            require_column(file, name)
        return name
    return next((column for column in file.columns if column.lower() == what), None)


def _with_isolated(names: pa.Array, features: FeatureTable | None, *, keep: bool) -> pa.Array:
    if features is None or not keep:
        return names
    codes, node_names = number_nodes(names)
    rows = resolve_names(features, node_names, _count(codes, node_names))
    return names if rows is None else pa.concat_arrays([names, rows])


def _count(codes: np.ndarray, names: Sequence[str] | None) -> int:
    if names is not None:
        return len(names)
    return int(codes.max()) + 1 if len(codes) else 0


def read_weights(column: pa.ChunkedArray, *, where: str) -> np.ndarray:
    values = as_numbers(column)
    if values is None and (pa.types.is_nested(column.type) or pa.types.is_binary(column.type)):
        raise InputError(
            f"{where} is of type {column.type}, which is not a number. Use another column, or none: --weight none"
        )
    if values is None:
        at, text = next(
            ((i, v) for i, v in enumerate(column.cast(pa.string()).to_pylist()) if not _numeric(v)), (0, column.type)
        )
        raise InputError(
            f"{where} is not numeric: row {at + 1} says {quote_text(text)}. Use another column, or none: --weight none"
        )
    return check_weights(values, where=where)


def read_times(column: pa.ChunkedArray, *, where: str) -> np.ndarray:
    if column.null_count:
        at = column.is_null().combine_chunks().index(True).as_py()
        raise InputError(f"{where} is empty in row {at + 1}: fill it in, or use no times: --time none")
    if pa.types.is_string(column.type):  # some databases keep dates as text
        with contextlib.suppress(pa.ArrowInvalid):
            column = column.cast(pa.timestamp("us"))
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        seconds: np.ndarray = column.cast(pa.timestamp("s"), safe=False).cast(pa.int64()).to_numpy()
        return seconds.copy()  # arrow's memory is read-only, torch's is not
    values = as_numbers(column)
    if values is None:
        reason = f"row 1 says {quote_text(column[0])}" if len(column) else f"it is of type {column.type}"
        raise InputError(f"{where} holds neither numbers nor dates ({reason}): --time none ignores it")
    if not np.isfinite(values).all():
        raise InputError(f"{where} is NaN or infinite in row {int(np.isfinite(values).argmin()) + 1}: fill it in")
    if pa.types.is_integer(column.type):
        whole: np.ndarray = column.to_numpy().astype(np.int64)
        return whole
    return values


def _numeric(text: str | None) -> bool:
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True
