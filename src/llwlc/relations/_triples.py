"""Triples: links with a direction and a type, as numbers and names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from llwlc._io.edge_source import open_edges
from llwlc._io.file_bytes import UNZIPPED_LIMIT
from llwlc._io.memory_table import TableSource
from llwlc._io.table_file import TableFile, arrow_errors
from llwlc._support.text import quote_text
from llwlc.errors import InputError
from llwlc.graph._edge_file import check_attribute_columns, find_ends, require_column
from llwlc.graph._link_attributes import read_attributes
from llwlc.graph._names import as_names, find_nodes, suggest_name

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Triples:
    """Distinct links `rows [t, 3]`: numbers of source, type and target; `names` of the nodes and `types` of the links,
    both sorted. `num_rows` of the table that they were read from, its column of types (`relation`), and its columns
    that are `unused`. `attributes [t, A]`: numbers of each link, called `attribute_names`; None without.

    >>> Triples.of([("Ada", "knows", "Bob"), ("Ada", "pays", "Bob"), ("Ada", "knows", "Bob")])
    Triples(nodes=2, types=2, links=2)
    """

    rows: Integers
    names: tuple[str, ...]
    types: tuple[str, ...]
    num_rows: int = 0
    unused: tuple[str, ...] = ()
    relation: str = "type"
    attributes: NDArray[np.float64] | None = None
    attribute_names: tuple[str, ...] = ()

    @classmethod
    def of(cls, triples: Sequence[tuple[str, str, str]]) -> Triples:
        """The triples of names: source, type, target.

        Args:
            triples: at least one.
        """
        columns = list(zip(*triples, strict=True)) or [(), (), ()]
        return _number(*(pa.array(list(map(str, column)), pa.string()) for column in columns))

    @property
    def num_nodes(self) -> int:
        """The number of nodes."""
        return len(self.names)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Triples(nodes={self.num_nodes}, types={len(self.types)}, links={len(self)})"

    def find(self, triples: Any) -> Integers:
        """The numbers `[m, 3]` of triples of names; unknown names are refused.

        Args:
            triples: source, type, target of each.
        """
        columns = [pa.array(list(map(str, column)), pa.string()) for column in zip(*triples, strict=True)]
        if not columns:
            return np.zeros((0, 3), dtype=np.int64)
        known = (self.names, self.types, self.names)
        at = np.stack([find_nodes(c, k, len(k)) for c, k in zip(columns, known, strict=True)], 1)
        if (at < 0).any():
            row, place = np.argwhere(at < 0)[0]
            name = columns[place][int(row)].as_py()
            what = "type of links" if place == 1 else "node"
            hint = suggest_name(name, known[place], len(known[place]))
            raise InputError(f"there is no {what} {quote_text(name)}.{hint}")
        return at

    def select(self, at: NDArray[Any]) -> Triples:
        """The same nodes and types with some of the links.

        Args:
            at: their places `[m]`, or a mask `[t]`.
        """
        values = None if self.attributes is None else self.attributes[at]
        return replace(self, rows=self.rows[at], attributes=values)


def read_triples(
    path: TableSource,
    relation: str = "type",
    *,
    source: str | None = None,
    target: str | None = None,
    header: bool | None = None,
    separator: str | None = None,
    unzipped_limit: int | None = UNZIPPED_LIMIT,
    link_attributes: Sequence[str] = (),
) -> Triples:
    """The typed links of a table, one a row, from source to target; repeated ones count once.

    Args:
        path: a CSV, TSV or Parquet file (also gzipped), a pandas or polars frame, an arrow table, or a query.
        relation: the column of types (without a header: "1", "2", ...).
        source: the column of one end; by default a familiar name, else the first column that is not `relation`.
        target: the column of the other end.
        header: whether the first line names the columns; None finds out.
        separator: one character; None finds out.
        unzipped_limit: bytes that a compressed file may unpack to; None for any number.
        link_attributes: columns of numbers of the links; of repeated ones, the mean.

    >>> table = {"source": ["Ada", "Bob"], "type": ["knows", "pays"], "target": ["Bob", "Ada"]}
    >>> read_triples(table).types
    ('knows', 'pays')
    """
    file = open_edges(path, header=header, separator=separator, unzipped_limit=unzipped_limit).file
    with arrow_errors(file.path):
        require_column(file, relation)
        ends = find_ends(without_column(file, relation), source, target)
        columns = [ends.source, relation, ends.target]
        numbers = check_attribute_columns(file, link_attributes, {*columns})
        table = file.read(columns=[*columns, *numbers], text=columns)
        one, other = (as_names(table[name], where=f"{file.path}: column {quote_text(name)}") for name in columns[::2])
        kind = as_names(table[relation], where=f"{file.path}: column {quote_text(relation)}", what="type of links")
        values = read_attributes(table, numbers, where=str(file.path)).numpy() if numbers else None
    if not len(one):
        raise InputError(f"{file.path} has no rows: typed links need at least one")
    unused = tuple(name for name in file.columns if name and name not in (*columns, *numbers))
    found = _number(one, kind, other, values)
    return replace(found, unused=unused, relation=relation, attribute_names=numbers)


def without_column(file: TableFile, relation: str) -> TableFile:
    """The file as if it lacked the column of types, which is no end of a link."""
    return replace(file, columns=tuple(name for name in file.columns if name != relation))


def _number(
    source: pa.Array, relation: pa.Array, target: pa.Array, values: NDArray[np.float64] | None = None
) -> Triples:
    nodes, kinds = (pc.unique(pa.concat_arrays(part)) for part in ([source, target], [relation]))
    nodes, kinds = (part.take(pc.sort_indices(part)) for part in (nodes, kinds))
    columns = ((source, nodes), (relation, kinds), (target, nodes))
    rows = np.stack([pc.index_in(column, value_set=known).to_numpy() for column, known in columns], 1)
    rows, mean = merge_rows(rows.astype(np.int64), values)
    return Triples(rows, tuple(nodes.to_pylist()), tuple(kinds.to_pylist()), len(source), attributes=mean)


def merge_rows(rows: Integers, values: NDArray[np.float64] | None) -> tuple[Integers, NDArray[np.float64] | None]:
    """Distinct rows `[t, 3]`, sorted, and the mean of the values `[m, A]` of those that are equal."""
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    if values is None:
        return distinct, None
    place = place.reshape(-1)
    total = np.zeros((len(distinct), values.shape[1]))
    np.add.at(total, place, values)
    return distinct, total / np.bincount(place, minlength=len(distinct))[:, None]
