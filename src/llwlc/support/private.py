"""Folders that nobody but this user can write: what is run from a folder must come from one of these."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def private_folder(path: Path) -> Path | None:
    """The folder, made where it is missing, without symbolic links on its way; None where somebody else could put files into it.

    It has to be this user's own, closed to all others for writing, and so has every folder above it, up to the root: who can write there could
    put another one in its place. Above it, folders of root's count as well, and shared ones with the sticky bit, such as /tmp, in which
    nobody can rename what is not theirs. A symbolic link that somebody else made is not followed.
    """
    if not hasattr(os, "getuid"):  # no owners and modes to ask for; what is under the user's profile is theirs
        return _made(path)
    me = os.getuid()
    try:
        trusted = {me, 0, os.stat("/").st_uid}  # in a user namespace root's files have another number
        if any(link.is_symlink() and link.lstat().st_uid not in trusted for link in (path, *path.absolute().parents)):
            return None
        folder = _made(path)
        if folder is None:
            return None
        own = folder.stat()
        if own.st_uid != me or own.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return None
        return folder if all(_closed(above.stat(), trusted) for above in folder.parents) else None
    except OSError:
        return None


def _made(path: Path) -> Path | None:
    """The folder by its real name, writable; the missing ones above it are made for this user alone too."""
    try:
        for folder in (*reversed(path.absolute().parents), path):
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
        real = path.resolve(strict=True)
    except OSError:
        return None
    return real if real.is_dir() and os.access(real, os.W_OK | os.X_OK) else None


def _closed(above: os.stat_result, trusted: set[int]) -> bool:
    shared = above.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return above.st_uid in trusted and (not shared or bool(above.st_mode & stat.S_ISVTX))
