"""Arrays in files without a name: for arrays of the size of a graph that is mapped because it does not fit in
memory.
"""

from __future__ import annotations

import os
import tempfile
from typing import IO

import numpy as np
import torch
from torch import Tensor

from llwlc._support.roots import cache_root
from llwlc.errors import StorageError

ZEROS = bytes(1 << 20)


def allocate_array(shape: tuple[int, ...], dtype: torch.dtype, *, mapped: bool) -> Tensor:
    """An array to fill, in memory or, where `mapped`, in a file of the cache folder that has no name: the system writes
    it to disk where memory is short, and removes it with the last reference to it, also when the process is killed.

    >>> found = allocate_array((2, 3), torch.int64, mapped=True)
    >>> found.zero_().shape
    torch.Size([2, 3])
    """
    if not mapped or not all(shape):
        return torch.empty(shape, dtype=dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    folder = cache_root()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            _reserve(file, size)
            plain = np.memmap(file, dtype=np.uint8, mode="r+", shape=(size,))
    except OSError as error:
        raise StorageError(
            f"{size:,} bytes of temporary files cannot be written to {folder} ({error.strerror or error}): make room,"
            " or set LLWLC_CACHE to another folder"
        ) from error
    return torch.from_numpy(plain).view(dtype).reshape(shape)


def _reserve(file: IO[bytes], size: int) -> None:
    """Takes the room on disk now: a full disk is an error here, while a write to a mapped page that has no room would
    end the process.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for at in range(0, size, len(ZEROS)):
        file.write(ZEROS[: min(len(ZEROS), size - at)])
    file.flush()
