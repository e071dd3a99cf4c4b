"""`nn._link_dropout` for one link after the other, bit for bit: what is dropped depends on (seed, epoch, link, site,
entry) alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from llwlc._kernels.numba.hashing import link_key, mix
from llwlc._support.compiler import uncounted
from llwlc._support.counter_hash import DROPOUT_STREAM

SITE, LANE, LOW, SIGN = np.uint64(40), np.uint64(16), np.uint64(0xFFFF), np.uint64(0x8000)


class Dropout(NamedTuple):
    """The places in a network where entries are dropped, in the order in which kernels number them: `site`, their
    numbers in the network; `drop`, how many of 65,536 values of an entry's 16 bits drop it, 0 for none; `factor` of the
    entries that are kept. `by_number`: empty, nodes are identified by their numbers."""

    seed: int
    epoch: int
    site: np.ndarray
    drop: np.ndarray
    factor: np.ndarray
    by_number: np.ndarray


@uncounted
def bits_of_link(dropout: Dropout, u: int, v: int) -> np.uint64:
    """`EncodedLinks.draws` of one link."""
    return mix(link_key(dropout.seed, dropout.epoch, DROPOUT_STREAM, u, v, dropout.by_number))


@uncounted
def write_dropout_factors(
    dropout: Dropout, place: int, link: np.uint64, entries: int, out: np.ndarray, at: int
) -> None:
    """Writes the factors of `entries` entries, and up to three more, from `at` on: 0 where an entry is dropped."""
    drop, site = np.uint64(dropout.drop[place]), np.uint64(dropout.site[place]) << SITE
    factor, none = out.dtype.type(dropout.factor[place]), out.dtype.type(0)
    for word in range((entries + 3) // 4):
        bits = mix(link ^ mix(np.uint64(word) + site))
        for lane in range(4):
            # the reference compares signed numbers: turning the sign bit gives the same order
            value = ((bits >> (LANE * np.uint64(lane))) & LOW) ^ SIGN
            out[at + 4 * word + lane] = factor if value >= drop else none
