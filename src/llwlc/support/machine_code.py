"""The cache of compiled kernels: in a folder that only this user can write, each file with its digest.

numba stores machine code as pickles, which execute code as they are read, and does not check whether the file was changed. And it tells functions of one name and
signature apart by a number that every process counts from one, so files of two processes may have different functions under one name, of which a third process
takes the first for both (numba's issue 10486): `number_at_random`.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import secrets
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from numba.core.bytecode import FunctionIdentity
from numba.core.caching import IndexDataCacheFile

from llwlc.support.private import private_folder
from llwlc.support.seal import sealed, unsealed

if sys.platform != "win32":
    import fcntl


@cache
def code_root() -> Path:
    """A folder for machine code that only this user can write: `NUMBA_CACHE_DIR`, else one in the home or temporary directory.

    Where there is none, a temporary one for this process.
    """
    stated = os.environ.get("NUMBA_CACHE_DIR")
    mine = f"llwlc-numba-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    for place in (Path(stated) if stated else _in_home(), Path(tempfile.gettempdir()) / mine):
        found = None if place is None else private_folder(place)
        if found is not None:
            return found
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


class SealedCodeFile(IndexDataCacheFile):  # type: ignore[misc]
    """numba's cache files of one function, each with its digest: a damaged file counts as missing, and the function is compiled again."""

    def _read(self, path: str) -> Any:
        with contextlib.suppress(OSError):
            data = unsealed(Path(path).read_bytes())
            if data is not None:
                return pickle.loads(data)
        return None

    def _write(self, path: str, content: object) -> None:
        with contextlib.suppress(OSError), self._open_for_write(path) as file:  # a full disk: it will be compiled again
            file.write(sealed(self._dump(content)))

    def _load_index(self) -> Any:
        found = self._read(self._index_path)
        stamp = (self._version, self._source_stamp)
        return found[1] if found is not None and found[0] == stamp else {}

    def _save_index(self, overloads: object) -> None:
        self._write(self._index_path, ((self._version, self._source_stamp), overloads))

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: object) -> None:
        self._write(self._data_path(name), data)


def seal_cache(dispatcher: Any) -> None:
    """Makes a compiled function store its machine code in `SealedCodeFile`s."""
    kept = dispatcher._cache
    kept._cache_file = SealedCodeFile(
        cache_path=kept.cache_path,
        filename_base=kept._impl.filename_base,
        source_stamp=kept._impl.locator.get_source_stamp(),
    )


_compiling: set[str] = set()


@contextmanager
def by_one_process(dispatcher: Any) -> Iterator[None]:
    """While this process looks for a compiled function in the cache, compiles and stores it, no other one does; those that wait then find it there.

    Otherwise each would run code of its own, and a function that is compiled with others from the cache rounds in other places than one that is compiled together with them: a fit that is
    interrupted and resumed would not end in the same bits. And two that store at a time would take each other's place in the index. No two processes wait for each other: a lock is
    held only while those of functions that are called from there are taken. The caller holds numba's own lock, which is that of threads.
    """
    path = str(Path(dispatcher._cache.cache_path) / f"{dispatcher._cache._impl.filename_base}.lock")
    if path in _compiling or sys.platform == "win32":  # by this process already, or no flock there
        yield
        return
    handle = -1
    # a folder that cannot be written, or a file system without locks: go on without one
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
    _compiling.add(path)
    try:
        yield
    finally:
        _compiling.discard(path)
        if handle >= 0:
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)  # a process that was forked meanwhile holds the file open
            os.close(handle)


def number_at_random() -> None:
    """Makes numba number functions at random, in 64 bits: no two processes, forked ones included, give a number to two functions of one name. `np.sort` and
    `np.argsort`, for one, are made of functions of the same names."""
    FunctionIdentity._unique_ids = iter(partial(secrets.randbits, 64), None)
