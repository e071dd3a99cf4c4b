"""Which rows of a graph are kept in the order of windows, and from when on: `hub_rows` of the kernels by graph.

To order a row takes as long as some dozen looks at it. So rows are ordered only when that many looks were asked for:
one pair of a large graph waits for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from llwlc.graph._graph import Graph

Rows = TypeVar("Rows")
LOOKUPS_PER_SORT = 30
"""Looks at a neighbour in the time that it takes to order it among the others of its row."""


@dataclass
class HubRequests:
    """What was asked of one graph: draws by `seed` and by `named` nodes; rows of more than `longer_than` nodes,
    `entries` in all, at most `longest` in one, are worth ordering; `pairs` so far; `rows`, once they are ordered:
    arrays of the kernels that asked."""

    seed: int
    named: bool
    longer_than: int
    entries: int
    longest: int
    pairs: int = 0
    rows: Any = None


_ASKED: WeakKeyDictionary[Graph, HubRequests] = WeakKeyDictionary()


def order_hubs_on_demand(
    graph: Graph, cap: int, seed: int, *, named: bool, pairs: int, order: Callable[[int], Rows]
) -> Rows | None:
    """The ordered rows of a graph for this many further pairs, made by `order` from the length of the longest row that
    need not be; None as long as too few pairs were asked.

    Whether rows are ordered changes no result.
    """
    from llwlc._kernels.numba.enclosing_subgraph import long_row

    requests, shortest = _ASKED.get(graph), int(long_row(cap))
    if requests is None or (requests.seed, requests.named) != (seed, named) or requests.longer_than > shortest:
        length = np.diff(graph.indptr.cpu().numpy())
        long = length[length > shortest]
        requests = HubRequests(seed, named, shortest, int(long.sum()), int(long.max(initial=0)))
        _ASKED[graph] = requests
    requests.pairs += pairs
    if (
        requests.rows is None
        and requests.entries
        and requests.pairs * requests.longest >= LOOKUPS_PER_SORT * requests.entries
    ):
        requests.rows = order(requests.longer_than)
    return requests.rows  # type: ignore[no-any-return]
