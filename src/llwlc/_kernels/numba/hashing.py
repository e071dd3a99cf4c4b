"""`llwlc._support.counter_hash` bit for bit, on unsigned 64-bit integers."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from llwlc._support.compiler import compiled

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@compiled
def mix(x: np.uint64) -> np.uint64:
    """splitmix64."""
    x = x + GOLDEN
    x = (x ^ (x >> S30)) * MIX_1
    x = (x ^ (x >> S27)) * MIX_2
    return x ^ (x >> S31)


@compiled
def identity(draw_ids: np.ndarray, node: int) -> np.uint64:
    """What random draws identify a node by: its entry, or its number where there are no entries."""
    return np.uint64(draw_ids[node]) if len(draw_ids) > 0 else np.uint64(node)


@compiled
def link_key(seed: int, epoch: int, stream: int, u: int, v: int, draw_ids: np.ndarray) -> np.uint64:
    """`counter_hash.draw` without its last step: `mix(link_key(…) ^ identity)` is the draw of a node."""
    a, b = identity(draw_ids, u), identity(draw_ids, v)
    return mix(mix(stream_key(seed, epoch, stream) ^ min(a, b)) ^ max(a, b))


@compiled
def stream_key(seed: int, epoch: int, stream: int) -> np.uint64:
    """The part of a draw's key that is the same for all pairs."""
    s, e, t = mix(np.uint64(seed)), mix(np.uint64(epoch)), mix(np.uint64(stream))
    return mix(mix(s ^ e * np.uint64(3)) ^ t * np.uint64(5))


@compiled
def draw(key: np.uint64, who: np.uint64) -> np.int64:
    """The draw of a node, by its identity; signed, as the reference compares it."""
    return np.int64(mix(key ^ who))


class CapDraw(NamedTuple):
    (
        """How a pair draws the nodes of a capped hop: those with the lowest `mix(key ^ identity) − shift`, as signed
        numbers: `counter_hash.window`, with the key of all
    pairs and the pair's shift."""
        ""
    )

    key: np.uint64
    shift: np.uint64


@compiled
def cap_draw(seed: int, stream: int, u: int, v: int, draw_ids: np.ndarray) -> CapDraw:
    """How the pair (u, v) draws."""
    return CapDraw(stream_key(seed, 0, stream), link_key(seed, 0, stream, u, v, draw_ids))


@compiled
def window_draw(how: CapDraw, who: np.uint64) -> np.int64:
    """The draw of a node for a pair, by its identity; the lowest are taken."""
    return np.int64(mix(how.key ^ who) - how.shift)


@compiled
def uniform(bits: np.uint64) -> float:
    return (np.float64(bits >> S11) + 0.5) * 2.0**-53


@compiled
def normal(key: np.uint64, who: np.uint64) -> float:
    """The standard normal draw of a node, by its identity: `counter_hash.normal`."""
    bits = mix(key ^ who)
    return math.sqrt(-2 * math.log(uniform(bits))) * math.cos(2 * math.pi * uniform(mix(bits)))
