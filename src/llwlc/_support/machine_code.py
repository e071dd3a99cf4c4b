"""The cache of compiled kernels: in a folder that only this user can write, each file with its digest.

numba stores machine code as pickles, which execute code as they are read, and does not check whether the file was
changed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    _CacheLocator,
    _SourceFileBackedLocatorMixin,
)

from llwlc._support import translated_kernels
from llwlc._support.checksum import add_checksum, strip_checksum
from llwlc._support.file_lock import lock_file, unlock_file
from llwlc._support.private_folders import make_private_folder


@cache
def code_root() -> Path:
    """A folder for machine code that only this user can write: `NUMBA_CACHE_DIR`, else one in the home or temporary
    directory.

    Where there is none, a temporary one for this process.
    """
    stated = os.environ.get("NUMBA_CACHE_DIR")
    user_folder = f"llwlc-numba-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    for place in (Path(stated) if stated else _in_home(), Path(tempfile.gettempdir()) / user_folder):
        private = None if place is None else make_private_folder(place)
        if private is not None:
            return private
        if stated and place == Path(stated):
            warnings.warn(
                f"NUMBA_CACHE_DIR={stated} is not used: others could write there, or this user cannot", stacklevel=2
            )
    folder = Path(tempfile.mkdtemp(prefix="llwlc-numba-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _in_home() -> Path | None:
    try:
        return Path.home() / ".cache" / "llwlc" / "numba"
    except RuntimeError:  # a user without a home directory
        return None


class ChecksummedCodeFile(IndexDataCacheFile):  # type: ignore[misc]
    """numba's cache files of one function, each with its digest: a damaged file counts as missing, and the function is
    compiled again.
    """

    def _read(self, path: str) -> Any:
        with contextlib.suppress(OSError):
            data = strip_checksum(Path(path).read_bytes())
            if data is not None:
                return pickle.loads(data)
        return None

    def _write(self, path: str, content: object) -> None:
        with contextlib.suppress(OSError), self._open_for_write(path) as file:  # a full disk: it will be compiled again
            file.write(add_checksum(self._dump(content)))

    def _load_index(self) -> Any:
        index = self._read(self._index_path)
        stamp = (self._version, self._source_stamp)
        return index[1] if index is not None and index[0] == stamp else {}

    def _save_index(self, overloads: object) -> None:
        self._write(self._index_path, ((self._version, self._source_stamp), overloads))

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: object) -> None:
        self._write(self._data_path(name), data)


class KernelLocator(_SourceFileBackedLocatorMixin, _CacheLocator):  # type: ignore[misc]
    """Where numba keeps the machine code of one function: in a folder whose name has the digest of its source, so that
    neither the place nor the time of the source file matters. A package that is installed again, or a second checkout,
    finds its kernels compiled.
    """

    def __init__(self, function: Any, file: str, folder: str) -> None:
        self._py_file, self._lineno = file, function.__code__.co_firstlineno
        self._cache_path = folder

    def get_cache_path(self) -> str:
        return self._cache_path

    def get_source_stamp(self) -> tuple[float, int]:
        return 0.0, 0


@dataclass(frozen=True)
class KernelFolder:
    """Finds functions below `path`, in the place of numba's locator for its setting `CACHE_DIR`, which is one for all
    users of numba in this process.
    """

    path: str

    def from_function(self, function: Any, file: str) -> KernelLocator | None:
        """The locator of a function; None where its source is not a file, in a notebook."""
        if not Path(file).exists():
            return None
        locator = KernelLocator(function, file, self.path)
        try:
            locator.ensure_cache_path()
        except OSError:  # no such folder can be made
            return None
        return locator


class KernelCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    """numba's way to store a compiled function, in a folder of ours."""

    def __init__(self, function: Any, folder: str) -> None:
        self._locator_classes = [KernelFolder(folder), *CompileResultCacheImpl._locator_classes]
        super().__init__(function)


class KernelCache(FunctionCache):  # type: ignore[misc]
    """numba's cache of one function, in a folder of ours and in `ChecksummedCodeFile`s. `translations` returns the name
    of the function's translations that came with the package.
    """

    def __init__(self, function: Any, folder: str, translations: Callable[[], str] = str) -> None:
        self._translations = translations
        self._impl_class = partial(KernelCacheImpl, folder=folder)
        super().__init__(function)
        self._cache_file = ChecksummedCodeFile(
            cache_path=self.cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function, from this folder, or made of the translation that came with the package."""
        compiled = super()._load_overload(sig, target_context)
        if compiled is None:
            compiled = translated_kernels.load(self._translation(sig), target_context)
            if compiled is not None:
                self.save_overload(sig, compiled)
        return compiled

    def save_overload(self, sig: Any, data: Any) -> None:
        """Stores the compiled function."""
        super().save_overload(sig, data)
        translated_kernels.record(self._translation(sig), data)

    def _translation(self, sig: Any) -> str:
        return translated_kernels.entry_name(self._translations(), self._py_func.__name__, sig)

    @property
    def lock_path(self) -> str:
        """The file that is locked while the function is compiled."""
        return str(Path(self.cache_path) / f"{self._impl.filename_base}.lock")


_compiling: set[str] = set()


@contextmanager
def lock_compilation(path: str) -> Iterator[None]:
    """While this process looks for a compiled function in the cache, whose lock is this file, compiles and stores it,
    no other one does; those that wait then find it there.

    Otherwise each would compile the same function, and two that store at a time would take each other's place in the
    index. A process holds one lock at a time, so no two wait for each other. The caller holds numba's own lock, which
    is that of threads.
    """
    if path in _compiling:  # by this process already
        yield
        return
    handle = -1
    # a folder that cannot be written, or a file system without locks: go on without one
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        lock_file(handle, wait=True)
    _compiling.add(path)
    try:
        yield
    finally:
        _compiling.discard(path)
        if handle >= 0:
            unlock_file(handle)
            os.close(handle)
