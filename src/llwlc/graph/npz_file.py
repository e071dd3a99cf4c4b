"""Plain arrays of an npz file; the header of each is checked before memory is allocated for it."""

from __future__ import annotations

import io
import lzma
import math
import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from llwlc.errors import InputError
from llwlc.graph.file_bytes import UNZIPPED_LIMIT, read_bytes, too_large

DAMAGE = (
    OSError,
    ValueError,
    TypeError,
    SyntaxError,
    MemoryError,
    tokenize.TokenError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    LookupError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)


def read_npz(path: Path, limit: int | None = UNZIPPED_LIMIT) -> dict[str, np.ndarray]:
    """All arrays by their names. Pickled objects are refused, and so is a file whose arrays take more than `limit` bytes together."""
    data = read_bytes(path, limit)
    if data.startswith(npy.MAGIC_PREFIX):
        raise InputError(f"{path} holds one array (npy), whatever its name says: write it with numpy.savez(path, x=x)")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            entries = [entry for entry in file.infolist() if entry.filename.endswith(".npy")]
            if limit is not None and sum(entry.file_size for entry in entries) > limit:
                raise too_large(path, limit)
            return {entry.filename.removesuffix(".npy"): _array(file.read(entry)) for entry in entries}
    except InputError:
        raise
    except PickledError:
        raise InputError(
            f"{path} is no usable npz file (it holds pickled objects): write plain arrays with numpy.savez"
        ) from None
    except DAMAGE as error:
        raise InputError(
            f"{path} is no usable npz file (it is damaged): write plain arrays with numpy.savez"
        ) from error


class PickledError(Exception):
    """An array of Python objects, which only a pickle can hold."""


def _array(data: bytes) -> np.ndarray:
    """One array, after its header was compared with what is there: a header may promise any shape."""
    file = io.BytesIO(data)
    version = npy.read_magic(file)
    shape, by_columns, dtype = npy.read_array_header_1_0(file) if version == (1, 0) else npy.read_array_header_2_0(file)
    if dtype.hasobject:
        raise PickledError
    if math.prod(shape) * dtype.itemsize != len(data) - file.tell():
        raise ValueError("the shape in the header is not that of the data")
    flat = np.frombuffer(data, dtype, offset=file.tell()) if dtype.itemsize else np.empty(math.prod(shape), dtype)
    return flat.reshape(shape, order="F" if by_columns else "C").copy()
