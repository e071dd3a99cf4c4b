"""Where compiled kernels are kept: in a folder of this user's alone, each file under its digest.

numba keeps machine code as pickles, which run whatever they say as they are read, and reads them without a look at what became of the file since.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

from llwlc.support.private import private_folder
from llwlc.support.seal import sealed, unsealed


@cache
def code_root() -> Path:
    """A folder for machine code that only this user can write: `NUMBA_CACHE_DIR`, else one in the home or temporary directory.

    Where there is none, one that lasts as long as this process.
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
    except RuntimeError:  # a user without a home
        return None


class SealedCodeFile(IndexDataCacheFile):  # type: ignore[misc]
    """numba's files of one function, each behind its digest: a damaged one counts as missing, so that the function is compiled again."""

    def _read(self, path: str) -> Any:
        with contextlib.suppress(OSError):
            data = unsealed(Path(path).read_bytes())
            if data is not None:
                return pickle.loads(data)
        return None

    def _write(self, path: str, content: object) -> None:
        with contextlib.suppress(OSError), self._open_for_write(path) as file:  # full: then it is compiled again
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
    """Has a compiled function keep its machine code in `SealedCodeFile`s."""
    kept = dispatcher._cache
    kept._cache_file = SealedCodeFile(
        cache_path=kept.cache_path,
        filename_base=kept._impl.filename_base,
        source_stamp=kept._impl.locator.get_source_stamp(),
    )
