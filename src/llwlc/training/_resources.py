"""Resources: what a fit computes with."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import torch

from llwlc._support.options import has_type
from llwlc._support.stopwatch import Stopwatch, current_watch
from llwlc.errors import InputError
from llwlc.training._ranks import Ranks

CPU = torch.device("cpu")


def require_minutes(minutes: float | None) -> None:
    """Refuses a time budget that is not a number of minutes above 0; None is no budget."""
    if minutes is not None and not (has_type(float, minutes) and minutes > 0):
        raise InputError(f"minutes is above 0, or None for no budget, got {str(minutes)[:60]!r}")


@dataclass(frozen=True, eq=False)
class Resources:
    """What a fit computes with.

    >>> Resources(seconds=60.0).device
    device(type='cpu')
    """

    device: torch.device = CPU
    """The device of torch."""
    cache: Path | None = None
    """The folder where eigenbases are kept, None for memory."""
    memory_budget: int | None = None
    """Bytes up to which the bases of a part stay in memory, None for the default."""
    owner: Path | None = None
    """The run folder that the bases belong to."""
    seconds: float | None = None
    """No epoch begins after this many seconds, None for no limit."""
    ranks: Ranks | None = None
    """The processes that train together, of which this is the first."""
    watch: Stopwatch = field(default_factory=current_watch)
    """Takes the seconds of each stage: `with resources.watch("training"): ...`."""
