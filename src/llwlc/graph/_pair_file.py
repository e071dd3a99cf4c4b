"""Pairs of nodes to score, from a table that names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from llwlc._io.database_url import refuse_url
from llwlc._io.file_bytes import UNZIPPED_LIMIT
from llwlc._io.memory_table import TableSource, is_frame, open_source, to_arrow
from llwlc._io.table_file import TableFile, arrow_errors
from llwlc._support.text import quote_text
from llwlc.errors import InputError
from llwlc.graph._edge_file import find_ends
from llwlc.graph._graph import Graph
from llwlc.graph._id_spaces import find_ends_of_pairs
from llwlc.graph._names import as_names, suggest_name

RESERVED_COLUMNS = ("score", "probability")
"""Columns that scoring adds; a table's own column of that name is renamed."""
DIRECTED_COLUMNS = (*RESERVED_COLUMNS, "direction")
"""Those that scoring by a directed run adds."""
MOST_UNKNOWN = 10
"""Unknown names that a message lists."""
UNKNOWN_POLICIES = ("error", "skip", "blank")
"""What happens to a pair that cannot be scored: error, the whole table is refused; skip, the row is left out; blank,
the row has no score.
"""


class PairTable(NamedTuple):
    """`pairs [k, 2]`: node numbers; `rows [k]`: the row of the `table` that each comes from. The table has all columns
    of the input; those with the name of a column that scoring adds are `renamed` (old name to new). `note`: what is
    wrong with the rows that have no pair, "" if all have one."""

    pairs: Tensor
    rows: np.ndarray
    table: pa.Table
    renamed: Mapping[str, str]
    note: str


def read_pairs(
    path: TableSource,
    graph: Graph,
    *,
    source: str | None = None,
    target: str | None = None,
    header: bool | None = None,
    separator: str | None = None,
    unknown: str = "error",
    verbatim: bool = False,
    unzipped_limit: int | None = UNZIPPED_LIMIT,
    reserved: Sequence[str] = RESERVED_COLUMNS,
) -> PairTable:
    """The pairs of a table, in a CSV, TSV or Parquet file or in memory, whose columns are found as `read_graph` finds
    them.

    A first line that names two nodes of the graph is a pair, no header; the two columns are then called source and
    target. All columns are kept under their names and in their order: `verbatim` as text just as they are written,
    otherwise numbers as numbers, except codes with leading zeros. A column with a `reserved` name, score or
    probability, gets the suffix `_given`, as often as it takes.

    A pair with an unknown node, with none, or of a node with itself cannot be scored; `unknown` says what becomes of
    it: "error", "skip" or "blank".
    """
    if unknown not in UNKNOWN_POLICIES:
        raise InputError(f"unknown is one of {', '.join(map(quote_text, UNKNOWN_POLICIES))}, got {quote_text(unknown)}")
    file = open_source(path, header=header, separator=separator, unzipped_limit=unzipped_limit)
    with arrow_errors(file.path):
        ends = find_ends(file, source, target)
        if header is None and file.separator is not None and file.has_header and not ends.certain:
            first = as_names(pa.array(ends[:2]), where=f"{path}: header")
            if (find_ends_of_pairs((first[:1], first[1:]), graph) >= 0).all():
                file = file.without_header()
                ends = find_ends(file)
        table = file.read(text=file.columns if verbatim else ends[:2])
        if not verbatim and (codes := find_codes(file, table)):
            table = file.read(text=[*ends[:2], *codes])
        if not table.num_rows:
            raise InputError(f"{file.path} has no pairs: give one pair a row")
        names = [as_names(table[name], where=f"{file.path}: column {quote_text(name)}", gaps=True) for name in ends[:2]]
    at = find_ends_of_pairs(names, graph)
    good = (at >= 0).all(1) & (at[:, 0] != at[:, 1])
    note = "" if good.all() else _complaint(at, names, graph, file.path)
    if note and unknown == "error":
        raise InputError(
            f"{note} Correct these rows, or leave them out (--unknown skip) or without a score (--unknown blank); nodes"
            " that are new need a graph that has them (--graph, --add, --node-list, --new-nodes)"
        )
    titles = list(table.column_names)
    if not file.has_header:
        titles = [{ends.source: "source", ends.target: "target"}.get(name, name) for name in titles]
    renamed = rename_reserved(titles, reserved)
    rows = np.flatnonzero(good)
    table = table.rename_columns([renamed.get(name, name) for name in titles])
    return PairTable(torch.from_numpy(at[rows]), rows, table, renamed, note)


def find_codes(file: TableFile, table: pa.Table) -> list[str]:
    """Columns of a text file that arrow reads as integers, though some have leading zeros: codes such as 007, which a
    number would lose.
    """
    whole = [name for name in table.column_names if pa.types.is_integer(table[name].type)]
    if file.separator is None or not whole:
        return []
    text = file.read(columns=whole, text=whole)
    return [name for name in whole if pc.any(pc.match_substring_regex(text[name], r"^\s*[+-]?0[0-9]")).as_py()]


