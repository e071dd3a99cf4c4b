"""Kernels that come with the package, translated to LLVM code that is not optimised for a processor yet.

To compile a kernel, numba types it, translates it to LLVM code, and lets LLVM optimise that and make machine code of
it. The first two steps are Python and take most of the time, and their result does not depend on the processor. So
they are done once, by `python scripts/translate_kernels.py`, for the kernels of `llwlc fit` on one system, Python and
numba. Elsewhere, and after a change of their source, kernels are compiled from source, to the same machine code.
"""

from __future__ import annotations

import contextlib
import hashlib
import lzma
import os
import pickle
import platform
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from llwlc._support.unique_symbols import KernelLibrary

FOLDER = Path(__file__).parents[1] / "_kernels" / "translated"
RECORD = "LLWLC_RECORD_KERNELS"
"""The environment variable with the folder to which `scripts/translate_kernels.py` has translations written."""


def archive_name() -> str:
    """The file for this system, Python and numba: symbols, structures and bitcode may differ between them.

    >>> archive_name().endswith(".zip")
    True
    """
    python = sys.implementation.cache_tag
    versions = f"{python}-numba-{numba.__version__}-llvmlite-{llvmlite.__version__}"
    return f"{sys.platform}-{platform.machine()}-{versions}.zip"


def entry_name(folder: str, function: str, signature: object) -> str:
    """The name of a translation: `folder` names the module and has a digest of its source."""
    digest = hashlib.sha256(str(signature).encode()).hexdigest()[:16]
    return f"{folder}/{function}-{digest}"


def record(name: str, result: CompileResult) -> None:
    """Writes the translation of a compiled kernel, where it is asked for."""
    library = result.library
    if RECORD in os.environ and name not in _names() and isinstance(library, KernelLibrary):
        fields = (result.fndesc, result.environment, result.signature, tuple(result.reload_init))
        file = Path(os.environ[RECORD]) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(dumps((library.name, library.translation, tuple(library.environments()), *fields)))


def load(name: str, context: Any) -> CompileResult | None:
    """The kernel compiled from its translation, None where there is none."""
    content = _read(name) if name in _names() else None
    if content is None:
        return None
    title, bitcode, environments, fndesc, environment, signature, reload_init = pickle.loads(content)
    for function in reload_init:
        function()
    library = KernelLibrary.from_translation(context.codegen(), title, bitcode)
    entry_point = context.get_executable(library, fndesc, environment)
    for each in environments:
        library.codegen.set_env(each.env_name, each)
    empty = dict.fromkeys(CompileResult._fields)
    known = {"target_context": context, "typing_context": context.typing_context, "library": library, "lifted": ()}
    return CompileResult(
        **empty | known | {
            "environment": environment, "entry_point": entry_point, "fndesc": fndesc, "type_annotation": "",
            "signature": signature, "objectmode": False, "reload_init": reload_init,
            "referenced_envs": environments,
        }
    )  # fmt: skip


def signatures(folder: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The name and the types of the arguments of each translated kernel of this module and source."""
    for name in sorted(_names()):
        content = _read(name) if name.startswith(folder + "/") else None
        if content is not None:
            fndesc, _, signature, _ = pickle.loads(content)[3:]
            yield fndesc.qualname.split(".")[-1].split("$")[0], signature.args


def has_module(folder: str) -> bool:
    """Whether the package has translations of this module and source."""
    return not os.environ.get(RECORD) and any(name.startswith(folder + "/") for name in _names())


@cache
def _names() -> frozenset[str]:
    archive = FOLDER / archive_name()
    with contextlib.suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(archive) as opened:
        return frozenset(opened.namelist())
    return frozenset()


def _read(name: str) -> bytes | None:
    archive = FOLDER / archive_name()
    # what damage of an entry raises; it has a checksum
    damaged = (OSError, EOFError, KeyError, lzma.LZMAError, zipfile.BadZipFile)
    with contextlib.suppress(*damaged), zipfile.ZipFile(archive) as opened:
        return opened.read(name)
    return None
