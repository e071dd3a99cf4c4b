"""Which triples of a type are worth scoring: those that join what known links of the type join, and are not known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from llwlc.errors import InputError
from llwlc.relations._triples import Triples

Integers = NDArray[np.int64]
MAX_PAIRS = 20_000_000
"""Maximum number of pairs of a source and a target that one list may score."""


def list_candidates(triples: Triples, node_types: Sequence[str] | None, kind: int, node: int | None = None) -> Integers:
    """The triples `[m, 3]` of a type that are not known links: from and to nodes that links of the type start from and
    end at, or, where node types are known, between node types that they join; `node`: one that is an end of all.
    """
    n = triples.num_nodes
    known = triples.rows[triples.rows[:, 1] == kind]
    label = None
    if node_types is None:
        starts, ends = np.unique(known[:, 0]), np.unique(known[:, 2])
    else:
        _, label = np.unique(np.asarray(node_types), return_inverse=True)
        starts, ends = (np.flatnonzero(np.isin(label, label[known[:, place]])) for place in (0, 2))
    if node is None and len(starts) * len(ends) > MAX_PAIRS:
        raise InputError(
            f"{len(starts):,} sources and {len(ends):,} targets of {triples.types[kind]!r} are too many for one"
            " list: name a node"
        )
    own = () if node is None else (np.array([node]),)
    blocks = [(starts, ends)] if not own else [(np.intersect1d(starts, own), ends), (starts, np.intersect1d(ends, own))]
    grids = [np.stack(np.meshgrid(*block, indexing="ij"), -1).reshape(-1, 2) for block in blocks]
    pairs = np.concatenate(grids)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    if label is not None:
        joined = np.unique(label[known[:, 0]] * n + label[known[:, 2]])
        pairs = pairs[np.isin(label[pairs[:, 0]] * n + label[pairs[:, 1]], joined)]
    pairs = pairs[~np.isin(pairs[:, 0] * n + pairs[:, 1], known[:, 0] * n + known[:, 2])]
    return np.stack([pairs[:, 0], np.full(len(pairs), kind), pairs[:, 1]], 1)
