"""Checks of options: a value of a wrong type or outside its range is refused by name, before anything is computed with
it.
"""

from __future__ import annotations

from typing import Any

from llwlc.errors import InputError

LARGEST_SCORE = (2 - 2**-23) * 2.0**127
"""The largest number of single precision, which is kept for scores."""


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number: Python's or numpy's integers, but no truth values and no floats."""
    return hasattr(value, "__index__") and not isinstance(value, bool)


def require_whole(name: str, value: Any, *, least: int, most: int | None = None, other: str = "") -> None:
    """
    >>> require_whole("steps", 0, least=1, most=4096)
    Traceback (most recent call last):
    llwlc.errors.InputError: steps must be a whole number from 1 to 4096, got 0
    """
    if not is_whole(value) or value < least or (most is not None and value > most):
        bound = f", at least {least}" if most is None else f" from {least} to {most}"
        raise InputError(f"{name} must be a whole number{bound}{other}, got {repr(value)[:60]}")
