"""Node features from CSV, Parquet or npz, joined to a graph by the names of its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse
import torch
from torch import Tensor

from llwlc._io.feature_encoding import NO_ROW, FeatureEncoding, encode_matrix, encode_table, is_decimal_comma
from llwlc._io.file_bytes import UNZIPPED_LIMIT
from llwlc._io.id_column import find_id_column, guess_id_column
from llwlc._io.memory_table import TableSource, get_source_name, is_path, open_source
from llwlc._io.npz_file import read_npz
from llwlc._io.table_file import TableFile, arrow_errors
from llwlc._support.text import quote_text
from llwlc.errors import InputError
from llwlc.graph._feature_arrays import feature_matrix
from llwlc.graph._graph import Graph
from llwlc.graph._names import all_integers, as_names, find_nodes, format_some_names


class FeatureTable(NamedTuple):
    """Feature rows as read: `names [r]` or None (rows in the order of the nodes), `x [r, F]`, `columns` F names, the
    `encoding` that made them, and `notes` for the user.
    """

    path: Path
    names: pa.Array | None
    x: Tensor | scipy.sparse.csr_array
    columns: tuple[str, ...]
    encoding: FeatureEncoding | None = None
    notes: tuple[str, ...] = ()


def read_features(
    source: TableSource,
    *,
    node: str | None = None,
    categorical: Sequence[str] = (),
    missing_values: str = "fill",
    nodes: pa.Array | None = None,
    encoding: FeatureEncoding | None = None,
    unzipped_limit: int | None = UNZIPPED_LIMIT,
) -> FeatureTable:
    """Features of a table, in a file or in memory, or of an npz file, as float32.

    Table (CSV, TSV, Parquet, also gzipped; a frame): one row per node; `node` names the column of ids, else one called
    node, id, name, node_id or index, else the first, else, where that one names few of the `nodes` of the graph, the
    one that names most. Numeric and boolean columns are taken as they are; text, and the columns named in
    `categorical`, become one column 0/1 for each value, in sorted order (at most 1000 values).

    npz: `x [r, F]`, or a CSR matrix as `x_indptr`, `x_indices`, `x_data`, `x_shape` or as scipy.sparse.save_npz writes
    it; `names [r]` beside it, or none: then the rows are the nodes in the graph's order, or, where there are more rows
    than nodes and the ids are integers, row i belongs to node i.

    A missing value is filled in by the rule of `feature_encoding`, counted and noted; with `missing_values="error"` it
    is an error that names node and column, as an infinite value is, or one beyond single precision. `encoding`: read
    columns as they were read before. A compressed file that unpacks to more than `unzipped_limit` bytes is refused.
    """
    if missing_values not in ("fill", "error"):
        raise InputError(f"missing_values must be 'fill' or 'error', got {missing_values!r}")
    path, fill = get_source_name(source), missing_values == "fill"
    # what is beyond single precision becomes infinite, which is looked for below
    with arrow_errors(path), np.errstate(over="ignore"):
        if is_path(source) and path.suffix == ".npz":
            found = _read_arrays(path, unzipped_limit, fill=fill, known=encoding)
        else:
            file = open_source(source, unzipped_limit=unzipped_limit)
            found = _read_table(file, node, categorical, nodes, fill=fill, known=encoding)
    if found.names is not None:
        counts = pc.value_counts(found.names)
        twice = counts.filter(pc.greater(counts.field("counts"), 1)).field("values").to_pylist()
        if twice:
            raise InputError(f"{path} has more than one row for {format_some_names(twice)}: keep one row per node")
    _require_finite(found)
    return found


def join_features(graph: Graph, features: FeatureTable, *, isolated: str = "error", fill: bool = True) -> Graph:
    """The graph with these features, each row at the node that it names. A node without a row gets the mean of each
    column, and an added column marks it; without `fill`, or where half of the nodes have no row, that is an error. A
    row that names no node of the graph is an error too, unless `isolated` is "drop"."""
    n = graph.num_nodes
    names = resolve_names(features, graph.names, n)
    if names is None:
        return add_notes(replace(graph, x=features.x, encoding=features.encoding), features.notes)
    at = find_nodes(names, graph.names, n)
    row = np.full(n, -1)
    row[at[at >= 0]] = np.flatnonzero(at >= 0)
    lacking, notes = [graph.name(int(i)) for i in np.flatnonzero(row < 0)], list(features.notes)
    if lacking and (not fill or 2 * len(lacking) >= n):
        raise InputError(
            f"{features.path} has no features for {len(lacking):,} of {n:,} nodes: {format_some_names(lacking)}. Add a"
            " row for each, or name the column of ids (node=, --node)"
        )
    if lacking:
        notes.append(
            f"{features.path} has no row for {len(lacking):,} of {n:,} nodes ({format_some_names(lacking, 3)}): they"
            f" got {'the mean of each column' if isinstance(features.x, Tensor) else 'zeros, as it is sparse'}, and a"
            f" column {NO_ROW!r} marks them (--missing-values error refuses)."
        )
    extra = names.filter(pa.array(at < 0)).to_pylist()
    if extra and isolated != "drop":
        raise InputError(
            f"{features.path} has features for {len(extra):,} node(s) that have no edge: {format_some_names(extra)}."
            " Use isolated='keep' (--isolated keep) to let them in, or 'drop' to leave them out"
        )
    if extra:
        notes.append(
            f"{features.path}: the rows of nodes that have no edge are left out ({format_some_names(extra, 3)})."
        )
    return add_notes(_joined(graph, features, row), notes)


def add_notes(graph: Graph, notes: Sequence[str]) -> Graph:
    """The graph with these notes added to its report."""
    if graph.report is None or not notes:
        return graph
    return replace(graph, report=replace(graph.report, notes=(*graph.report.notes, *notes)))


def _joined(graph: Graph, features: FeatureTable, row: np.ndarray) -> Graph:
    """The graph whose node i has row `row[i]` of the features; where that is −1, the encoding's blank row, and 1 in an
    added column.
    """
    lacking, x, encoding = row < 0, features.x, features.encoding
    if encoding is None and isinstance(x, Tensor) and lacking.any():
        encoding = encode_matrix(x.numpy()).encoding
    no_row = bool(lacking.any()) or (encoding is not None and encoding.no_row)
    if isinstance(x, Tensor):
        if encoding is not None:
            x = torch.cat([x, torch.from_numpy(encoding.blank)[None]])
        x = x[torch.from_numpy(row)]  # row −1 is the blank one
        x = torch.cat([x, torch.from_numpy(lacking.astype(np.float32))[:, None]], 1) if no_row else x
    else:
        # an empty row is appended for nodes without a row
        padded = (x.data, x.indices, np.append(x.indptr, x.indptr[-1]))
        x = scipy.sparse.csr_array(padded, shape=(x.shape[0] + 1, x.shape[1]))[np.where(lacking, x.shape[0], row)]
        marked = scipy.sparse.csr_array(lacking.astype(np.float32)[:, None])
        x = scipy.sparse.csr_array(scipy.sparse.hstack([x, marked])) if no_row else x
    return replace(graph, x=x, encoding=None if encoding is None else replace(encoding, no_row=no_row))


def resolve_names(features: FeatureTable, names: Sequence[str] | None, num_nodes: int) -> pa.Array | None:
    """The node that each row belongs to, for a graph with these nodes; None if the rows are in the graph's own
    order.
    """
    rows = features.x.shape[0]
    if features.names is not None or rows == num_nodes:
        return features.names
    top = num_nodes - 1 if names is None else int(names[-1]) if all_integers(names) else rows
    if rows < num_nodes or top >= rows:
        raise InputError(
            f"{features.path} has {rows:,} feature rows and no names, the graph has {num_nodes:,} nodes: give one row a"
            " node, or an array `names` that says whose they are"
        )
    return pa.array(range(rows)).cast(pa.string())


def _read_table(
    file: TableFile,
    node: str | None,
    categorical: Sequence[str],
    nodes: pa.Array | None,
    *,
    fill: bool,
    known: FeatureEncoding | None,
) -> FeatureTable:
    path, notes = file.path, []
    id_column = find_id_column(path, file.columns, node, categorical)
    texts = [*categorical, *(code.name for code in (known.columns if known else ()) if code.values is not None)]
    texts = [name for name in texts if name in file.columns]
    table = file.read(text=[id_column, *texts])
    if node is None and nodes is not None and (better := guess_id_column(table, id_column, nodes)) != id_column:
        notes.append(
            f"{path}: column {quote_text(better)} names the nodes, since {quote_text(id_column)} names few of them"
            " (--node says which)."
        )
        id_column, table = better, file.read(text=[better, *texts])
    node = id_column
    names = as_names(table[node], where=f"{path}: column {quote_text(node)}")
    # pandas writes its index under an empty name
    others = table.select([name for name in file.columns if name not in (node, "")])
    if not others.num_columns:
        raise InputError(f"{path} has no column besides the node ids {quote_text(node)}: there are no features in it")
    encoded = encode_table(path, others, names, categorical=categorical, fill=fill, known=known)
    if encoded.missing:
        notes.append(_missing_note(path, encoded.missing, names, known))
    for name, count in encoded.unseen.items():
        values = "1 value" if count == 1 else f"{count:,} values"
        notes.append(
            f"{path}: {values} of column {quote_text(name)} did not occur when the run was fitted, and"
            f" {'is' if count == 1 else 'are'} ignored."
        )
    for name, word in encoded.mixed.items():
        remedy = f"write a point: {word.replace(',', '.')}" if is_decimal_comma(word) else "empty those cells"
        notes.append(
            f"{path}: column {quote_text(name)} has numbers, but other text too, such as {quote_text(word)}, in more"
            f" than one of ten cells: each of its values is a category. To read it as numbers, {remedy}."
        )
    return FeatureTable(
        path, names, torch.from_numpy(encoded.x), encoded.encoding.titles, encoded.encoding, tuple(notes)
    )


def _read_arrays(path: Path, limit: int | None, *, fill: bool, known: FeatureEncoding | None) -> FeatureTable:
    """The features of an npz file. Missing values of a dense matrix are filled in; those of a sparse one are not, since
    few sparse matrices have gaps.
    """
    names, x = feature_matrix(path, read_npz(path, limit))
    if not isinstance(x, Tensor) or (known is None and not (fill and bool(x.isnan().any()))):
        return FeatureTable(path, names, x, tuple(str(i) for i in range(x.shape[1])))
    encoded = encode_matrix(x.numpy(), known)
    if encoded.missing and not fill:
        return FeatureTable(path, names, x, tuple(str(i) for i in range(x.shape[1])))
    notes = (_missing_note(path, encoded.missing, names, known),) if encoded.missing else ()
    return FeatureTable(path, names, torch.from_numpy(encoded.x), encoded.encoding.titles, encoded.encoding, notes)


def _missing_note(
    path: Path, missing: Mapping[str, np.ndarray], names: pa.Array | None, known: FeatureEncoding | None
) -> str:
    """How many values were filled in and of which nodes, in one sentence; `known`: by the encoding of a run."""
    shown = ", ".join(f"{len(rows):,} in {quote_text(name)}" for name, rows in list(missing.items())[:5])
    more = f" and {len(missing) - 5:,} columns more" if len(missing) > 5 else ""
    rows = np.unique(np.concatenate(list(missing.values())))
    whose = [f"row {row + 1}" for row in rows] if names is None else names.take(pa.array(rows)).to_pylist()
    count = "1 node" if len(rows) == 1 else f"{len(rows):,} nodes"
    total = sum(map(len, missing.values()))
    number = "1 missing value" if total == 1 else f"{total:,} missing values"
    about = f"{path}: {number} ({shown}{more}) of {count} ({format_some_names(whose, 3)}) got the mean"
    if known is not None:
        return f"{about} that their column had in the fit, or no value where it is text."
    return (
        f"{about} of their column, or no value where it is text; an added column marks them (--missing-values error"
        " refuses)."
    )


def _require_finite(features: FeatureTable) -> None:
    if isinstance(features.x, Tensor):
        bad = (~torch.isfinite(features.x)).nonzero()
        first = None if not len(bad) else (int(bad[0, 0]), int(bad[0, 1]))
    else:
        rows = features.x.tocoo()
        wrong = np.flatnonzero(~np.isfinite(rows.data))
        first = None if not len(wrong) else (int(rows.row[wrong[0]]), int(rows.col[wrong[0]]))
    if first is not None:
        row, column = first
        who = f"row {row + 1}" if features.names is None else f"node {quote_text(features.names[row])}"
        raise InputError(
            f"{features.path}: {who} has NaN, infinity, no value or one beyond single precision (3.4e38) in column "
            f"{quote_text(features.columns[column])}: fill it in"
        )
