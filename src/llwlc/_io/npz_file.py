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

from llwlc._io.file_bytes import CHUNK, UNZIPPED_LIMIT, make_size_error, read_bytes
from llwlc.errors import InputError

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
    """All arrays by their names. Pickled objects are refused, and so is a file whose arrays take more than `limit`
    bytes together.
    """
    data = read_bytes(path, limit)
    if data.startswith(npy.MAGIC_PREFIX):
        raise InputError(f"{path} holds one array (npy), whatever its name says: write it with numpy.savez(path, x=x)")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            entries = [entry for entry in file.infolist() if entry.filename.endswith(".npy")]
            if limit is not None and sum(entry.file_size for entry in entries) > limit:
                raise make_size_error(path, limit)
            return {entry.filename.removesuffix(".npy"): _array(file, entry) for entry in entries}
    except InputError:
        raise
    except PickledError:
        raise InputError(
            f"{path} is not a usable npz file (it holds pickled objects): write plain arrays with numpy.savez"
        ) from None
    except DAMAGE as error:
        raise InputError(
            f"{path} is not a usable npz file (it is damaged): write plain arrays with numpy.savez"
        ) from error


class PickledError(Exception):
    """An array of Python objects, which only a pickle can hold."""


def _array(file: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    """One array, after its header was compared with what is there: a header may promise any shape."""
    with file.open(entry) as stream:
        version = npy.read_magic(stream)
        header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_columns, dtype = header(stream)
        if dtype.hasobject:
            raise PickledError
        if math.prod(shape) * dtype.itemsize != entry.file_size - stream.tell():
            raise ValueError("the shape in the header is not that of the data")
        data = bytearray()
        while chunk := stream.read(CHUNK):
            data += chunk
    flat = np.frombuffer(data, dtype) if dtype.itemsize else np.empty(math.prod(shape), dtype)
    return flat.reshape(shape, order="F" if by_columns else "C")
