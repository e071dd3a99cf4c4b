"""Tables of pairs with their scores, of the same type as the input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from torch import Tensor

from llwlc._io.memory_table import TableSource, convert_like, is_frame
from llwlc.graph._pair_file import PairTable


class Scores(NamedTuple):
    """What `LinkPredictor.score` returns.

    >>> import torch
    >>> Scores(score=torch.tensor([0.0]), probability=torch.tensor([0.5])).probability.item()
    0.5
    """

    score: Tensor
    """The log-odds of a link among random pairs `[m]`, links and non-links being equally many, whatever the model."""
    probability: Tensor
    """For the stated prior `[m]`: the logistic function of `score` plus the prior's log-odds. Of a directed run, that
    there is a link and that it points from the first node to the second (`score`: its log-odds for a prior of a half).
    """
    direction: Tensor | None = None
    """Of a directed run `[m]`: the chance that a link of the pair, if there is one, points from the first node to the
    second."""


class ScoredTable(NamedTuple):
    """What `LinkPredictor.score_table` returns.

    >>> ScoredTable(pa.table({"source": ["a"], "target": ["b"], "score": [0.0]}), scored=1, renamed={}, note="").scored
    1
    """

    table: Any
    """The input with the added columns score and probability."""
    scored: int
    """The number of rows with a score."""
    renamed: Mapping[str, str]
    """Columns of the input that were renamed, by their old names."""
    note: str
    """What is wrong with the other rows."""


def add_scores(pair_table: PairTable, scores: Scores, *, unknown: str, source: TableSource = None) -> ScoredTable:
    """The table of pairs with their scores; a row that cannot be scored is left out (`unknown="skip"`) or has no score.
    A pandas or polars frame gives a frame.
    """
    rows = pair_table.rows if unknown == "skip" else np.arange(pair_table.table.num_rows)
    place = np.full(pair_table.table.num_rows, -1)
    place[pair_table.rows] = np.arange(len(pair_table.rows))
    at = pa.array(place[rows], mask=place[rows] < 0)
    table = pair_table.table.take(pa.array(rows)) if unknown == "skip" else pair_table.table
    added = {name: values for name, values in scores._asdict().items() if values is not None}
    for name, values in added.items():
        table = table.append_column(name, pa.array(values.double().cpu().numpy()).take(at))
    shown = convert_like(source, table, rows, tuple(added)) if is_frame(source) else table
    return ScoredTable(shown, len(pair_table.rows), pair_table.renamed, pair_table.note)
