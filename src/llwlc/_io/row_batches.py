"""Rows of Python values, as drivers give them, in arrow batches of a stated type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation, localcontext
from itertools import islice
from typing import Any

import pyarrow as pa

from llwlc._support.text import describe_error, quote_text
from llwlc.errors import InputError

DECIMAL = pa.decimal256(76, 18)
"""The type of numbers of any length: 58 digits before the point, 18 behind it."""
_STEP = Decimal(1).scaleb(-DECIMAL.scale)


def make_batches(
    rows: Iterable[Sequence[Any]], schema: pa.Schema, size: int, *, where: str
) -> Iterator[pa.RecordBatch]:
    """Rows in batches of `size`; one empty batch if there are none.

    >>> schema = pa.schema([("a", pa.string()), ("n", pa.int64())])
    >>> [batch.to_pydict() for batch in make_batches([("x", 1), (2, None)], schema, 10, where="the query")]
    [{'a': ['x', '2'], 'n': [1, None]}]
    """
    some, any_rows = iter(rows), False
    while (chunk := list(islice(some, size))) or not any_rows:
        any_rows = True
        columns = list(zip(*chunk, strict=True)) if chunk else [()] * len(schema)
        yield pa.RecordBatch.from_arrays(
            [_column(values, kind, where) for values, kind in zip(columns, schema, strict=True)], schema=schema
        )


def _column(values: Sequence[Any], field: pa.Field, where: str) -> pa.Array:
    try:
        if pa.types.is_string(field.type):
            values = [value if value is None or isinstance(value, str) else as_text(value) for value in values]
        elif pa.types.is_binary(field.type):
            values = [value.encode() if isinstance(value, str) else value for value in values]
        elif pa.types.is_decimal(field.type):
            values = [_decimal(value) for value in values]
        return pa.array(values, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, InvalidOperation) as error:
        raise InputError(
            f"{where}: column {quote_text(field.name)} holds values that are not of one type ({describe_error(error)}):"
            " cast them in the query"
        ) from None


def as_text(value: Any) -> str:
    """A value as the text that names a node: a number without a fraction as an integer.

    >>> as_text(7), as_text(7.0), as_text(Decimal("7.50"))
    ('7', '7', '7.5')
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Decimal):
        return format(value.normalize(), "f") if value.is_finite() else str(value)
    return value.hex() if isinstance(value, bytes) else str(value)


def _decimal(value: Decimal | None) -> Decimal | None:
    if value is None or value.is_nan():
        return None
    with localcontext() as context:
        context.prec = DECIMAL.precision
        return value.quantize(_STEP)
