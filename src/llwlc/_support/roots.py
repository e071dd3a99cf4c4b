"""Where files come from: the data root, which is only read, and the cache, where everything fetched or derived goes."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from llwlc._support.files import open_staging_folder
from llwlc._support.text import describe_error
from llwlc.errors import DatasetError, MissingDependencyError, StorageError

Fetch = Callable[[Path], None]
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


def data_root(root: str | Path | None = None) -> Path:
    """The data root: the argument, else `LLWLC_DATA`, else `~/.cache/llwlc`. Nothing is ever written there."""
    return Path(root or os.environ.get("LLWLC_DATA") or Path.home() / ".cache" / "llwlc").expanduser()


def cache_root() -> Path:
    """`LLWLC_CACHE`, else `~/.cache/llwlc/derived`."""
    return Path(os.environ.get("LLWLC_CACHE") or Path.home() / ".cache" / "llwlc" / "derived").expanduser()


def locate(name: str, folder: str, files: Sequence[str], *, root: str | Path | None = None, fetch: Fetch) -> Path:
    """The folder that holds all these files: in the data root, else in the cache, else fetched into the cache.

    `fetch(target)` writes the files under an empty folder; it reaches the cache only when it is complete.
    """
    places = [data_root(root) / folder, cache_root() / folder]
    for place in places:
        if all((place / file).exists() for file in files):
            return place
    try:
        places[1].parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"the cache {places[1].parent} cannot be made ({describe_error(error)}): set LLWLC_CACHE"
        ) from error
    with open_staging_folder(places[1]) as target:
        try:
            # other libraries' loaders print to the terminal; this one does not
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                fetch(target)
        except (MissingDependencyError, StorageError):
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno in DISK_FULL:
                raise  # a fault of the cache, not of the dataset: `open_staging_folder` makes it a StorageError
            missing = next(file for file in files if not (places[0] / file).exists())
            raise DatasetError(
                f"{name}: {folder}/{missing} is not in the data root {data_root(root)}, and fetching it failed"
                f" ({type(error).__name__}: {describe_error(error)}). Put the files there, point LLWLC_DATA or root= at"
                " a folder that has them, or try again with a network"
            ) from error
        absent = [file for file in files if not (target / file).exists()]
        if absent:
            raise DatasetError(f"{name}: what was fetched lacks {', '.join(absent)}; put {folder} into the data root")
    return places[1]
