"""Warnings of the library, each once: a step that is done for every part of a split would repeat it for each.

Which were shown is known to the task that asked for it (a context variable), so `warnings.showwarning` and the filters,
which are one for all threads, stay the program's.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_shown: ContextVar[set[tuple[type[Warning], str]] | None] = ContextVar("shown", default=None)
_silent: ContextVar[tuple[type[Warning], ...]] = ContextVar("silent", default=())


def warn(text: str, category: type[Warning] = UserWarning, *, stacklevel: int = 1) -> None:
    """`warnings.warn`, unless an enclosing `deduplicate_warnings` has shown it or an enclosing `suppress_warnings`
    leaves it out.

    Args:
        text: what the user should know.
        category: the class of the warning.
        stacklevel: the frame that it is attributed to, 1 for the caller of this function.
    """
    shown, kind = _shown.get(), (category, re.sub(r"[0-9][0-9.,]*", "0", text))
    if issubclass(category, _silent.get()) or (shown is not None and kind in shown):
        return
    if shown is not None:
        shown.add(kind)
    warnings.warn(text, category, stacklevel=stacklevel + 1)


@contextmanager
def deduplicate_warnings() -> Iterator[None]:
    """Inside the block, a `warn` that differs from an earlier one in its numbers alone is not shown again; blocks may
    be nested.

    >>> with deduplicate_warnings():
    ...     pass
    """
    before = _shown.set(set() if _shown.get() is None else _shown.get())
    try:
        yield
    finally:
        _shown.reset(before)


@contextmanager
def suppress_warnings(category: type[Warning]) -> Iterator[None]:
    """Inside the block, a `warn` of this category is not shown.

    Args:
        category: the class of warnings.
    """
    before = _silent.set((*_silent.get(), category))
    try:
        yield
    finally:
        _silent.reset(before)
