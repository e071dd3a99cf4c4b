"""False positives: graphs against relabelled copies of themselves, under every rung of the ladder that their size
allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from llwlc._support.progress import track
from research.expressivity.columns import Real
from research.expressivity.families import make_relabelled_pairs
from research.expressivity.separate import EQUAL, LADDER, separate
from research.expressivity.table import estimate


@dataclass(frozen=True)
class Copies:
    """One rung: copies compared, nodes of the largest graph among them, copies farther than `EQUAL`, the largest
    distance.
    """

    policy: str
    compared: int = 0
    nodes: int = 0
    wrong: int = 0
    largest: float = 0.0


def find_false_positives(graphs: Sequence[Real], count: int, *, max_seconds: float, seed: int = 0) -> list[Copies]:
    """`count` copies, of all graphs in turn, each under every rung whose estimate for it is within `max_seconds`.

    >>> from research.expressivity.families import paper
    >>> rungs = find_false_positives(list(paper()[1][1:]), 4, max_seconds=60.0)
    >>> [(rung.policy, rung.compared, rung.wrong) for rung in rungs[::5]]
    [('filter-0', 4, 0), ('filter-4', 4, 0)]
    """
    rungs = {policy: Copies(policy) for policy in LADDER}
    for pair in track(make_relabelled_pairs(list(graphs), count, seed=seed), "copies", total=count):
        for policy, rung in rungs.items():
            if estimate(policy, pair) <= max_seconds:
                far = separate(pair, policy).distance
                rungs[policy] = replace(
                    rung,
                    compared=rung.compared + 1,
                    nodes=max(rung.nodes, len(pair.a)),
                    wrong=rung.wrong + (far > EQUAL),
                    largest=max(rung.largest, far),
                )
    return list(rungs.values())
