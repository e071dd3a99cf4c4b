"""Files and folders that are written atomically: under another name first, synced, then renamed; and digests of
files.

A process that is killed leaves at most files whose names end in `PARTIAL`, which the next process that writes the same
file removes. A full disk, a read-only folder and a file size limit raise a `StorageError` that names the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from glob import escape
from pathlib import Path

import torch
from torch import Tensor

from llwlc._support.lock import is_alive
from llwlc.errors import InputError, StorageError

PARTIAL = ".partial"
"""The ending of a file that is being written; one found later was left behind by a killed process."""

TYPES = {
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.int16: "I16",
    torch.int32: "I32",
    torch.int64: "I64",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.float32: "F32",
    torch.float64: "F64",
}
"""The types of a safetensors file, by those of torch."""

WINDOWS = os.name == "nt"
PATIENCE = 2.0
"""Seconds that a file is waited for which another program has open: Windows replaces no open file, and scanners open
new ones for a moment.
"""
_OWN: set[Path] = set()  # files that this process is writing


def check_parent_folder(path: Path) -> None:
    """Refuses a file whose folder does not exist, so that a long job can check before it starts."""
    if not path.absolute().parent.is_dir():
        raise InputError(f"there is no folder {path.parent} to write {path.name} into: make it first")
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file")


@contextmanager
def open_atomic_file(path: Path) -> Iterator[Path]:
    """A temporary file to write to, which replaces `path` when the block succeeds: a kill at any moment leaves the old
    file or the new one.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "greeting.txt"
    >>> with open_atomic_file(file) as partial:
    ...     _ = partial.write_text("hello")
    >>> file.read_text(), partial.exists()
    ('hello', False)
    """
    with _beside(path) as partial:
        yield partial
        _to_disk(partial)  # before the rename: after a power cut the name must not stand for an empty file
        replace_file(partial, path)


@contextmanager
def open_atomic_folder(path: Path) -> Iterator[Path]:
    """`open_atomic_file` for a folder of plain files; a folder that another process put there first stays."""
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
def open_staging_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to write to; when the block succeeds, each file and folder in it is moved to `path`, which may
    hold others.
    """
    with _beside(path) as partial:
        partial.mkdir()
        yield partial
        for contents in partial.rglob("*"):
            _to_disk(contents)
        path.mkdir(exist_ok=True)
        for entry in partial.iterdir():
            if (path / entry.name).is_dir():
                shutil.rmtree(path / entry.name)
            replace_file(entry, path / entry.name)
        _to_disk(path)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A temporary name beside `path`, of this process: where two processes write the same file, the last to finish
    wins. Removes what is left under it, and what ended processes have left under theirs."""
    partial = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{PARTIAL}")
    _OWN.add(partial)
    try:
        _remove_litter(path)
        yield partial
        _to_disk(path.parent)  # the new name
    except StorageError:  # of a file inside, which its message names
        raise
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written ({error.strerror or error}): make room or choose another place, and run the same"
            " again"
        ) from error
    finally:
        _OWN.discard(partial)
        remove(partial)


def replace_file(source: Path, target: Path) -> None:
    """`os.replace`, on Windows with patience for another program that has the target open."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            os.replace(source, target)
            return
        except PermissionError as error:
            if not WINDOWS or time.monotonic() > until:
                if WINDOWS:
                    error.strerror = f"{error.strerror}; perhaps a program has it open: close it"
                raise
            time.sleep(PATIENCE / 20)


def _remove_litter(path: Path) -> None:
    for leftovers in path.parent.glob(f"{escape('.' + path.name)}.*{PARTIAL}"):
        pid = leftovers.name.removeprefix(f".{path.name}.").partition("-")[0]
        own = pid == str(os.getpid())  # process ids are reused, in a container often at once
        if pid.isdecimal() and leftovers not in _OWN and (own or not is_alive(int(pid))):
            remove(leftovers)


def remove(path: Path) -> None:
    """Removes a file or a folder, if it is there and this user may."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    if path.is_dir() and WINDOWS:  # which syncs no folders
        return
    handle = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)  # and no file that is open for reading alone
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, str] | None = None) -> None:
    """A safetensors file, atomically, written tensor by tensor: a mapped one is never in memory as a whole.
    (The library's own writer makes a copy of all of them first, and leaves files of random names behind when it is
    killed.)"""
    # wide types first, as the library does, so that every tensor begins at a multiple of its type
    named = sorted(tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    header: dict[str, object] = {} if about is None else {"__metadata__": dict(about)}
    end = 0
    for name, tensor in named:
        begin, end = end, end + tensor.nbytes
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open_atomic_file(path) as partial, partial.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, tensor in named:
            if tensor.numel():
                file.write(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)


def write_text(path: Path, text: str) -> None:
    """Writes UTF-8, whatever the encoding of this machine, since others have to read it. Bytes that are not text, as in
    some file names, are written as codes.
    """
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, data: bytes) -> None:
    with open_atomic_file(path) as partial:
        partial.write_bytes(data)


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
