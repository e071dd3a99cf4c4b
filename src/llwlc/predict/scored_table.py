"""Tables of pairs with their scores, of the same type as the input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from torch import Tensor

from llwlc.graph.memory_table import TableSource, is_frame, like
from llwlc.graph.pair_file import RESERVED, Pairs


class Scores(NamedTuple):
    """`score [m]`, any real number, larger is likelier; `probability [m]`, calibrated for the prior that was stated."""

    score: Tensor
    probability: Tensor


class ScoredTable(NamedTuple):
    """The input `table` with the added columns score and probability; `scored`: rows with a score; `renamed`: renamed columns; `note`: what is wrong with the other rows."""

    table: Any
    scored: int
    renamed: Mapping[str, str]
    note: str


def with_scores(wanted: Pairs, found: Scores, *, unknown: str, source: TableSource = None) -> ScoredTable:
    """The table of pairs with their scores; a row that cannot be scored is left out (`unknown="skip"`) or has no score. A pandas or polars frame gives a frame."""
    rows = wanted.rows if unknown == "skip" else np.arange(wanted.table.num_rows)
    place = np.full(wanted.table.num_rows, -1)
    place[wanted.rows] = np.arange(len(wanted.rows))
    at = pa.array(place[rows], mask=place[rows] < 0)
    table = wanted.table.take(pa.array(rows)) if unknown == "skip" else wanted.table
    for name, values in zip(RESERVED, (found.score, found.probability), strict=True):
        table = table.append_column(name, pa.array(values.double().cpu().numpy()).take(at))
    shown = like(source, table, rows, RESERVED) if is_frame(source) else table
    return ScoredTable(shown, len(wanted.rows), wanted.renamed, wanted.note)
