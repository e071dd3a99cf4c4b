"""The number by which random draws identify a node, made from its name: a draw stays with the node however a file
numbers it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import torch
from torch import Tensor

from llwlc.graph._packed_names import PackedNames

HASHED = 1 << 62
"""Identities from here on are hashes; below it they are numbers that stand for themselves."""
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


def compute_identities(names: Sequence[str]) -> Tensor:
    """A number from 0 to 2^63 − 1 for each name, no two alike. A name that is a number is that number, so that a graph
    whose nodes are called by their numbers draws as one without names; another name is a hash of its text.

    >>> compute_identities(["7", "0"]).tolist()
    [7, 0]
    >>> compute_identities(["Ada", "Bob"]).tolist() == compute_identities(["Bob", "Ada"]).flip(0).tolist()
    True
    """
    identities = [identity_of(name) for name in names]
    if len(set(identities)) < len(identities):
        # Names may share a hash, or occur twice, but kernels need distinct identities: positions in a sorted order are
        # distinct.
        order = sorted(range(len(names)), key=lambda i: (identities[i], names[i]))
        for place, i in enumerate(order):
            identities[i] = place
    return torch.tensor(identities, dtype=torch.long)


def get_cached_identities(names: Sequence[str]) -> Tensor:
    """`compute_identities`, remembered for the names asked for last: the message graphs of a split share one list."""
    if isinstance(names, PackedNames):
        return names.identity
    last = _LAST[:]  # a copy: another thread may ask for other names meanwhile
    if not last or last[0][0] is not names:
        last = _LAST[:] = [(names, compute_identities(names))]
    return last[0][1]


_LAST: list[tuple[Sequence[str], Tensor]] = []


def identity_of(name: str) -> int:
    """The number itself for a name that is a number, a hash for any other name."""
    if _NUMBER.fullmatch(name):
        return int(name)
    text = hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(text, "little") % HASHED + HASHED
