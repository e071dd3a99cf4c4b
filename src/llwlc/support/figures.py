"""matplotlib figures outside pyplot's global state (extra `plots`)."""

from __future__ import annotations

from typing import Any

from llwlc.errors import InputError


def new_figure(width: float = 5.5, height: float = 3.6) -> tuple[Any, Any]:
    """A figure and its axes."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("pictures need matplotlib: pip install 'llwlc[plots]'") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()
