"""What a kernel is told of the recurrence, whichever processor it runs on."""

from __future__ import annotations

from typing import NamedTuple


class Solve(NamedTuple):
    """κ = `steps` vectors of the `normalized` or the combinatorial Laplacian; below these tolerances a candidate adds nothing, and a
    constraint depends on those before it."""

    steps: int
    normalized: bool
    tolerance: float
    rank_tolerance: float
