"""Bytes with their digest in front: damage on a disk is noticed before they are used."""

from __future__ import annotations

import hashlib

DIGEST = 32  # bytes of a SHA-256


def add_checksum(data: bytes) -> bytes:
    """The digest, followed by the data."""
    return hashlib.sha256(data).digest() + data


def strip_checksum(data: bytes) -> bytes | None:
    """The data behind the digest; None where they do not match it.

    >>> strip_checksum(add_checksum(b"code")), strip_checksum(add_checksum(b"code") + b"?")
    (b'code', None)
    """
    return data[DIGEST:] if data[:DIGEST] == hashlib.sha256(data[DIGEST:]).digest() else None
