"""Folders that only this user can write: code is loaded from such folders only."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def make_private_folder(path: Path) -> Path | None:
    """The folder by its real path, made where it is missing; None where another user could put files into it.

    The folder has to belong to this user and be closed to others for writing, and so has every folder above it, since
    whoever can write there could replace it. Above it, folders of root are accepted as well, and shared ones with the
    sticky bit, such as /tmp, in which users can rename only their own files. Symbolic links of other users are not
    followed.
    """
    if not hasattr(os, "getuid"):  # no owners and modes there; the user's profile is private
        return _make_folder(path)
    me = os.getuid()
    try:
        trusted = {me, 0, os.stat("/").st_uid}  # in a user namespace the files of root have another id
        if any(link.is_symlink() and link.lstat().st_uid not in trusted for link in (path, *path.absolute().parents)):
            return None
        folder = _make_folder(path)
        if folder is None:
            return None
        own = folder.stat()
        if own.st_uid != me or own.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return None
        return folder if all(_is_closed(above.stat(), trusted) for above in folder.parents) else None
    except OSError:
        return None


def _make_folder(path: Path) -> Path | None:
    """The folder by its real path, writable; missing folders above it are made for this user alone as well."""
    try:
        for folder in (*reversed(path.absolute().parents), path):
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
        real = path.resolve(strict=True)
    except OSError:
        return None
    return real if real.is_dir() and os.access(real, os.W_OK | os.X_OK) else None


def _is_closed(above: os.stat_result, trusted: set[int]) -> bool:
    shared = above.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return above.st_uid in trusted and (not shared or bool(above.st_mode & stat.S_ISVTX))
