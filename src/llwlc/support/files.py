"""Files and folders written whole or not at all, in one place: written beside, synced, renamed; and what a file holds, as a digest.

A process that is killed leaves at most things whose names end in `PARTIAL`. Whoever writes the same file next removes them. A disk that is full, a folder that
is read-only and a file size limit end in an `InputError` that names the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from glob import escape
from pathlib import Path

from safetensors.torch import save
from torch import Tensor

from llwlc.errors import InputError
from llwlc.support.lock import alive

PARTIAL = ".partial"
"""The ending of what is being written; found later, it was left behind by a process that was killed."""


_OWN: set[Path] = set()  # what this process is writing


def check_place(path: Path) -> None:
    """Complains of a file that cannot be written for lack of a folder, so that a long job can ask before it starts."""
    if not path.absolute().parent.is_dir():
        raise InputError(f"there is no folder {path.parent} to write {path.name} into: make it first")
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file beside `path` to write to, which takes its place when the block ends well: a kill at any moment leaves the old one or the new one.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "greeting.txt"
    >>> with whole_file(file) as partial:
    ...     _ = partial.write_text("hello")
    >>> file.read_text(), partial.exists()
    ('hello', False)
    """
    with _beside(path) as partial:
        yield partial
        _to_disk(partial)  # before the name changes: after a power cut it must not stand for an empty file
        os.replace(partial, path)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """`whole_file` for a folder of plain files; one that is there already, as another process was first, stays."""
    with _beside(path) as partial:
        partial.mkdir()
        yield partial
        for file in partial.iterdir():
            _to_disk(file)
        try:
            os.rename(partial, path)
        except OSError:
            if not path.is_dir():
                raise


@contextmanager
def filled_folder(path: Path) -> Iterator[Path]:
    """A folder beside `path` to write to; when the block ends well, each file and folder in it takes its place in `path`, where others may be already."""
    with _beside(path) as partial:
        partial.mkdir()
        yield partial
        for found in partial.rglob("*"):
            _to_disk(found)
        path.mkdir(exist_ok=True)
        for entry in partial.iterdir():
            if (path / entry.name).is_dir():
                shutil.rmtree(path / entry.name)
            os.replace(entry, path / entry.name)
        _to_disk(path)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A name beside `path`, of this process, so that two may write the same and the last one to finish wins. Nothing is left under it, nor what processes
    that are no more have left under theirs."""
    partial = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{PARTIAL}")
    _OWN.add(partial)
    try:
        _remove_litter(path)
        yield partial
        _to_disk(path.parent)  # the new name
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror or error}): make room or choose another place, and run the same again"
        ) from error
    finally:
        _OWN.discard(partial)
        remove(partial)


def _remove_litter(path: Path) -> None:
    for left in path.parent.glob(f"{escape('.' + path.name)}.*{PARTIAL}"):
        pid = left.name.removeprefix(f".{path.name}.").partition("-")[0]
        mine = pid == str(os.getpid())  # a number comes again, in a container often at once
        if pid.isdecimal() and left not in _OWN and (mine or not alive(int(pid))):
            remove(left)


def remove(path: Path) -> None:
    """A file or a folder, if it is there and this user may."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    if path.is_dir() and not hasattr(os, "O_DIRECTORY"):  # Windows syncs no folders
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, str] | None = None) -> None:
    """A safetensors file, whole or not at all. (The library's own writer leaves files of random names behind when it is killed.)"""
    write_bytes(
        path, save({name: t.contiguous() for name, t in tensors.items()}, None if about is None else dict(about))
    )


def write_text(path: Path, text: str) -> None:
    """UTF-8, whatever this machine's own encoding is: another one has to read it. What is no text, as a file name may be, is written as its codes."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, data: bytes) -> None:
    with whole_file(path) as partial:
        partial.write_bytes(data)


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