def rename_reserved(columns: Sequence[str], reserved: Sequence[str]) -> dict[str, str]:
    """New names for the columns that have a reserved one, none of them in use.

    >>> rename_reserved(["score", "score_given", "age"], RESERVED_COLUMNS)
    {'score': 'score_given_given'}
    """
    new_names: dict[str, str] = {}
    for name in columns:
        if name in reserved:
            new = f"{name}_given"
            while new in columns:
                new += "_given"
            new_names[name] = new
    return new_names


def _complaint(at: np.ndarray, names: list[pa.Array], graph: Graph, path: Path) -> str:
    """What is wrong with the rows that cannot be scored: how many, and the first few of each kind."""
    absent = (at < 0).any(1)
    same = np.flatnonzero((at[:, 0] == at[:, 1]) & ~absent)
    text = []
    if absent.any():
        by_kind: dict[str, int] = {}
        for row, side in np.argwhere(at < 0):
            by_kind.setdefault(names[side][int(row)].as_py(), int(row) + 1)
            if len(by_kind) == MOST_UNKNOWN:
                break
        rows_by_name = "; ".join(
            f"{quote_text(name) if name else 'no name'} in row {row}" for name, row in by_kind.items()
        )
        more = int(absent.sum()) - len(by_kind)
        hint = suggest_name(next(iter(by_kind)), graph.names, graph.num_nodes)
        text.append(
            "names nodes that the graph does not have:"
            f" {rows_by_name}{f' (and {_more_rows(more)})' if more > 0 else ''}.{hint}"
        )
    if len(same):
        who = names[0][int(same[0])].as_py()
        more_same = f" (and in {_more_rows(len(same) - 1)})" if len(same) > 1 else ""
        text.append(f"pairs {quote_text(who)} with itself in row {same[0] + 1}{more_same}: a link needs two nodes.")
    return f"{path}: {int(absent.sum()) + len(same):,} of {len(at):,} pairs cannot be scored. It " + " It ".join(text)


def _more_rows(count: int) -> str:
    return f"{count:,} more row{'' if count == 1 else 's'}"


def are_numbers(pairs: Any) -> bool:
    """Whether pairs are node numbers: only tensors and arrays of numbers are, everything else holds names."""
    return isinstance(pairs, Tensor) or (isinstance(pairs, np.ndarray) and pairs.dtype.kind not in "USO")


def resolve_pairs(pairs: Any, graph: Graph) -> Tensor:
    """Pairs as node numbers `[m, 2]`: names, in any form that `read_pairs` takes, are looked up, numbers stay as they
    are.
    """
    if are_numbers(pairs):
        return torch.as_tensor(pairs)
    if is_frame(pairs):
        return read_pairs(pairs, graph).pairs
    names = [pa.array(column.to_pylist(), pa.string()) for column in to_arrow(pairs).columns]
    at = find_ends_of_pairs(names, graph)
    if (at < 0).any():
        end, row = np.argwhere(at.T < 0)[0]
        unknown = names[end][int(row)].as_py()
        raise InputError(f"the graph has no node {unknown!r}.{suggest_name(unknown, graph.names, graph.num_nodes)}")
    return torch.as_tensor(at)


def resolve_known_pairs(pairs: Any, graph: Graph, *, what: str) -> Tensor:
    """The node numbers `[k, 2]` of pairs that are not to be scored but known for something, in a file or in any form
    that `resolve_pairs` takes; `what` they are, for messages. A pair with an unknown node is an error, and an empty
    list is allowed.
    """
    if not are_numbers(pairs) and not isinstance(pairs, str | Path) and not is_frame(pairs) and not len(pairs):
        return torch.empty(0, 2, dtype=torch.long)
    if are_numbers(pairs):
        numbers = torch.as_tensor(pairs)
        whole = numbers.ndim == 2 and numbers.shape[1] == 2 and not numbers.is_floating_point()
        if not whole or (len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < graph.num_nodes):
            raise InputError(
                f"{what} are pairs of node numbers from 0 to {graph.num_nodes - 1}, of shape [k, 2], got"
                f" {tuple(numbers.shape)} of {numbers.dtype}"
            )
        return numbers.long()
    if isinstance(pairs, str | Path):
        refuse_url(pairs, f"write the {what} to a file such as pairs.csv, or in Python give llwlc.Query(url, sql)")
    found = read_pairs(pairs, graph, unknown="skip")
    if found.note:
        raise InputError(f"{what}: {found.note.replace('cannot be scored', 'are no pairs of this graph')}")
    return found.pairs
