"""What a kernel is told, as the C struct that it takes."""

from __future__ import annotations

import ctypes

from torch import Tensor

TYPES: dict[str, type] = {
    "pointer": ctypes.c_void_p,
    "int64": ctypes.c_int64,
    "int32": ctypes.c_int32,
    "double": ctypes.c_double,
}


def task_type(name: str, pointers: str, **scalars: str) -> type[ctypes.Structure]:
    """A struct of pointers, then of scalars, in the order of the kernel's source."""
    kinds = dict.fromkeys(pointers.split(), "pointer") | scalars
    fields = [(field, TYPES[kind]) for field, kind in kinds.items()]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


def address(tensor: Tensor | None) -> int:
    """Where a tensor's numbers begin, 0 for none: the kernels go through them one behind the other."""
    if tensor is None:
        return 0
    assert tensor.is_contiguous()
    return tensor.data_ptr()
