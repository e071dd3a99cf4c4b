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

from llwlc.errors import InputError
from llwlc.graph.file_bytes import UNZIPPED_LIMIT
from llwlc.graph.graph import Graph
from llwlc.graph.names import all_integers, as_names, find_nodes, some
from llwlc.graph.npz_file import read_npz
from llwlc.graph.table_file import arrow_errors, as_numbers, open_table
from llwlc.support.text import quoted, reason

ID_COLUMNS = ("node", "id", "name", "nodeid", "node_id", "index")
MOST_CATEGORIES = 1000
MOST_COLUMNS = 1 << 24  # of a sparse matrix: each takes some bytes, filled or not


class Features(NamedTuple):
    """Feature rows as read: `names [r]` or None (rows in the order of the nodes), `x [r, F]`, `columns` F names."""

    path: Path
    names: pa.Array | None
    x: Tensor | scipy.sparse.csr_array
    columns: tuple[str, ...]


def read_features(
    path: str | Path,
    *,
    node: str | None = None,
    categorical: Sequence[str] = (),
    unzipped_limit: int | None = UNZIPPED_LIMIT,
) -> Features:
    """Features of a table or an npz file, as float32.

    Table (CSV, TSV, Parquet, also gzipped): one row a node; `node` names the column of ids, else one called node, id, name,
    node_id or index, else the first. Numeric and boolean columns are taken as they are; text, and the columns named in
    `categorical`, become one column 0/1 for each value, in sorted order (at most 1000 values).

    npz: `x [r, F]`, or a CSR matrix as `x_indptr`, `x_indices`, `x_data`, `x_shape` or as scipy.sparse.save_npz writes it;
    `names [r]` beside it, or none: then the rows are the nodes in the graph's order, or, where there are more rows than
    nodes and the ids are integers, row i belongs to node i.

    A missing or infinite value, or one beyond single precision, is an error that names node and column. A compressed file that unpacks to more
    than `unzipped_limit` bytes is refused.
    """
    path = Path(path)
    # what is beyond single precision becomes infinite, which is looked for below
    with arrow_errors(path), np.errstate(over="ignore"):
        if path.suffix == ".npz":
            found = _from_arrays(path, read_npz(path, unzipped_limit))
        else:
            found = _read_table(path, node, categorical, unzipped_limit)
    if found.names is not None:
        counts = pc.value_counts(found.names)
        twice = counts.filter(pc.greater(counts.field("counts"), 1)).field("values").to_pylist()
        if twice:
            raise InputError(f"{path} has more than one row for {some(twice)}: keep one row a node")
    _require_finite(found)
    return found


def join_features(graph: Graph, features: Features, *, remedy: str = "") -> Graph:
    """The graph with these features, row by row under the right node; a node missing or too many is an error."""
    n = graph.num_nodes
    names = resolve_names(features, graph.names, n)
    if names is None:
        return replace(graph, x=features.x)
    at = find_nodes(names, graph.names, n)
    row = np.full(n, -1)
    row[at[at >= 0]] = np.flatnonzero(at >= 0)
    lacking = np.flatnonzero(row < 0)
    if len(lacking):
        who = [str(i) if graph.names is None else graph.names[i] for i in lacking.tolist()]
        raise InputError(
            f"{features.path} has no features for {len(who):,} of {n:,} nodes: {some(who)}. Add a row for each"
        )
    if (at < 0).any():
        extra = names.filter(pa.array(at < 0)).to_pylist()
        raise InputError(
            f"{features.path} has features for {len(extra):,} node(s) that have no edge: {some(extra)}.{remedy}"
        )
    return replace(graph, x=features.x[torch.from_numpy(row) if isinstance(features.x, Tensor) else row])


def resolve_names(features: Features, names: Sequence[str] | None, num_nodes: int) -> pa.Array | None:
    """Whom the rows belong to, for a graph of these nodes; None if they are in the graph's own order."""
    rows = features.x.shape[0]
    if features.names is not None or rows == num_nodes:
        return features.names
    top = num_nodes - 1 if names is None else int(names[-1]) if all_integers(names) else rows
    if rows < num_nodes or top >= rows:
        raise InputError(
            f"{features.path} has {rows:,} feature rows and no names, the graph has {num_nodes:,} nodes: give one row a node, "
            "or an array `names` that says whose they are"
        )
    return pa.array(range(rows)).cast(pa.string())


def _read_table(path: Path, node: str | None, categorical: Sequence[str], limit: int | None) -> Features:
    file = open_table(path, unzipped_limit=limit)
    node = id_column(path, file.columns, node, categorical)
    table = file.read(text=[node, *categorical])
    names = as_names(table[node], where=f"{path}: column {quoted(node)}")
    blocks: list[np.ndarray] = []
    columns: list[str] = []
    for name in file.columns:
        if name in (node, ""):  # pandas writes its index under an empty name
            continue
        values = None if name in categorical else as_numbers(table[name])
        if values is not None:
            blocks.append(values.astype(np.float32)[:, None])
            columns.append(name)
        else:
            hot, values_of = _one_hot(table[name], where=f"{path}: column {quoted(name)}", names=names)
            blocks.append(hot)
            columns.extend(f"{name}={value}" for value in values_of)
    if not blocks:
        raise InputError(f"{path} has no column besides the node ids {quoted(node)}: there are no features in it")
    return Features(path, names, torch.from_numpy(np.concatenate(blocks, 1)), tuple(columns))


