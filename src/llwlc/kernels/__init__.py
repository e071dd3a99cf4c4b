"""The contracts of `extract` and `link_bases`, compiled: numba on the CPU, one link at a time, all of its stages in cache.

Nothing here knows of `Subgraphs` or torch modules: arrays in, arrays out, so that every room above may call it. Without numba
(`available()` is false) the callers use the reference.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

from llwlc.errors import InputError

Backend = Literal["auto", "reference", "numba"]


def available() -> bool:
    """Whether numba can be imported."""
    return find_spec("numba") is not None


def use_numba(backend: Backend, *, possible: bool = True, why: str = "") -> bool:
    """Whether the compiled path is taken: `possible` says if it can do what is asked, and `why` not.

    >>> use_numba("reference"), use_numba("auto", possible=False)
    (False, False)
    """
    if backend not in ("auto", "reference", "numba"):
        raise InputError(f'backend must be "auto", "reference" or "numba", got {backend!r}')
    if backend == "numba" and not available():
        raise InputError('backend: "numba" is not installed; pip install numba, or use backend="auto"')
    if backend == "numba" and not possible:
        raise InputError(f'backend: "numba" cannot do this ({why}); use backend="auto" or "reference"')
    return backend != "reference" and possible and available()
