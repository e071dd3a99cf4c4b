"""The folder of a run while it is fitted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from llwlc._io.database_url import refuse_url
from llwlc._runs.directory import CHECKPOINT, find_leftovers
from llwlc._runs.format import RunConfig, is_finished, read_config
from llwlc._support.lock import hold_lock
from llwlc.errors import RunFolderError, StorageError
from llwlc.training._checkpoint import Checkpoint, read_checkpoint


def find_finished_run(folder: Path, fingerprint: str) -> RunConfig | None:
    """The configuration of this run where the folder holds it finished, else None; a folder with another run, or with
    other files, is refused.
    """
    refuse_url(folder, "--out names a folder for the run")
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    if not folder.is_dir():
        raise RunFolderError(f"{folder} is a file; --out names a folder for the run")
    if is_finished(folder):
        config = read_config(folder)
        if config.info.fingerprint != fingerprint:
            raise RunFolderError(
                f"{folder} holds another run (other graph, split or options): choose another --out or delete it"
            )
        return config
    if (folder / CHECKPOINT).exists():
        read_checkpoint(
            Checkpoint(folder / CHECKPOINT, fingerprint)
        )  # a bad checkpoint is refused now, not after the long work
    elif any(p not in find_leftovers(folder) for p in folder.iterdir()):
        raise RunFolderError(f"{folder} holds files that are not a run of llwlc: choose another --out")
    return None


@contextmanager
def make_run_folder(folder: Path) -> Iterator[None]:
    """Makes and locks the folder of a run; removes it again where bad input, or an interrupt, stops the fit before
    anything is in it.
    """
    new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"the folder {folder} cannot be made ({error.strerror}): choose another --out") from error
    try:
        with hold_lock(folder, "another fit"):
            yield
    except BaseException:
        with contextlib.suppress(OSError):  # somebody may have removed it meanwhile
            if new and not any(folder.iterdir()):
                folder.rmdir()
        raise
