"""Links and nodes that are new since a fit of typed links: the factors of new nodes are trained, all others stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from llwlc._support.text import quote_text
from llwlc.errors import InputError
from llwlc.graph._names import find_nodes, format_some_names, suggest_name
from llwlc.relations._factors import ComplexFactors, train_factors
from llwlc.relations._triples import Triples, merge_rows

Integers = NDArray[np.int64]
EPOCHS = 100
"""Epochs in which the factors of new nodes are trained: there are few links, so an epoch is a step or two."""


def add_triples(known: Triples, added: Triples) -> tuple[Triples, Integers]:
    """The links of both, and the number `[n]` that each node of `known` has among them; a new type is refused."""
    for name in added.types:
        if name not in known.types:
            raise InputError(
                f"the run has no type of links {quote_text(name)}.{suggest_name(name, known.types, len(known.types))}"
                " A new type needs a new fit"
            )
    names = tuple(sorted({*known.names, *added.names}))
    place = {name: at for at, name in enumerate(names)}
    kind = {name: at for at, name in enumerate(known.types)}
    moved = np.array([place[name] for name in known.names])
    new, types = np.array([place[name] for name in added.names]), np.array([kind[name] for name in added.types])
    parts = [
        np.stack([at[rows[:, 0]], to[rows[:, 1]], at[rows[:, 2]]], 1)
        for at, to, rows in ((moved, np.arange(len(kind)), known.rows), (new, types, added.rows))
    ]
    if known.attribute_names != added.attribute_names:
        raise InputError(
            f"the run was fitted with the link attributes {', '.join(known.attribute_names) or 'none'}, and the added"
            f" links have {', '.join(added.attribute_names) or 'none'}: give the same columns"
        )
    values = [part.attributes for part in (known, added) if part.attributes is not None]
    rows, mean = merge_rows(np.concatenate(parts), np.concatenate(values) if values else None)
    return replace(known, rows=rows, names=names, attributes=mean), moved


def fold_in(factors: ComplexFactors, triples: Triples, moved: Integers, *, seed: int) -> ComplexFactors:
    """Factors of the nodes of `triples`: those at the places `moved [n]` as they are, the others trained on their own
    links with all else fixed.
    """
    free = torch.ones(triples.num_nodes, dtype=torch.bool)
    free[torch.from_numpy(moved)] = False
    nodes = torch.zeros(triples.num_nodes, factors.nodes.shape[1])
    nodes[torch.from_numpy(moved)] = factors.nodes
    start = ComplexFactors(nodes, factors.types)
    if not bool(free.any()):
        return start
    new = free.numpy()
    mine = triples.rows[new[triples.rows[:, 0]] | new[triples.rows[:, 2]]]
    return train_factors(mine, triples.num_nodes, len(triples.types), EPOCHS, seed=seed, start=start, free=free)


def spread_scores(scores: torch.Tensor, num_nodes: int, moved: Integers) -> torch.Tensor:
    """Scores of all pairs `[num_nodes, num_nodes]`: those of the nodes at the places `moved [n]` as they are, `[n, n]`,
    all others 0.
    """
    wider = torch.zeros(num_nodes, num_nodes, dtype=scores.dtype)
    at = torch.from_numpy(moved)
    wider[at[:, None], at] = scores
    return wider


def require_no_new_nodes(known: Triples, triples: Triples) -> None:
    """Refuses new nodes where the type of each node must be known."""
    at = find_nodes(pa.array(triples.names, pa.string()), known.names, known.num_nodes)
    if (at < 0).any():
        new = [triples.names[i] for i in np.flatnonzero(at < 0)]
        raise InputError(
            f"the run knows the type of each node, but not of {format_some_names(new, 3)}, new in the added links: fit"
            " again"
        )
