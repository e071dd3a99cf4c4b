"""A lock on a folder: one process at a time, known by its id; that of a process that is no more is taken over."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from llwlc.errors import InputError

if sys.platform != "win32":
    import fcntl

LOCK = ".lock"
"""The file that says who works in a folder."""


@contextmanager
def locked(folder: Path, what: str) -> Iterator[None]:
    """Nobody else works in the folder meanwhile, or this process is told who does.

    The system itself holds the lock (flock), so that it ends with its process, however that ends; the file only says the number of the process.
    """
    handle = _claimed(folder / LOCK, f"{folder}: {what}")
    try:
        with contextlib.suppress(OSError):  # a full disk: the lock holds, it only cannot say whose it is
            os.ftruncate(handle, 0)
            os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        try:
            with contextlib.suppress(OSError):
                (folder / LOCK).unlink()  # before it is let go: whoever waits for this file finds out that it is gone
        finally:
            os.close(handle)


def _claimed(path: Path, who: str) -> int:
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error.strerror}): choose another folder") from error
        if not _held(handle):
            holder = os.read(handle, 32).decode("ascii", "replace").strip()
            os.close(handle)
            raise InputError(f"{who} is under way in process {holder or '(unknown)'}: wait for it, or end it first")
        # the one before may have removed the file between the two steps above: then this is a lock on nothing
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)


def _held(handle: int) -> bool:
    """Whether the lock is this process's now."""
    if sys.platform == "win32":  # which has no flock: nothing is locked
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: better none than no run
        return True
    return True


def alive(pid: int) -> bool:
    """Whether there is a process of this number."""
    if sys.platform == "win32":  # where asking would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # somebody else's
        return True
    return True
