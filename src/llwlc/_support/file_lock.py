"""Locks on open files, which end with the process that holds them: flock, on Windows the locks of its C library. Where
there is neither, and on file systems without locks, every process counts as the holder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from importlib import import_module
from typing import Any


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


FCNTL, MSVCRT = _module("fcntl"), _module("msvcrt")
FAR = 1 << 30
"""The byte that is locked on Windows, where others cannot read a locked one: far behind what the file says."""
PAUSE = 0.05


def lock_file(handle: int, *, wait: bool) -> bool:
    """Whether this process has the lock of an open file now."""
    if FCNTL is not None:
        try:
            FCNTL.flock(handle, FCNTL.LOCK_EX | (0 if wait else FCNTL.LOCK_NB))
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: go on without one
            return True
        return True
    while MSVCRT is not None and not _lock_far_byte(handle):
        if not wait:
            return False
        time.sleep(PAUSE)
    return True


def unlock_file(handle: int) -> None:
    """Releases the lock, also for processes that were forked meanwhile and hold the file open."""
    with contextlib.suppress(OSError):
        if FCNTL is not None:
            FCNTL.flock(handle, FCNTL.LOCK_UN)
        elif MSVCRT is not None:
            os.lseek(handle, FAR, os.SEEK_SET)
            MSVCRT.locking(handle, MSVCRT.LK_UNLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)


def _lock_far_byte(handle: int) -> bool:
    try:
        os.lseek(handle, FAR, os.SEEK_SET)
        MSVCRT.locking(handle, MSVCRT.LK_NBLCK, 1)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EDEADLK)
    finally:
        os.lseek(handle, 0, os.SEEK_SET)
    return True
