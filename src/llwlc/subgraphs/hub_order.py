"""Which rows of a graph are kept in the order of windows, and from when on: `kernels.numba.hub_rows` by graph.

To order a row takes as long as some dozen looks at it. So rows are ordered only when that many looks were asked for: one pair of a large graph waits for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from llwlc.graph.graph import Graph

if TYPE_CHECKING:
    from llwlc.kernels.numba.extraction import Reach
    from llwlc.kernels.numba.hub_rows import HubRows

LOOKS = 30
"""Looks at a neighbour in the time that it takes to order it among the others of its row."""


@dataclass
class Asked:
    """What was asked of one graph: draws by `seed` and by `named` nodes; rows of more than `longer_than` nodes, `entries` in all, at most `longest` in one, are worth ordering; `pairs`
    so far; `rows`, once they are ordered."""

    seed: int
    named: bool
    longer_than: int
    entries: int
    longest: int
    pairs: int = 0
    rows: HubRows | None = None


_ASKED: WeakKeyDictionary[Graph, Asked] = WeakKeyDictionary()


def ordered_hubs(
    graph: Graph, indptr: np.ndarray, indices: np.ndarray, drawn_by: np.ndarray, reach: Reach, pairs: int
) -> HubRows:
    """The ordered rows of a graph for so many pairs more; none without a cap, or as long as too few pairs were asked. Whether rows are ordered changes no result."""
    from llwlc.kernels.numba.enclosing import long_row
    from llwlc.kernels.numba.hub_rows import hub_rows, no_hub_rows

    if not reach.cap or not reach.windowed:
        return no_hub_rows()
    asked, shortest = _ASKED.get(graph), int(long_row(reach.cap))
    if asked is None or (asked.seed, asked.named) != (reach.seed, len(drawn_by) > 0) or asked.longer_than > shortest:
        length = np.diff(indptr)
        long = length[length > shortest]
        asked = Asked(reach.seed, len(drawn_by) > 0, shortest, int(long.sum()), int(long.max(initial=0)))
        _ASKED[graph] = asked
    asked.pairs += pairs
    if asked.rows is None and asked.entries and asked.pairs * asked.longest >= LOOKS * asked.entries:
        asked.rows = hub_rows(indptr, indices, drawn_by, reach.seed, reach.stream, asked.longer_than)
    return asked.rows or no_hub_rows()
