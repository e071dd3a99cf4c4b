"""Files written whole or not at all, and what a file holds, as a digest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """UTF-8, whatever this machine's own encoding is: another one has to read it."""
    path.write_text(text, encoding="utf-8")


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
