"""Sixteen numbers side by side, as the compiler's own vectors: the rows of a network's small matrices, always in whole lanes.

The loops of `vectors` are long, and the compiler finds the lanes by itself; here they are 16 or 32 entries long, and asking at each whether two arrays
overlap would take as long as the arithmetic. Nothing is reordered: a sum is added up as it is written, on every machine.

Arrays are taken as flat memory: an index counts entries from the beginning, whatever the shape, and nobody checks it. Float32 and float64 alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models, register_default
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
    return builder.gep(make_array(array)(context, builder, value).data, [index])


def _as_lanes(builder: Any, place: Any, array: types.Array) -> Any:
    return builder.bitcast(place, _vector(array.dtype).as_pointer())


def _splat(builder: Any, scalar: Any, kind: ir.VectorType) -> Any:
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), everywhere)


@intrinsic  # type: ignore[untyped-decorator]
def load(typing: Any, array: Any, index: Any) -> Any:
    """The 16 entries from an index on."""

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
def spread(typing: Any, array: Any, index: Any) -> Any:
    """One entry, sixteen times."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        scalar = builder.load(_place(context, builder, array, *arguments))
        return _splat(builder, scalar, _vector(array.dtype))

    return LanesType(array.dtype)(array, types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def like(typing: Any, array: Any, number: Any) -> Any:
    """A number, sixteen times, in the float type of an array."""
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
over = intrinsic(_both("fdiv"))


@intrinsic  # type: ignore[untyped-decorator]
def larger(typing: Any, a: Any, b: Any) -> Any:
    """The larger of both in each lane; b where a is no number."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, y = arguments
        return builder.select(builder.fcmp_ordered(">", x, y), x, y)

    return a(a, b), code


@intrinsic  # type: ignore[untyped-decorator]
def where_positive(typing: Any, a: Any, b: Any) -> Any:
    """b where a is above zero, else zero: what flows back through a ReLU."""

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
    """The sum of the lanes: halves added, and halves of these."""

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


def whole(count: int) -> int:
    """The least multiple of 32 entries that holds so many: matrices are padded to it, so that rows are two lanes at a time.

    >>> whole(33)
    64
    """
    return -(-count // (2 * LANES)) * 2 * LANES


def padded_rows(rows: np.ndarray, count: int, width: int) -> np.ndarray:
    """A matrix with zeros behind its rows and below them, `[count, width]`."""
    out = np.zeros((count, width), rows.dtype)
    out[: rows.shape[0], : rows.shape[1]] = rows
    return out