def id_column(path: Path, columns: Sequence[str], node: str | None, others: Sequence[str] = ()) -> str:
    """The column of node ids: the one that was named, else one with a usual name, else the first; a column that is not there is an error."""
    for name in (*others, *([] if node is None else [node])):
        if name not in columns:
            raise InputError(f"{path} has no column {quoted(name)}: it has {', '.join(map(quoted, columns[:20]))}")
    if node is not None:
        return node
    lower = {name.lower(): name for name in reversed(columns)}
    return next((lower[name] for name in ID_COLUMNS if name in lower), columns[0])


def _one_hot(column: pa.ChunkedArray, *, where: str, names: pa.Array) -> tuple[np.ndarray, list[str]]:
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        raise InputError(f"{where} is of type {column.type}: give numbers or text, one value a cell (or an npz file)")
    text = pc.fill_null(column.combine_chunks().cast(pa.string()), "")
    empty = pc.equal(pc.utf8_trim_whitespace(text), "")
    if pc.any(empty).as_py():
        raise InputError(f"{where} is empty for node {quoted(names[pc.index(empty, True).as_py()])}: fill it in")
    encoded = text.dictionary_encode()
    if len(encoded.dictionary) > MOST_CATEGORIES:
        raise InputError(
            f"{where} has {len(encoded.dictionary):,} different values, too many for categories ({MOST_CATEGORIES}): "
            "if it is free text or a second id, remove it"
        )
    order = pc.sort_indices(encoded.dictionary)
    values: list[str] = encoded.dictionary.take(order).to_pylist()
    rank = np.empty(len(values), dtype=np.int64)
    rank[order.to_numpy()] = np.arange(len(values))
    hot = np.zeros((len(text), len(values)), dtype=np.float32)
    hot[np.arange(len(text)), rank[encoded.indices.to_numpy()]] = 1
    return hot, values


def _from_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> Features:
    x: Tensor | scipy.sparse.csr_array
    # scipy.sparse.save_npz names its format, and CSC has the very arrays of CSR
    form = arrays["format"].item() if "format" in arrays and arrays["format"].ndim == 0 else "csr"
    if form not in (b"csr", "csr"):
        raise InputError(f"{path} holds a sparse matrix as {form!r}: save it as CSR, with matrix.tocsr()")
    for prefix in ("x_", ""):
        keys = [prefix + key for key in ("data", "indices", "indptr", "shape")]
        if all(key in arrays for key in keys):
            x = _sparse(path, keys, *(arrays[key] for key in keys))
            break
    else:
        if "x" not in arrays:
            raise InputError(f"{path} has no array `x`: it has {', '.join(arrays) or 'none'}")
        x = _dense(path, arrays["x"])
    if not x.shape[1]:
        raise InputError(f"{path}: x has no column: there are no features in it")
    names = None if "names" not in arrays else _names(path, arrays["names"])
    if names is not None and len(names) != x.shape[0]:
        raise InputError(f"{path} has {len(names):,} names and {x.shape[0]:,} feature rows: there must be one each")
    return Features(path, names, x, tuple(str(i) for i in range(x.shape[1])))


def _names(path: Path, names: np.ndarray) -> pa.Array:
    if names.ndim != 1 or names.dtype.kind not in "iufUS":
        raise InputError(f"{path}: names must be a list of integers or text, got {names.shape} of {names.dtype}")
    return as_names(pa.array(np.char.decode(names) if names.dtype.kind == "S" else names), where=f"{path}: names")


def _sparse(path: Path, keys: Sequence[str], *arrays: np.ndarray) -> scipy.sparse.csr_array:
    data, indices, indptr, shape = arrays
    try:
        for array, kinds in zip(arrays, ("biuf", "iu", "iu", "iu"), strict=True):
            if array.dtype.kind not in kinds or array.ndim != 1:
                raise ValueError(f"an array is {array.shape} of {array.dtype}")
        rows, columns = shape.tolist()
        if columns > MOST_COLUMNS:
            raise ValueError(f"{columns:,} columns are more than {MOST_COLUMNS:,}")
        x = scipy.sparse.csr_array((data.astype(np.float32), indices, indptr), shape=(rows, columns))
        x.check_format(full_check=True)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise InputError(f"{path} holds no valid CSR matrix in {', '.join(keys)}: {reason(error)}") from error
    return x


def _dense(path: Path, x: np.ndarray) -> Tensor:
    if x.dtype.kind not in "biuf" or x.ndim not in (1, 2):
        raise InputError(f"{path}: x must be numbers of shape [rows, features], got {x.shape} of {x.dtype}")
    return torch.from_numpy(x.reshape(len(x), -1 if x.size else x.shape[-1]).astype(np.float32))


def _require_finite(features: Features) -> None:
    if isinstance(features.x, Tensor):
        bad = (~torch.isfinite(features.x)).nonzero()
        first = None if not len(bad) else (int(bad[0, 0]), int(bad[0, 1]))
    else:
        rows = features.x.tocoo()
        wrong = np.flatnonzero(~np.isfinite(rows.data))
        first = None if not len(wrong) else (int(rows.row[wrong[0]]), int(rows.col[wrong[0]]))
    if first is not None:
        row, column = first
        who = f"row {row + 1}" if features.names is None else f"node {quoted(features.names[row])}"
        raise InputError(
            f"{features.path}: {who} has NaN, infinity, no value or one beyond single precision (3.4e38) in column "
            f"{quoted(features.columns[column])}: fill it in"
        )
