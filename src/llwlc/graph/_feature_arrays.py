"""The arrays of an npz file as a matrix of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import scipy.sparse
import torch
from torch import Tensor

from llwlc._support.text import describe_error
from llwlc.errors import InputError
from llwlc.graph._names import as_names

MOST_COLUMNS = 1 << 24  # limit for a sparse matrix: even an empty column takes some bytes


def feature_matrix(
    path: Path, arrays: Mapping[str, np.ndarray]
) -> tuple[pa.Array | None, Tensor | scipy.sparse.csr_array]:
    """The names of the rows, None where there are none, and the matrix `[r, F]`."""
    x: Tensor | scipy.sparse.csr_array
    # scipy.sparse.save_npz states its format; the arrays of CSC have the same names as those of CSR
    form = arrays["format"].item() if "format" in arrays and arrays["format"].ndim == 0 else "csr"
    if form not in (b"csr", "csr"):
        raise InputError(f"{path} holds a sparse matrix as {form!r}: save it as CSR, with matrix.tocsr()")
    for prefix in ("x_", ""):
        keys = [prefix + key for key in ("data", "indices", "indptr", "shape")]
        if all(key in arrays for key in keys):
            x = _sparse(path, keys, *(arrays[key] for key in keys))
            break
    else:
        if "x" not in arrays:
            raise InputError(f"{path} has no array `x`: it has {', '.join(arrays) or 'none'}")
        x = _dense(path, arrays["x"])
    if not x.shape[1]:
        raise InputError(f"{path}: x has no column: there are no features in it")
    names = None if "names" not in arrays else _names(path, arrays["names"])
    if names is not None and len(names) != x.shape[0]:
        raise InputError(f"{path} has {len(names):,} names and {x.shape[0]:,} feature rows: there must be one each")
    return names, x


def _names(path: Path, names: np.ndarray) -> pa.Array:
    if names.ndim != 1 or names.dtype.kind not in "iufUS":
        raise InputError(f"{path}: names must be a list of integers or text, got {names.shape} of {names.dtype}")
    return as_names(pa.array(np.char.decode(names) if names.dtype.kind == "S" else names), where=f"{path}: names")


def _sparse(path: Path, keys: Sequence[str], *arrays: np.ndarray) -> scipy.sparse.csr_array:
    data, indices, indptr, shape = arrays
    try:
        for array, kinds in zip(arrays, ("biuf", "iu", "iu", "iu"), strict=True):
            if array.dtype.kind not in kinds or array.ndim != 1:
                raise ValueError(f"an array is {array.shape} of {array.dtype}")
        rows, columns = shape.tolist()
        if columns > MOST_COLUMNS:
            raise ValueError(f"{columns:,} columns are more than {MOST_COLUMNS:,}")
        x = scipy.sparse.csr_array((data.astype(np.float32), indices, indptr), shape=(rows, columns))
        x.check_format(full_check=True)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise InputError(f"{path} holds no valid CSR matrix in {', '.join(keys)}: {describe_error(error)}") from error
    return x


def _dense(path: Path, x: np.ndarray) -> Tensor:
    if x.dtype.kind not in "biuf" or x.ndim not in (1, 2):
        raise InputError(f"{path}: x must be numbers of shape [rows, features], got {x.shape} of {x.dtype}")
    return torch.from_numpy(x.reshape(len(x), -1 if x.size else x.shape[-1]).astype(np.float32))
