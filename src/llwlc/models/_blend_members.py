"""The members of a blend: makes them by name, and checks which of them a graph allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llwlc.errors import InputError
from llwlc.heuristics._registry import HEURISTICS, WALK_HEURISTICS
from llwlc.models._base import LinkModel, Reducible
from llwlc.models._registry import MODELS
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._sides import joins_two_sides

HEURISTIC_MEMBERS = "heuristics"
"""In a list of members, this name stands for every heuristic."""
MEMBERS = ("llwlc", "stack", "global", HEURISTIC_MEMBERS)
BASELINES = ("gae", "ncn", "ncnc", "buddy")
MAX_WALK_EDGES = 50_000
"""On a graph with more edges, heuristics that walk from every node are left out: their time grows with each pair's
neighbourhood.
"""


MIN_GLOBAL_EDGES = 200
"""On a graph with fewer edges the global model is left out: on seven such `tune` networks of the corpus, seed 0, it had
a mean AUC of 84.6, our network 85.7 and the stack 86.5; the sum of all three 86.8, without it 87.0.
"""


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


def allows(member: LinkModel, split: LinkSplit) -> bool:
    """Whether a member can be fitted on a split, in a time that the plan can forecast."""
    graph = split.train_graph
    if member.name in WALK_HEURISTICS and graph.num_edges > MAX_WALK_EDGES:
        return False
    if member.name == "global" and graph.num_edges < MIN_GLOBAL_EDGES:
        return False
    if member.name in HEURISTICS and not HEURISTICS[member.name].applies_to(graph):
        return False
    if member.name in HEURISTICS and HEURISTICS[member.name].sides and not joins_two_sides(split):
        return False
    try:
        member.check(graph)
    except InputError:
        return False
    return True


def is_free(member: LinkModel) -> bool:
    """Whether a member takes next to nothing: a heuristic that does not walk from every node."""
    return member.name in HEURISTICS
