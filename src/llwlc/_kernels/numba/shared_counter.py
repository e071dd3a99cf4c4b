"""A counter that several threads share: each takes the next number, no number is taken twice."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array


@intrinsic  # type: ignore[untyped-decorator]
def take_next(typing: Any, counter: Any) -> Any:
    """The first entry of an array of int64, which is then one larger, in one step that no other thread can
    interrupt.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = make_array(counter)(context, builder, arguments[0]).data
        return builder.atomic_rmw("add", place, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(counter), code
