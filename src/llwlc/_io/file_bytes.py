"""The bytes of a user's file, unzipped where they are gzip; what is to be refused is refused while it is read, before
it takes memory.
"""

from __future__ import annotations

import io
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from llwlc._io.database import make_missing_query_error
from llwlc._io.database_url import restore_url
from llwlc.errors import InputError

UNZIPPED_LIMIT = 2 << 30
"""Bytes that a compressed file may unpack to unless told otherwise: a file of some kilobytes can hold more than any
memory.
"""
CHUNK = 1 << 20
KEPT = 32 << 20
"""Bytes that are kept while the rest of a file is checked; a longer file is read a second time once it has passed."""


class UserFile:
    """A file whose content is read in pieces, as often as it takes. `head`: its first bytes, unzipped."""

    def __init__(self, path: Path, stream: BinaryIO, limit: int | None = UNZIPPED_LIMIT) -> None:
        self.path, self.limit = path, limit
        self._stream = stream
        self._zipped = stream.read(2) == b"\x1f\x8b"
        self.head = next(self.chunks(), b"")[:4096]

    def chunks(self) -> Iterator[bytes]:
        """The content from its beginning, at most a megabyte at a time; one that unpacks to more than the limit is
        refused.
        """
        self._stream.seek(0)
        if self._zipped:
            yield from _unzipped(self.path, self._stream, self.limit)
        else:
            yield from iter(lambda: self._stream.read(CHUNK), b"")

    def read(self, check: Callable[[bytes], None] | None = None) -> bytes:
        """All of the content, after `check` has seen every piece of it, and an empty one at its end."""
        if check is None and not self._zipped:
            self._stream.seek(0)
            return self._stream.read()
        kept: list[bytes] = []
        size = 0
        for chunk in chain(self.chunks(), [b""]):
            if check is not None:
                check(chunk)
            size += len(chunk)
            if size <= KEPT:
                kept.append(chunk)
            else:
                kept.clear()
        if size <= KEPT:
            return b"".join(kept)
        whole = io.BytesIO()
        for chunk in self.chunks():
            whole.write(chunk)
        return whole.getvalue()


@contextmanager
def open_file(path: Path, limit: int | None = UNZIPPED_LIMIT) -> Iterator[UserFile]:
    """A file or pipe. A gzip file that unpacks to more than `limit` bytes is refused (None: any number), as is a pipe
    that delivers more.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise InputError(f"{path} is a device, which has no end: name a file")
        with path.open("rb") as source, tempfile.TemporaryFile() as copy:
            stream: BinaryIO = source
            if stat.S_ISFIFO(mode):
                _copy_pipe(path, source, copy, limit)
                stream = copy
            file = UserFile(path, stream, limit)
            if not file._zipped and path.suffix in (".gz", ".gzip") and file.head[:4] != b"PAR1":
                raise InputError(f"{path} is not a gzip file, whatever its name says: drop the .gz or compress it")
            yield file
    except FileNotFoundError:
        url = restore_url(path)
        if url is not None:
            raise make_missing_query_error(url) from None
        raise InputError(f"there is no file {path}: check the name and the folder") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder: name a file inside it") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def read_bytes(path: Path, limit: int | None = UNZIPPED_LIMIT, check: Callable[[bytes], None] | None = None) -> bytes:
    """All of a file, after `check` has seen every piece of it."""
    with open_file(path, limit) as file:
        return file.read(check)


def make_size_error(path: Path, limit: int) -> InputError:
    return InputError(
        f"{path} unpacks to more than {limit / 2**30:.3g} GB: if it is meant to, lift the limit with --unzipped-limit"
        " (unzipped_limit=)"
    )


def _copy_pipe(path: Path, pipe: BinaryIO, copy: BinaryIO, limit: int | None) -> None:
    """What comes through a pipe, which need not end, on the disk: it can be read once only."""
    size = 0
    while chunk := pipe.read(CHUNK):
        size += copy.write(chunk)
        if limit is not None and size > limit:
            raise make_size_error(path, limit)
    copy.seek(0)


def _unzipped(path: Path, stream: BinaryIO, limit: int | None) -> Iterator[bytes]:
    """All members of a gzip file, one behind the other, as the gzip program reads them; zeros behind the last are
    padding.
    """
    size, rest = 0, stream.read(CHUNK)
    try:
        while rest[:2] == b"\x1f\x8b":
            member = zlib.decompressobj(wbits=31)
            while not member.eof:
                rest = rest or stream.read(CHUNK)
                chunk = member.decompress(rest, CHUNK)
                ended = not rest and not chunk
                rest = member.unconsumed_tail
                size += len(chunk)
                if limit is not None and size > limit:
                    raise make_size_error(path, limit)
                if chunk:
                    yield chunk
                elif ended and not member.eof:
                    raise zlib.error("it ends too early")
            rest = member.unused_data.lstrip(b"\0")
            while len(rest) < 2 and (more := stream.read(CHUNK)):
                rest = (rest + more).lstrip(b"\0")
        if rest:
            raise zlib.error("something else follows its end")
    except zlib.error as error:
        raise InputError(f"{path} is truncated or damaged gzip ({error}): copy or download it again") from None
