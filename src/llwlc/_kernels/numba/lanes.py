"""Vectors of sixteen numbers ("lanes") as the compiler's own vector type, for the rows of a network's small matrices.

The loops of `vectors.py` are long, and the compiler vectorises them by itself. Here they have 16 or 32 entries, and the
compiler's tests whether two arrays overlap would take as long as the arithmetic. Nothing is reordered: a sum is added
up as it is written, on every machine.

Arrays are treated as flat memory: an index counts entries from the beginning, whatever the shape, and is not checked.
Float32 and float64. Instead of an array, functions take its `memory` too: that has one type whatever the shape, so what
is written for it is compiled once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.types.misc import CPointer
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

LANES = 16


class LanesType(types.Type):
    """The type of 16 numbers of one float type."""

    def __init__(self, scalar: types.Float) -> None:
        self.scalar = scalar
        super().__init__(name=f"Lanes({scalar})")


@register_default(LanesType)
class LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: LanesType) -> None:
        super().__init__(manager, kind, _vector(kind.scalar))


def _vector(scalar: Any) -> ir.VectorType:
    return ir.VectorType(ir.FloatType() if scalar == types.float32 else ir.DoubleType(), LANES)


def _place(context: Any, builder: Any, array: Any, value: Any, index: Any) -> Any:
    begin = make_array(array)(context, builder, value).data if isinstance(array, types.Array) else value
    return builder.gep(begin, [index])


@intrinsic  # type: ignore[untyped-decorator]
def memory(typing: Any, array: Any, index: Any) -> Any:
    """The memory of an array from an index on."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _place(context, builder, array, *arguments)

    return CPointer(array.dtype)(array, types.int64), code


def _as_lanes(builder: Any, place: Any, array: types.Array) -> Any:
    return builder.bitcast(place, _vector(array.dtype).as_pointer())


def _splat(builder: Any, scalar: Any, kind: ir.VectorType) -> Any:
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), everywhere)


@intrinsic  # type: ignore[untyped-decorator]
def load(typing: Any, array: Any, index: Any) -> Any:
    """Reads the 16 entries from an index on."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, array, *arguments)
        return builder.load(_as_lanes(builder, place, array), align=array.dtype.bitwidth // 8)

    return LanesType(array.dtype)(array, types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def store(typing: Any, array: Any, index: Any, lanes: Any) -> Any:
    """Writes 16 entries from an index on."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, array, *arguments[:2])
        builder.store(arguments[2], _as_lanes(builder, place, array), align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, lanes), code


@intrinsic  # type: ignore[untyped-decorator]
def broadcast(typing: Any, array: Any, index: Any) -> Any:
    """One entry of an array in all lanes."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        scalar = builder.load(_place(context, builder, array, *arguments))
        return _splat(builder, scalar, _vector(array.dtype))

    return LanesType(array.dtype)(array, types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def constant(typing: Any, array: Any, number: Any) -> Any:
    """A number in all lanes, in the float type of an array."""
    scalar = array.dtype

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _splat(builder, arguments[1], _vector(scalar))

    return LanesType(scalar)(array, scalar), code


@intrinsic  # type: ignore[untyped-decorator]
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once where the processor can."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        product = builder.fmul(arguments[0], arguments[1], flags=("contract",))
        return builder.fadd(product, arguments[2], flags=("contract",))

    return c(a, b, c), code


def _both(operation: str) -> Any:
    def typed(typing: Any, a: Any, b: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, operation)(*arguments)

        return a(a, b), code

    return typed


plus = intrinsic(_both("fadd"))
minus = intrinsic(_both("fsub"))
times = intrinsic(_both("fmul"))
divide = intrinsic(_both("fdiv"))


@intrinsic  # type: ignore[untyped-decorator]
def larger(typing: Any, a: Any, b: Any) -> Any:
    """The larger of a and b in each lane; b where a is NaN."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, y = arguments
        return builder.select(builder.fcmp_ordered(">", x, y), x, y)

    return a(a, b), code


@intrinsic  # type: ignore[untyped-decorator]
def where_positive(typing: Any, a: Any, b: Any) -> Any:
    """b where a is above zero, else zero: the gradient of a ReLU."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero = ir.Constant(_vector(a.scalar), None)
        return builder.select(builder.fcmp_ordered(">", arguments[0], zero), arguments[1], zero)

    return b(a, b), code


@intrinsic  # type: ignore[untyped-decorator]
def where_equal(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """c where a equals b, else zero."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, y, z = arguments
        return builder.select(builder.fcmp_ordered("==", x, y), z, ir.Constant(_vector(c.scalar), None))

    return c(a, b, c), code


@intrinsic  # type: ignore[untyped-decorator]
def total(typing: Any, a: Any) -> Any:
    """The sum of the lanes, by adding halves: 8 + 8, 4 + 4, and so on."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, width = arguments[0], LANES
        while width > 1:
            width //= 2
            halves = [
                builder.shuffle_vector(
                    x, x, ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(begin, begin + width)))
                )
                for begin in (0, width)
            ]
            x = builder.fadd(*halves)
        return builder.extract_element(x, ir.Constant(ir.IntType(32), 0))

    return a.scalar(a), code


def padded_width(count: int) -> int:
    """`count` rounded up to a multiple of 32: rows of matrices are padded to it and processed 32 entries at a time.

    >>> padded_width(33)
    64
    """
    return -(-count // (2 * LANES)) * 2 * LANES


def padded_rows(rows: np.ndarray, count: int, width: int) -> np.ndarray:
    """A matrix padded with zeros to `[count, width]`."""
    out = np.zeros((count, width), rows.dtype)
    out[: rows.shape[0], : rows.shape[1]] = rows
    return out
