"""The run that a command is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from llwlc._support.stopwatch import STARTING, stage

if TYPE_CHECKING:
    from llwlc._predictor import LinkPredictor


def open_run(folder: Path, *, device: str = "auto") -> LinkPredictor:
    """The fitted predictor in a run folder. Torch is imported here, and not by commands that need none."""
    with stage(STARTING):
        from llwlc._predictor import LinkPredictor
    with stage("reading"):
        return LinkPredictor.load(folder, device=device)
