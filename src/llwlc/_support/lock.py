"""A lock on a folder, held by one process at a time; the lock of an ended process is taken over."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from llwlc._support.file_lock import MSVCRT, lock_file
from llwlc.errors import StorageError

LOCK = ".lock"
"""The file with the id of the process that works in a folder."""


@contextmanager
def hold_lock(folder: Path, what: str) -> Iterator[None]:
    """Holds the lock for the block; raises an error that names the process that has it, where another one does.

    The system itself holds the lock (`file_lock`), so that it ends with its process, even if that is killed; the file
    only names the process.
    """
    handle = _claimed(folder / LOCK, f"{folder}: {what}")
    try:
        with contextlib.suppress(OSError):  # on a full disk the lock holds, but the file cannot name the process
            os.ftruncate(handle, 0)
            os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        removed = False
        try:
            # before the lock is released: a process that waits for this file notices that it is gone
            with contextlib.suppress(OSError):
                (folder / LOCK).unlink()
                removed = True
        finally:
            os.close(handle)
        if not removed:  # Windows removes no open file, so another holder's stays as well
            _remove_closed(folder / LOCK)


def _remove_closed(path: Path) -> None:
    if MSVCRT is not None:
        with contextlib.suppress(OSError):
            path.unlink()


def _claimed(path: Path, who: str) -> int:
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
        except OSError as error:
            raise StorageError(f"{path} cannot be written ({error.strerror}): choose another folder") from error
        if not lock_file(handle, wait=False):
            holder = os.read(handle, 32).decode("ascii", "replace").strip()
            os.close(handle)
            raise StorageError(f"{who} is under way in process {holder or '(unknown)'}: wait for it, or end it first")
        # the previous holder may have removed the file between the two steps above; the lock would then protect nothing
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)


def is_alive(pid: int) -> bool:
    """Whether there is a process with this id."""
    if sys.platform == "win32":  # where the signal 0 would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's
        return True
    return True
