"""How the columns of a features table become numbers, in a record that is kept with the graph, so that new rows are
read as the old ones were.

A number stays as it is; where it is missing, the mean of its column stands for it, and a column `name missing` says 1.
A text becomes a column 0/1 for each of its values, in sorted order, and one for no value where values are missing. A
column of texts of which nine in ten are numbers is read as numbers, its other texts as missing. A column without any
value is left out. A node without a row has the means and no value of any text, and a column `no row` says 1. Missing
are empty cells and those that say NA, N/A, NaN or null.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from llwlc._io.table_file import as_numbers
from llwlc._support.records import read_record
from llwlc._support.text import quote_text
from llwlc.errors import InputError

MOST_CATEGORIES = 1000
NO_ROW = "no row"
MOSTLY = 0.9
"""A text column is read as numbers if at least this share of its values are numbers."""
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
MISSING_TEXTS = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null")
"""Cells that count as missing: those that arrow reads as null in columns of numbers."""


@dataclass(frozen=True)
class ColumnCode:
    """One column of the table. `values`: its distinct texts, None for a column of numbers; `fill`: the number that
    replaces a missing one; `gaps`: whether an added column marks missing values.
    """

    name: str
    values: tuple[str, ...] | None = None
    fill: float = 0.0
    gaps: bool = False

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles of the numeric columns that this column becomes."""
        named = (self.name,) if self.values is None else tuple(f"{self.name}={value}" for value in self.values)
        return (*named, f"{self.name} missing") if self.gaps else named

    @property
    def blank(self) -> list[float]:
        """The numbers for a node without a row. The gap column stays 0: the column `no row` marks the node once for all
        columns.
        """
        known = [self.fill] if self.values is None else [0.0] * len(self.values)
        return [*known, 0.0] if self.gaps else known


@dataclass(frozen=True)
class FeatureEncoding:
    """All columns of a table; `no_row`: whether a last column marks the nodes that have no row."""

    columns: tuple[ColumnCode, ...]
    no_row: bool = False

    @property
    def titles(self) -> tuple[str, ...]:
        return (*(title for column in self.columns for title in column.titles), *([NO_ROW] if self.no_row else []))

    @property
    def blank(self) -> np.ndarray:
        """The numbers for a node without a row, the column `no row` left out."""
        return np.array([number for column in self.columns for number in column.blank], dtype=np.float32)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str, where: str) -> FeatureEncoding:
        """Reads what `to_json` wrote; anything else is an error that names `where` it was found."""
        found: Any = json.loads(text)
        columns = tuple(
            replace(
                read_record(ColumnCode, {**column, "values": None}, where),
                values=None if column["values"] is None else tuple(map(str, column["values"])),
            )
            for column in found["columns"]
        )
        return cls(columns, bool(found["no_row"]))


@dataclass(frozen=True)
class EncodedFeatures:
    """`x [r, F]`, the encoding that made it, and the rows of missing values, by column; `unseen`: how many texts the
    encoding has no column for; `mixed`: of columns read as texts although most of their values are numbers, or some
    have a decimal comma, one that is not.
    """

    x: np.ndarray
    encoding: FeatureEncoding
    missing: dict[str, np.ndarray]
    unseen: dict[str, int]
    mixed: dict[str, str] = field(default_factory=dict)


def is_decimal_comma(text: str) -> bool:
    """Whether a text is a number with a decimal comma, which is not read as one.

    >>> is_decimal_comma("151,5"), is_decimal_comma("Graz")
    (True, False)
    """
    return re.fullmatch(r"[+-]?[0-9]+,[0-9]+", text) is not None


def encode_table(
    path: Path,
    table: pa.Table,
    names: pa.Array,
    *,
    categorical: Sequence[str],
    fill: bool,
    known: FeatureEncoding | None,
) -> EncodedFeatures:
    """The columns of a table as numbers, by an encoding that is known already or by one that is made of them; without
    `fill`, a missing value is an error.
    """
    blocks: list[np.ndarray] = []
    codes: list[ColumnCode] = []
    missing: dict[str, np.ndarray] = {}
    unseen: dict[str, int] = {}
    mixed: dict[str, str] = {}
    columns = dict(zip(table.column_names, table.columns, strict=True))
    wanted = list(columns) if known is None else [code.name for code in known.columns]
    for at, name in enumerate(wanted):
        where = f"{path}: column {quote_text(name)}"
        if name not in columns:
            raise InputError(f"{path} has no column {quote_text(name)}, with which the run was fitted: add it")
        before = None if known is None else known.columns[at]
        textual = name in categorical or (before is not None and before.values is not None)
        numbers = None if textual else _as_mostly_numbers(columns[name], always=before is not None)
        if numbers is not None:
            code, block, gaps = _numeric(name, numbers, before)
        else:
            code, block, gaps, others = _categories(columns[name], where, name, before)
            unseen |= {name: others} if others else {}
            words = [value for value in code.values or () if not re.match(NUMBER, value)]
            commas = [word for word in words if is_decimal_comma(word)]
            if before is None and name not in categorical and (commas or 0 < 2 * len(words) < len(code.values or ())):
                mixed[name] = (commas or words)[0]
        if known is None and len(gaps) == len(names):
            continue  # a column without any value
        if len(gaps):
            if not fill:
                cell = columns[name][int(gaps[0])].as_py()
                what = (
                    f"says {quote_text(cell)}, which is not a number,"
                    if isinstance(cell, str) and cell.strip() not in MISSING_TEXTS
                    else "is empty"
                )
                raise InputError(
                    f"{where} {what} for node {quote_text(names[int(gaps[0])])}: fill it in, or leave --missing-values"
                    " at fill"
                )
            missing[name] = gaps
        codes.append(code)
        blocks.append(block)
    if not blocks:
        raise InputError(f"{path} has no column with a value besides the node ids: there are no features in it")
    return EncodedFeatures(
        np.concatenate(blocks, 1),
        FeatureEncoding(tuple(codes), False if known is None else known.no_row),
        missing,
        unseen,
        mixed,
    )


