"""Checks of options: a value of a wrong type or outside its range is refused by name, before anything is computed with it."""

from __future__ import annotations

from typing import Any

from llwlc.errors import InputError


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


def require_share(name: str, value: Any) -> None:
    """Refuses a value that is no number from 0 to below 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise InputError(f"{name} is at least 0 and below 1, got {value!r}")
