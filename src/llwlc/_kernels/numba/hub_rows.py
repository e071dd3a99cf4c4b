"""Rows of hubs, ordered once by the draws of their nodes: a pair takes the first ones behind its own draw, without a
look at the others.

Only for windows (`counter_hash.window`), in which all pairs see the nodes in one order, each from another place on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from llwlc._kernels.numba.hashing import CapDraw, identity, mix, stream_key, window_draw
from llwlc._kernels.numba.search import lower_bound
from llwlc._support.compiler import U, compiled
from llwlc._support.threads import choose_num_threads, run_over_links

HALF = U(1 << 63)


class HubRows(NamedTuple):
    """`hub [h]`: the nodes whose rows are ordered, ascending; `begin [h + 1]`: where their rows begin in `neighbor`,
    which has the neighbours of each by ascending draw.
    """

    hub: np.ndarray
    begin: np.ndarray
    neighbor: np.ndarray


def no_hub_rows() -> HubRows:
    """None ordered: kernels read rows in full, with the same result."""
    return HubRows(np.empty(0, np.uint64), np.zeros(1, np.uint64), np.empty(0, np.uint32))


def hub_rows(
    indptr: np.ndarray, indices: np.ndarray, draw_ids: np.ndarray, seed: int, stream: int, longer_than: int
) -> HubRows:
    """The rows of more than so many nodes, ordered for windows; four bytes a neighbour."""
    length = np.diff(indptr)
    hub = np.flatnonzero(length > longer_than)
    begin = np.zeros(len(hub) + 1, np.uint64)
    np.cumsum(length[hub], out=begin[1:])
    neighbor = np.empty(int(begin[-1]), np.uint32)
    key = np.uint64(stream_key(seed, 0, stream))

    def order(first: int, last: int) -> None:
        for place in range(first, last):
            row = indices[indptr[hub[place]] : indptr[hub[place] + 1]]
            by_draw = np.argsort(_draws(row, draw_ids, key))
            neighbor[begin[place] : begin[place + 1]] = row[by_draw]

    def make() -> Callable[[int, int], None]:
        return order

    run_over_links(len(hub), choose_num_threads(len(hub), 24 * int(length.max(initial=0))), make)
    return HubRows(hub.astype(np.uint64), begin, neighbor)


@compiled
def _draws(row: np.ndarray, draw_ids: np.ndarray, key: np.uint64) -> np.ndarray:
    bits = np.empty(len(row), np.uint64)
    for i in range(len(row)):
        bits[i] = mix(key ^ identity(draw_ids, row[i]))
    return bits


@compiled
def hub_row(hubs: HubRows, x: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Where the ordered row of x begins and ends; nothing lies between where it is not ordered."""
    place = lower_bound(hubs.hub, U(0), U(len(hubs.hub)), x)
    if place < U(len(hubs.hub)) and hubs.hub[place] == x:
        return hubs.begin[place], hubs.begin[place + U(1)]
    return U(0), U(0)


@compiled
def window_begin(hubs: HubRows, first: np.uint64, last: np.uint64, how: CapDraw, draw_ids: np.ndarray) -> np.uint64:
    """The place in an ordered row of the node with the pair's lowest draw: its bits are the first that are not below
    the pair's, around the circle.
    """
    wanted, begin, end = how.shift + HALF, first, last
    while begin < end:
        middle = (begin + end) >> U(1)
        if mix(how.key ^ identity(draw_ids, hubs.neighbor[middle])) < wanted:
            begin = middle + U(1)
        else:
            end = middle
    return begin if begin < last else first


@compiled
def nth_new_draw(
    hubs: HubRows, first: np.uint64, last: np.uint64, count: int, how: CapDraw, draw_ids: np.ndarray, where: np.ndarray
) -> np.int64:
    """The pair's draw of the `count`-th node of an ordered row that is not found yet, the highest there is where there
    are fewer.
    """
    at = window_begin(hubs, first, last, how, draw_ids)
    for _ in range(first, last):
        y = hubs.neighbor[at]
        count -= where[y] == 0
        if count == 0:
            return window_draw(how, identity(draw_ids, y))
        at = at + U(1) if at + U(1) < last else first
    return np.int64(0x7FFFFFFFFFFFFFFF)


@compiled
def find_below(
    hubs: HubRows, first: np.uint64, last: np.uint64, limit: np.int64, how: CapDraw,
    draw_ids: np.ndarray, where: np.ndarray, node: np.ndarray, found: int,
) -> int:  # fmt: skip
    """Appends the nodes of an ordered row whose draws are up to the limit and that are not found yet, in the order of
    their numbers; returns the new number of nodes.
    """
    begin = found
    at = window_begin(hubs, first, last, how, draw_ids)
    for _ in range(first, last):
        y = hubs.neighbor[at]
        if window_draw(how, identity(draw_ids, y)) > limit:
            break
        node[found] = y
        found += where[y] == 0
        at = at + U(1) if at + U(1) < last else first
    node[begin:found].sort()
    for i in range(begin, found):
        where[node[i]] = i + 1
    return found