def encode_matrix(x: np.ndarray, known: FeatureEncoding | None = None) -> EncodedFeatures:
    """A matrix of numbers by the same rule, its columns called "0", "1", …"""
    before = [None] * x.shape[1] if known is None else list(known.columns)
    if len(before) != x.shape[1]:
        raise InputError(
            f"the features have {x.shape[1]} columns, but the run was fitted on {len(before)}: give the same columns"
        )
    parts = [_numeric(str(i), column, code) for i, (column, code) in enumerate(zip(x.T, before, strict=True))]
    matrix = np.concatenate([block for _, block, _ in parts], 1) if parts else x
    missing = {code.name: gaps for code, _, gaps in parts if len(gaps)}
    return EncodedFeatures(
        matrix,
        FeatureEncoding(tuple(code for code, _, _ in parts), False if known is None else known.no_row),
        missing,
        {},
    )


def _as_mostly_numbers(column: pa.ChunkedArray, *, always: bool) -> np.ndarray | None:
    """A column as numbers, NaN where a cell is not a number; None if too few cells are numbers. `always`: convert it
    however few are.
    """
    numbers = as_numbers(column)
    if numbers is not None:
        return numbers
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_null(column.type)):
        return None
    text = pc.utf8_trim_whitespace(pc.fill_null(column.combine_chunks().cast(pa.string()), ""))
    here = pc.invert(pc.is_in(text, value_set=pa.array(MISSING_TEXTS)))
    number = pc.and_(here, pc.match_substring_regex(text, NUMBER))
    count, found = pc.sum(here).as_py() or 0, pc.sum(number).as_py() or 0
    if not always and (not found or found < MOSTLY * count):
        return None
    values = pc.if_else(number, text, None).cast(pa.float64())
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _numeric(name: str, numbers: np.ndarray, before: ColumnCode | None) -> tuple[ColumnCode, np.ndarray, np.ndarray]:
    gap = np.isnan(numbers)
    if before is None:
        there = numbers[~gap]
        finite = there[np.isfinite(there)]  # the caller refuses infinite values, by node and column
        before = ColumnCode(name, None, float(finite.mean()) if len(finite) else 0.0, bool(gap.any()))
    filled = np.where(gap, before.fill, numbers).astype(np.float32)
    columns = [filled, gap.astype(np.float32)] if before.gaps else [filled]
    return before, np.stack(columns, 1), np.flatnonzero(gap)


def _categories(
    column: pa.ChunkedArray, where: str, name: str, before: ColumnCode | None
) -> tuple[ColumnCode, np.ndarray, np.ndarray, int]:
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        raise InputError(f"{where} is of type {column.type}: give numbers or text, one value per cell (or an npz file)")
    text = pc.utf8_trim_whitespace(pc.fill_null(column.combine_chunks().cast(pa.string()), ""))
    empty = pc.is_in(text, value_set=pa.array(MISSING_TEXTS)).to_numpy(zero_copy_only=False)
    if before is None:
        values = pc.unique(text.filter(pa.array(~empty)))
        if len(values) > MOST_CATEGORIES:
            raise InputError(
                f"{where} has {len(values):,} different values, too many for categories ({MOST_CATEGORIES}): "
                "if it is free text or a second id, remove it; if it names the nodes, say so with --node"
            )
        before = ColumnCode(name, tuple(sorted(values.to_pylist())), 0.0, bool(empty.any()))
    assert before.values is not None
    at = pc.fill_null(pc.index_in(text, value_set=pa.array(before.values, pa.string())), -1).to_numpy()
    hot = np.zeros((len(text), len(before.values) + before.gaps), dtype=np.float32)
    hot[np.flatnonzero(at >= 0), at[at >= 0]] = 1
    if before.gaps:
        hot[empty, -1] = 1
    return before, hot, np.flatnonzero(empty), int(((at < 0) & ~empty).sum())
