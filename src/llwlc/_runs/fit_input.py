"""What `fit` and `tune` are given: checked before any work, and made a split."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llwlc._runs.queries import Pairs
from llwlc._support.bounds import require_whole
from llwlc.bases._cache import cache_limit
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.graph._pair_file import resolve_known_pairs
from llwlc.splits._known_negatives import with_known_negatives
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._making import LARGEST_SEED, make
from llwlc.training._resources import require_minutes


def check_fit_input(
    method: str,
    graph: Graph,
    node_types: Sequence[str] | None,
    *,
    seed: int,
    minutes: float | None,
    cache: Path | str | None,
) -> None:
    """Refuses what `method` cannot use."""
    if not isinstance(graph, Graph):
        raise InputError(
            f"{method} takes a Graph, got {type(graph).__name__}: llwlc.datasets.load(name) or Graph.read(path)"
            " gives one"
        )
    if node_types is not None and len(node_types) != graph.num_nodes:
        raise InputError(
            f"node_types names {len(node_types):,} types, one for each node, but the graph has {graph.num_nodes:,}"
            " nodes"
        )
    require_whole("seed", seed, least=0, most=LARGEST_SEED)
    require_minutes(minutes)
    if cache is not None:
        cache_limit()  # a bad one is refused now, not when the first bases are stored


def make_fit_split(
    graph: Graph, split: LinkSplit | None, protocol: str, negatives: Pairs | None, *, seed: int
) -> LinkSplit:
    """The split that is given, or one by `protocol`, with known non-links where there are some."""
    split = make(graph, protocol=protocol, seed=seed) if split is None else split
    if negatives is None:
        return split
    return with_known_negatives(split, graph, resolve_known_pairs(negatives, graph, what="known non-links"))
