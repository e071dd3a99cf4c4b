"""Files written whole or not at all, and what a file holds, as a digest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from safetensors.torch import save
from torch import Tensor

PARTIAL = ".partial"
"""The ending of what is being written; found later, it was left behind by a process that was killed."""


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
    partial = path.with_name(f"{path.name}{PARTIAL}")
    try:
        yield partial
        _to_disk(partial)  # before the name changes: after a power cut it must not stand for an empty file
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _to_disk(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, str] | None = None) -> None:
    """A safetensors file, whole or not at all. (The library's own writer leaves files of random names behind when it is killed.)"""
    data = save({name: tensor.contiguous() for name, tensor in tensors.items()}, None if about is None else dict(about))
    with whole_file(path) as partial:
        partial.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    """UTF-8, whatever this machine's own encoding is: another one has to read it."""
    path.write_text(text, encoding="utf-8")


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
