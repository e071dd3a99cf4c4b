"""`compiled`: numba's compiler with the settings of all kernels, and its results kept between runs.

The functions release the GIL and run in plain threads (`threads.py`) rather than under numba's `prange`: no OpenMP runtime beside
torch's, nothing that dies in a forked data loader, and a compile time that is several times shorter.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

import numba
import numpy as np
from numba.core.compiler_lock import global_compiler_lock

U = np.uint64
"""The type of an index where speed counts: of a signed one numba has to ask each time whether it is negative."""

F = TypeVar("F", bound=Callable[..., object])

# sums may be reordered, or no dot product would be vectorised; NaN and infinity keep their meaning
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


def compiled(function: F) -> F:
    """The function as machine code, compiled at its first call and found again on disk by later processes."""
    return _compiled(function, FASTMATH)


def in_order(function: F) -> F:
    """`compiled`, sums in the order in which they are written: for short loops over scattered entries, which the compiler would otherwise
    gather eight at a time, with more effort than there are entries."""
    return _compiled(function, FASTMATH - {"reassoc"})


def _compiled(function: F, fastmath: set[str]) -> F:
    kept = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = cache_dir()
    try:
        # the folder is looked up here and now, so other users of numba in this process keep theirs
        made = numba.njit(function, nogil=True, cache=True, fastmath=fastmath, error_model="numpy")
    finally:
        numba.config.CACHE_DIR = kept
    made.compile = _with_pairs(made.compile)
    return cast(F, made)


def _with_pairs(compile_for: Callable[..., object]) -> Callable[..., object]:
    """numba's compiler with one setting more for as long as it works: neighbouring scalars taken together as a short vector. Rows are read in
    fours, and vectors in pairs, for that."""

    def compile_it(*signature: object) -> object:
        with (
            global_compiler_lock
        ):  # numba's own, so that nobody else compiles meanwhile, or restores what it found here
            kept = numba.config.SLP_VECTORIZE
            numba.config.SLP_VECTORIZE = 1
            try:
                return compile_for(*signature)
            finally:
                numba.config.SLP_VECTORIZE = kept

    return compile_it


@cache
def cache_dir() -> str:
    """A writable folder named after the kernels' source: numba looks only at the file of the function that is called, not at those
    of the functions inlined into it, and would run stale code after an edit there."""
    source = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    name = f"kernels-{hashlib.sha256(source).hexdigest()[:16]}"
    home = os.environ.get("NUMBA_CACHE_DIR") or str(Path.home() / ".cache" / "llwlc" / "numba")
    for root in (home, str(Path(tempfile.gettempdir()) / f"llwlc-numba-{os.getuid()}")):
        folder = Path(root) / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return str(folder)
        except OSError:
            continue
    return tempfile.mkdtemp(prefix="llwlc-numba-")
