"""The bytes of a user's file, unzipped where they are gzip, never more than a stated number of them."""

from __future__ import annotations

import stat
import zlib
from pathlib import Path

from llwlc.errors import InputError

UNZIPPED_LIMIT = 2 << 30
"""Bytes that a compressed file may unpack to unless told otherwise: a file of some kilobytes can hold more than any memory."""
CHUNK = 1 << 20


def read_bytes(path: Path, limit: int | None = UNZIPPED_LIMIT) -> bytes:
    """All of a file, unzipped if it is gzip; one that unpacks to more than `limit` bytes is refused (None: any number)."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise InputError(f"{path} is a device, which has no end: name a file")
        data = _piped(path, limit) if stat.S_ISFIFO(mode) else path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {path}: check the name and the folder") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder: name a file inside it") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if data[:2] == b"\x1f\x8b":
        return _unzipped(path, data, limit)
    if path.suffix in (".gz", ".gzip") and data[:4] != b"PAR1":
        raise InputError(f"{path} is no gzip file, whatever its name says: drop the .gz or compress it")
    return data


def too_large(path: Path, limit: int) -> InputError:
    return InputError(
        f"{path} unpacks to more than {limit / 2**30:.3g} GB: if it is meant to, lift the limit with --unzipped-limit (unzipped_limit=)"
    )


def _piped(path: Path, limit: int | None) -> bytes:
    """What comes through a pipe, which need not end."""
    found = bytearray()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            found += chunk
            if limit is not None and len(found) > limit:
                raise too_large(path, limit)
    return bytes(found)


def _unzipped(path: Path, data: bytes, limit: int | None) -> bytes:
    """All members of a gzip file, one behind the other, as the gzip program reads them; zeros behind the last are padding."""
    found = bytearray()
    rest = data
    try:
        while rest[:2] == b"\x1f\x8b":
            member = zlib.decompressobj(wbits=31)
            while not member.eof:
                chunk = member.decompress(rest, CHUNK)
                rest = member.unconsumed_tail
                found += chunk
                if limit is not None and len(found) > limit:
                    raise too_large(path, limit)
                if not chunk and not rest and not member.eof:
                    raise zlib.error("it ends too early")
            rest = member.unused_data.lstrip(b"\0")
        if rest:
            raise zlib.error("something else follows its end")
    except zlib.error as error:
        raise InputError(f"{path} is truncated or damaged gzip ({error}): copy or download it again") from None
    return bytes(found)
