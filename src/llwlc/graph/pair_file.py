"""Pairs of nodes to score, from a file that names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from llwlc.errors import InputError
from llwlc.graph.edge_file import find_ends
from llwlc.graph.file_bytes import UNZIPPED_LIMIT
from llwlc.graph.graph import Graph
from llwlc.graph.names import as_names, find_nodes, suggestion
from llwlc.graph.table_file import arrow_errors, open_table
from llwlc.support.text import quoted

# columns that scoring writes; a file's own column of that name steps aside
RESERVED = ("source", "target", "score", "probability")


class Pairs(NamedTuple):
    """`pairs [m, 2]` node numbers; `table` their names as `source` and `target`, then the file's other columns, of which those that had the name
    of one that scoring writes are `renamed`: from, to."""

    pairs: Tensor
    table: pa.Table
    renamed: Mapping[str, str]


def read_pairs(
    path: str | Path,
    graph: Graph,
    *,
    source: str | None = None,
    target: str | None = None,
    header: bool | None = None,
    separator: str | None = None,
    unzipped_limit: int | None = UNZIPPED_LIMIT,
) -> Pairs:
    """The pairs of a CSV, TSV or Parquet file, whose columns are found as `read_graph` finds them.

    A first line that names two nodes of the graph is a pair, no header. Other columns are kept; one called source, target,
    score or probability gets `_given` behind its name, as often as it takes. An unknown node or a node paired with itself is an error.
    """
    file = open_table(path, header=header, separator=separator, unzipped_limit=unzipped_limit)
    with arrow_errors(file.path):
        ends = find_ends(file, source, target)
        if header is None and file.separator is not None and file.has_header and not ends.certain:
            first = as_names(pa.array(ends[:2]), where=f"{path}: header")
            if (find_nodes(first, graph.names, graph.num_nodes) >= 0).all():
                file = file.without_header()
                ends = find_ends(file)
        table = file.read(text=ends[:2])
        if not table.num_rows:
            raise InputError(f"{path} has no pairs: give one pair a row")
        names = [as_names(table[name], where=f"{path}: column {quoted(name)}") for name in ends[:2]]
    at = np.stack([find_nodes(column, graph.names, graph.num_nodes) for column in names], 1)
    _require_known(at, names, graph, path)
    same = np.flatnonzero(at[:, 0] == at[:, 1])
    if len(same):
        who = names[0][same[0]].as_py()
        raise InputError(f"{path}: row {same[0] + 1} pairs {quoted(who)} with itself: a link needs two nodes")
    others = [name for name in table.column_names if name not in ends[:2]]
    renamed = _renamed(others)
    kept = {renamed.get(name, name): table[name] for name in others}
    return Pairs(torch.from_numpy(at), pa.table({"source": names[0], "target": names[1], **kept}), renamed)


def _renamed(columns: Sequence[str]) -> dict[str, str]:
    """New names for the columns that have a reserved one, none of them in use.

    >>> _renamed(["score", "score_given", "age"])
    {'score': 'score_given_given'}
    """
    found: dict[str, str] = {}
    for name in columns:
        if name in RESERVED:
            new = f"{name}_given"
            while new in columns:
                new += "_given"
            found[name] = new
    return found


def _require_known(at: np.ndarray, names: list[pa.Array], graph: Graph, path: str | Path) -> None:
    unknown = np.argwhere(at < 0)
    if not len(unknown):
        return
    found: dict[str, int] = {}
    for row, side in unknown:
        found.setdefault(names[side][int(row)].as_py(), int(row) + 1)
        if len(found) == 3:
            break
    listed = "; ".join(f"{quoted(name)} in row {row}" for name, row in found.items())
    more = f" (and {len(unknown) - len(found)} more)" if len(unknown) > len(found) else ""
    hint = suggestion(next(iter(found)), graph.names, graph.num_nodes)
    raise InputError(
        f"{path} names nodes that the graph does not have: {listed}{more}.{hint} Correct or drop these rows"
    )
