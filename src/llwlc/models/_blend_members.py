"""The members of a blend: makes them by name, and checks which of them a graph allows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.heuristics._registry import HEURISTICS, WALK_HEURISTICS
from llwlc.models._base import LinkModel, MemberCost, Reducible
from llwlc.models._registry import MODELS
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources

HEURISTIC_MEMBERS = "heuristics"
"""In a list of members, this name stands for every heuristic."""
MEMBERS = ("llwlc", "stack", "global", HEURISTIC_MEMBERS)
BASELINES = ("gae", "ncn", "ncnc", "buddy")
MAX_WALK_EDGES = 50_000
"""On a graph with more edges, heuristics that walk from every node are left out: their time grows with each pair's
neighbourhood.
"""
SHORTEST_MEASUREMENT = 0.02
"""Seconds below which a measurement does not show how busy the machine is."""


def make_members(given: Sequence[str | LinkModel], options: Mapping[str, Any]) -> list[LinkModel]:
    """The members by their names, not fitted; `options` are those of the first."""
    members: list[LinkModel] = []
    for part in given:
        if isinstance(part, LinkModel):
            members.append(part)
            continue
        heuristics = [record.name for kind in (HEURISTICS, WALK_HEURISTICS) for record in kind.records()]
        for name in heuristics if part.strip() == HEURISTIC_MEMBERS else [part.strip()]:
            members.append(MODELS[name].make(**(options if not members else {})))
    names = [member.name for member in members]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"a blend has each model once, and {twice!r} is named twice: name it once")
    if any(isinstance(member, Reducible) for member in members):
        raise InputError("a blend cannot be a member of a blend: name its members instead, as in members='llwlc,katz'")
    return members


def allows(member: LinkModel, graph: Graph) -> bool:
    """Whether a member can be fitted on a graph, in a time that the plan can forecast."""
    if member.name in WALK_HEURISTICS and graph.num_edges > MAX_WALK_EDGES:
        return False
    if member.name in HEURISTICS and not HEURISTICS[member.name].applies_to(graph):
        return False
    try:
        member.check(graph)
    except InputError:
        return False
    return True


def expected_cost(member: LinkModel, split: LinkSplit, features: NodeFeatures, resources: Resources) -> MemberCost:
    """What one fit of a member takes, now and on an idle machine: the share of the measurement's seconds in which this
    process computed is the share of the fit's seconds that are its own.
    """
    begin, working = time.perf_counter(), time.process_time()
    now = member.cost(split, features, resources=resources)
    seconds, own = time.perf_counter() - begin, time.process_time() - working
    share = min(own / seconds, 1.0) if seconds > SHORTEST_MEASUREMENT else 1.0
    return MemberCost(share * now, now)
