"""Bytes behind their own digest: what was damaged on a disk is noticed before it is used."""

from __future__ import annotations

import hashlib

DIGEST = 32  # bytes of a SHA-256


def sealed(data: bytes) -> bytes:
    """The data behind their digest."""
    return hashlib.sha256(data).digest() + data


def unsealed(data: bytes) -> bytes | None:
    """What was sealed; None where it is not that any more.

    >>> unsealed(sealed(b"code")), unsealed(sealed(b"code") + b"?")
    (b'code', None)
    """
    return data[DIGEST:] if data[:DIGEST] == hashlib.sha256(data[DIGEST:]).digest() else None
