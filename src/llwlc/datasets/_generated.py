"""Generated graphs with the size and shape of large public ones: a co-authorship graph and a vessel graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from llwlc.datasets._catalog import COAUTHOR_SIZE, VESSEL_SIZE
from llwlc.datasets._small import normalise_coordinates
from llwlc.errors import InputError
from llwlc.graph._graph import Graph

YEARS = (1963, 2019)
# shares of nodes that may have at most 1, 2, … vessels: most are bifurcations (3), then ends (1)
VESSEL_DEGREES = (0.10, 0.02, 0.44, 0.34, 0.10)
Array = np.ndarray


def generate(kind: str, *, seed: int = 0, scale: float = 1.0) -> Graph:
    """A generated graph of the size and shape of a large public one.

    Small vessel graphs have somewhat fewer edges: more of their nodes lie at the border.

    Args:
        kind: `coauthor-like` or `vessel-like`.
        seed: seed of the random draws.
        scale: multiplies the numbers of nodes and edges of the original.

    >>> generate("vessel-like", scale=0.001)
    Graph(num_nodes=3538, num_edges=5308, x)
    """
    makers = {"coauthor-like": _coauthor, "vessel-like": _vessel}
    if kind not in makers:
        raise InputError(f"no generator is called {kind!r}; there are {', '.join(makers)}")
    if not 1e-3 <= scale <= 10:
        raise InputError(f"scale={scale} must lie between 0.001 and 10")
    return makers[kind](np.random.default_rng(seed), scale)


def load_generated(kind: str, *, root: str | Path | None = None) -> Graph:
    """`generate` as a dataset: nothing is read."""
    return generate(kind)


def _coauthor(rng: np.random.Generator, scale: float) -> Graph:
    """Papers by teams, each team a clique; a link's weight counts its papers, its time is the year of the last.

    Authors arrive one after the other in groups of heavy-tailed size. Everybody's first paper is written with the
    newcomers just before or after and with earlier members of the group, the earlier the likelier, which gives the
    degrees a heavy tail; one co-author in twenty comes from any group. Further papers have no newcomer. The number of
    papers grows exponentially with time.
    """
    n, m = (round(scale * size) for size in COAUTHOR_SIZE)
    share = rng.pareto(1.5, n // 60) + 0.2
    # authors of one group are neighbours, in the order of their arrival
    group = np.sort(rng.choice(len(share), n, p=share / share.sum()))
    start = np.searchsorted(group, group)
    arrival = rng.random(n)
    arrival = arrival[np.lexsort((arrival, group))]
    debut = np.flatnonzero((np.arange(n) == start) | (rng.random(n) > 0.65))
    later = rng.integers(0, n, n // 5)
    lead, new = np.concatenate([debut, later]), np.concatenate([np.diff(np.append(debut, n)), np.ones_like(later)])
    moment = arrival[lead]
    moment[len(debut) :] += (1 - arrival[later]) * rng.random(len(later))
    team = np.minimum(new + rng.geometric(0.38, len(lead)), 30)
    paper, place = np.nonzero(np.arange(team.max()) < team[:, None])
    who = lead[paper] + place
    old = place >= new[paper]
    first, span = start[lead[paper[old]]], (lead - start[lead])[paper[old]]
    earlier = first + (span * rng.random(len(span)) ** 2).astype(np.int64)
    who[old] = np.where((rng.random(len(span)) < 0.05) | (span == 0), rng.integers(0, n, len(span)), earlier)
    pairs, source = _cliques(who, team)
    pairs, source = _first(pairs, source, n, m)
    growth = 0.09 * (YEARS[1] + 1 - YEARS[0])
    year = YEARS[0] + np.floor(np.log1p(moment * np.expm1(growth)) / 0.09).astype(np.int64)
    # a shuffled numbering, so that a node's number says nothing about its group or age
    return Graph.from_edges(
        rng.permutation(n)[pairs], num_nodes=n, weight=torch.ones(len(pairs)), time=torch.from_numpy(year[source])
    )


def _cliques(who: Array, team: Array) -> tuple[Array, Array]:
    """All pairs of every team, and the team of each pair; `who` lists the members of one team after the other."""
    ends = np.cumsum(team)
    pairs, source = [], []
    for size in np.unique(team):
        teams = np.flatnonzero(team == size)
        members = who[(ends[teams] - size)[:, None] + np.arange(size)]
        i, j = np.triu_indices(size, 1)
        pairs.append(np.stack([members[:, i].ravel(), members[:, j].ravel()], 1))
        source.append(np.repeat(teams, len(i)))
    order = np.argsort(np.concatenate(source), kind="stable")
    return np.concatenate(pairs)[order], np.concatenate(source)[order]


def _first(pairs: Array, source: Array, n: int, m: int) -> tuple[Array, Array]:
    """As many of the pairs, from the first on, as make m different edges."""
    proper = pairs[:, 0] != pairs[:, 1]
    pairs, source = pairs[proper], source[proper]
    new = np.sort(np.unique(pairs.min(1) * n + pairs.max(1), return_index=True)[1])
    stop = new[m] if m < len(new) else len(pairs)
    return pairs[:stop], source[:stop]


def _vessel(rng: np.random.Generator, scale: float) -> Graph:
    """A jittered cubic grid of bifurcations; neighbours join at random as long as both have room for one more vessel.

    The edges of the grid form six perfect matchings (three axes, even and odd). Edges of one matching share no node, so
    they are all decided at once; several rounds with a rising probability keep the axes alike.
    """
    n, m = (round(scale * size) for size in VESSEL_SIZE)
    side = int(np.ceil(n ** (1 / 3)))
    cell = np.arange(n)
    position = np.stack([cell // side**2, cell // side % side, cell % side], 1).astype(np.int32)
    room = rng.choice(len(VESSEL_DEGREES), n, p=VESSEL_DEGREES).astype(np.int8) + 1
    matchings = []
    for axis, step in enumerate((side**2, side, 1)):
        for parity in (0, 1):
            u = np.flatnonzero((position[:, axis] % 2 == parity) & (position[:, axis] + 1 < side))
            matchings.append((u[u + step < n], step))
    edges = []
    for probability in (0.3, 0.6, 1.0):
        for k in rng.permutation(len(matchings)):
            u, step = matchings[k]
            join = (room[u] > 0) & (room[u + step] > 0) & (rng.random(len(u)) < probability)
            edges.append(np.stack([u[join], u[join] + step], 1))
            room[edges[-1]] -= 1
            matchings[k] = (u[~join], step)
    pairs = np.concatenate(edges)
    pairs = pairs[np.sort(rng.permutation(len(pairs))[:m])]
    place = torch.from_numpy((position + rng.random((n, 3), dtype=np.float32)).astype(np.float32))
    return Graph.from_edges(pairs, num_nodes=n, x=normalise_coordinates(place))
