"""LinkAttributes: numbers of links beyond their weight, looked up by the links of a graph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from llwlc._io.feature_encoding import MISSING_TEXTS, NUMBER
from llwlc._io.table_file import as_numbers
from llwlc._support.text import quote_text
from llwlc.errors import InputError


@dataclass(frozen=True, eq=False)
class LinkAttributes:
    """Attributes `names`, A of them, of links `pairs [m, 2]`, smaller node first, sorted: `values [m, A]`.

    A graph of some of the links keeps the whole table; what is computed from a graph reads the values of its own links
    only (`of_entries`), so a hidden link's attributes are hidden too.

    >>> links = torch.tensor([[0, 1], [2, 1], [1, 0]])
    >>> found = LinkAttributes.of(("years",), links, torch.tensor([[2.0], [5.0], [4.0]]))
    >>> found.pairs.tolist(), found.values.tolist()
    ([[0, 1], [1, 2]], [[3.0], [5.0]])
    """

    names: tuple[str, ...]
    pairs: Tensor
    values: Tensor

    @classmethod
    def of(cls, names: Sequence[str], pairs: Tensor, values: Tensor) -> LinkAttributes:
        """The mean over the rows of each link, in either direction; self-loops are dropped."""
        proper = pairs[:, 0] != pairs[:, 1]
        ends, given = pairs[proper].sort(1).values, values[proper].double()
        links, at = torch.unique(ends, dim=0, return_inverse=True)
        total = torch.zeros(len(links), given.shape[1], dtype=torch.float64).index_add_(0, at, given)
        count = torch.bincount(at, minlength=len(links)).clamp(min=1)
        return cls(tuple(names), links, (total / count[:, None]).float())

    def of_entries(self, indptr: Tensor, indices: Tensor) -> Tensor:
        """The values `[e, A]` of the entries of a graph in CSR, each of which is a link of the table."""
        n = len(indptr) - 1
        row = torch.repeat_interleave(torch.arange(n), indptr.diff())
        wanted = torch.minimum(row, indices) * n + torch.maximum(row, indices)
        known = self.pairs[:, 0] * n + self.pairs[:, 1]
        at = torch.searchsorted(known, wanted).clamp(max=max(len(known) - 1, 0))
        if len(wanted) and not (len(known) and torch.equal(known[at], wanted)):
            raise InputError("some links of this graph have no attributes: read it with those that the run was given")
        return self.values[at]


def _first_text(column: pa.ChunkedArray) -> str:
    """The first cell that is text and no number, and its row."""
    for row, cell in enumerate(column.to_pylist(), 1):
        if isinstance(cell, str) and cell.strip() not in MISSING_TEXTS and not re.match(NUMBER, cell):
            return f" (row {row} says {quote_text(cell)})"
    return ""


def read_attributes(table: pa.Table, names: Sequence[str], *, where: str) -> Tensor:
    """The values `[rows, A]` of columns of numbers; a missing or infinite one is refused."""
    columns = []
    for name in names:
        values = as_numbers(table[name])
        if values is None:
            raise InputError(
                f"{where}: column {quote_text(name)} is no number{_first_text(table[name])}, and attributes of links"
                " are: leave it out of --link-attributes. A column of link types is for --relation"
            )
        wrong = ~(np.abs(values) < 1e30)
        if wrong.any():
            raise InputError(
                f"{where}: column {quote_text(name)} is empty, infinite or huge in row {int(wrong.argmax()) + 1} (in"
                f" {int(wrong.sum()):,} of {len(wrong):,} rows): fill it in, with 0 or the mean say, drop such rows, or"
                " leave the column out of --link-attributes"
            )
        columns.append(values)
    return torch.from_numpy(np.stack(columns, 1))
