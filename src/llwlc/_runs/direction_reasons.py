"""Why a directed run predicts one direction for the link of a pair."""

from __future__ import annotations

from torch import Tensor

from llwlc._direction.columns import ANTISYMMETRIC
from llwlc._runs.directory import Run
from llwlc.explain._records import DirectionReasons, PartEffect

ABOUT = ANTISYMMETRIC | {"node features": "of the two ends"}


def explain_direction(run: Run, pair: Tensor) -> DirectionReasons | None:
    """The reasons for a link of a pair `[2]` to point from its first node to its second; None if the run is not
    directed. A link that is there is explained as if it were not.
    """
    if run.directions is None:
        return None
    chances = run.directions(pair.reshape(1, 2))
    effects = run.directions.effects(pair)
    parts = [PartEffect(name, ABOUT[name], effect) for name, effect in effects.items()]
    source, target = (run.graph.name(int(node)) for node in pair)
    forward, backward, both = (float(chance[0]) for chance in chances)
    ordered = tuple(sorted(parts, key=lambda part: -abs(part.effect)))
    return DirectionReasons(source, target, forward, backward, both, ordered)
