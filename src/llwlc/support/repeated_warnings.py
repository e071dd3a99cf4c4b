"""Each warning once: a step that is done for every part of a split would repeat it for each."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_active: list[set[tuple[type[Warning], str]]] = []


@contextmanager
def once_each() -> Iterator[None]:
    """Inside the block, a warning that differs from an earlier one in its numbers alone is not shown again; blocks may be nested.

    >>> with once_each():
    ...     pass
    """
    if _active:
        yield
        return
    seen: set[tuple[type[Warning], str]] = set()
    shown_before = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        kind = category, re.sub(r"[0-9][0-9.,]*", "0", str(message))
        if kind not in seen:
            seen.add(kind)
            shown_before(message, category, *where, **more)

    warnings.showwarning = show
    _active.append(seen)
    try:
        yield
    finally:
        _active.pop()
        warnings.showwarning = shown_before
