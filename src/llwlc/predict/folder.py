"""The folder of a run while it is fitted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from llwlc.errors import InputError
from llwlc.predict.run_directory import CHECKPOINT, leftovers, load
from llwlc.predict.run_format import RunConfig, is_finished, read_config
from llwlc.support.lock import locked
from llwlc.training.checkpoint import Checkpoint, read_checkpoint
from llwlc.training.fingerprint import later_fingerprint


def finished(folder: Path, fingerprint: str) -> RunConfig | None:
    """The configuration of this run where the folder holds it finished, else None; a folder with another run, or with other files, is refused."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    if not folder.is_dir():
        raise InputError(f"{folder} is a file; --out names a folder for the run")
    if is_finished(folder):
        config = read_config(folder)
        if config.info.fingerprint != fingerprint and not _older(folder, config, fingerprint):
            raise InputError(
                f"{folder} holds another run (other graph, split or options): choose another --out or delete it"
            )
        return config
    if (folder / CHECKPOINT).exists():
        read_checkpoint(
            Checkpoint(folder / CHECKPOINT, fingerprint)
        )  # a bad checkpoint is refused now, not after the long work
    elif any(p not in leftovers(folder) for p in folder.iterdir()):
        raise InputError(f"{folder} holds files that are no run of llwlc: choose another --out")
    return None


def _older(folder: Path, config: RunConfig, fingerprint: str) -> bool:
    """Whether this is the same run from an older version, whose fingerprint left out names, times and message graphs: these are compared directly."""
    first, _, later = fingerprint.partition("-")
    if config.info.fingerprint != first:
        return False
    run = load(folder, config)
    return later_fingerprint(run.graph, run.split) == later


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """Makes and locks the folder of a run; removes it again where bad input, or an interrupt, stops the fit before anything is in it."""
    new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made ({error.strerror}): choose another --out") from error
    try:
        with locked(folder, "another fit"):
            yield
    except BaseException:
        with contextlib.suppress(OSError):  # somebody may have removed it meanwhile
            if new and not any(folder.iterdir()):
                folder.rmdir()
        raise
