"""`compiled`: numba's compiler with the settings of all kernels, and its results kept between runs.

The functions release the GIL and run in plain threads (`threads.py`) rather than under numba's `prange`: no OpenMP
runtime beside torch's, nothing that dies in a forked data loader, and a compile time that is several times shorter.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TypeVar, cast

import numpy as np

from llwlc._support import translated_kernels
from llwlc._support.kernel_dispatcher import KernelDispatcher
from llwlc._support.machine_code import KernelCache, code_root

U = np.uint64
"""The type of indices in inner loops: with signed ones numba tests each time whether they are negative."""

F = TypeVar("F", bound=Callable[..., object])

# sums may be reordered, otherwise dot products are not vectorised; NaN and infinity keep their meaning
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
PACKAGE = "llwlc"
ROOT = Path(__file__).parents[1]


def compiled(function: F) -> F:
    """The function as machine code, compiled at its first call and found again on disk by later processes."""
    return _compiled(function, FASTMATH)


def in_order(function: F) -> F:
    """`compiled`, with sums in the order in which they are written: for short loops over scattered entries, which are
    slower when the compiler vectorises them."""
    return _compiled(function, FASTMATH - {"reassoc"})


def exact(function: F) -> F:
    """`compiled`, with every operation as it is written: for results that have to equal another program's to the last
    bit.
    """
    return _compiled(function, set())


def uncounted(function: F) -> F:
    """`compiled`, for a function that makes no array of its own: it counts no references to those it is given, which
    its caller holds. For a record of a hundred arrays that takes longer to compile than what is done with them.
    """
    return _compiled(function, FASTMATH, _nrt=False)


def _compiled(function: F, fastmath: set[str], **options: bool) -> F:
    settings = {"nopython": True, "boundscheck": None, "nogil": True, "error_model": "numpy", "fastmath": fastmath}
    # not by `cache=True`, whose folder is a setting of numba: other users of numba in this process keep theirs
    module = function.__module__
    cache = KernelCache(function, cache_dir(module), lambda: translation_folder(module))
    return cast(F, KernelDispatcher(function, settings | options, cache))


@cache
def translation_folder(module: str) -> str:
    """The name of the translations of a module, with a digest of all source that decides what kernels compute."""
    return f"{module.removeprefix(PACKAGE + '.')}-{source_digest(module, SHAPING)[:16]}"


def is_translated(module: str) -> bool:
    """Whether this module's kernels came with the package, translated."""
    return translated_kernels.has_module(translation_folder(module))


def compile_translated(module: str) -> None:
    """Compiles those kernels of a module that came translated, without a call of them."""
    functions = import_module(module)
    for name, signature in translated_kernels.signatures(translation_folder(module)):
        getattr(functions, name).compile(signature)


_PARSING = Lock()
"""Two threads that parse at once are an error of Python 3.11 ("AST constructor recursion depth mismatch")."""


@cache
def cache_dir(module: str) -> str:
    """The folder for the machine code of a module, named after its source and that of all it imports from this package:
    numba looks only at the file of the function that is called, not at those of the functions inlined into it, and
    would run stale code after an edit there."""
    folder = code_root() / f"{module.removeprefix(PACKAGE + '.')}-{source_digest(module)[:16]}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return str(folder)


SHAPING = frozenset(
    f"{PACKAGE}._support.{name}" for name in ("compiler", "counter_hash", "kernel_dispatcher", "unique_symbols")
)
"""The modules of `_support` that decide what a kernel computes; others only call kernels, or keep them."""


def source_digest(module: str, support: frozenset[str] | None = None) -> str:
    """A hash of the source of a module and of every module it imports, directly or not, from its own package,
    `_kernels` and `_support` (there, `support` alone, if given): the code of kernels stands there. (The package of a
    user's own module is the outermost one.)"""
    top = module.split(".")[0]
    own = {_package_of(module), "_kernels", "_support"}
    digest, seen, waiting = hashlib.sha256(), set[str](), [module]
    while waiting:
        name = waiting.pop()
        path = None if name in seen else _file_of(name)
        seen.add(name)
        if path is not None:
            text = path.read_bytes()
            digest.update(name.encode() + b"\0" + text)
            imported = _imports_of(text, frozenset({PACKAGE, top}))
            waiting += sorted(
                found
                for found in imported
                if (_package_of(found) in own or found.split(".")[0] == top != PACKAGE)
                and (support is None or _package_of(found) != "_support" or found in support)
            )
    return digest.hexdigest()


@cache
def _imports_of(text: bytes, tops: frozenset[str]) -> tuple[str, ...]:
    """What a source imports from these packages; parsed once, though it belongs to many kernels."""
    with _PARSING:
        tree = ast.parse(text)
    return tuple(_imported(tree, tops))


def _package_of(module: str) -> str:
    return module.split(".")[1] if module.startswith(PACKAGE + ".") else module


def _imported(tree: ast.AST, tops: frozenset[str]) -> Iterator[str]:
    """The modules of these outermost packages that a source imports, at the top or inside a function; and imported
    names, which may be modules themselves.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] in tops)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in tops:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _file_of(module: str) -> Path | None:
    """The file of a module, None where that name is not a module. Found without importing it: it is being imported
    right now.
    """
    if _package_of(module) == module:  # a user's own, outside this package
        file = getattr(sys.modules.get(module), "__file__", None)
        return Path(file) if file else None
    place = ROOT.joinpath(*module.split(".")[1:])
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)
