"""Frozen dataclasses as JSON and back, across versions of this package.

A field that was added later says in its metadata what its absence means, `field(default=new, metadata={"absent": old})`: a record that was
written before the field existed then keeps its meaning, whatever the default is now.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, fields
from typing import Any, TypeVar

from llwlc.errors import InputError

T = TypeVar("T")


def read_record(kind: type[T], data: Mapping[str, Any], where: str) -> T:
    """The record of this kind that was written as a mapping.

    >>> from llwlc.training.calibration import Calibration
    >>> read_record(Calibration, {"slope": 2.0, "offset": 1.0}, "run")
    Calibration(slope=2.0, offset=1.0)
    """
    if not isinstance(data, Mapping):
        raise InputError(f"{where} is damaged: where {kind.__name__} belongs, it has {type(data).__name__}")
    known: dict[str, Field[Any]] = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(data) - set(known))
    if unknown:
        raise InputError(
            f"{where} has an option {unknown[0]!r} that this version of llwlc does not know: it was written by a newer one, so update"
        )
    values = dict(data)
    for name, field in known.items():
        if name not in data:
            if "absent" in field.metadata:
                values[name] = field.metadata["absent"]
            elif field.default is MISSING and field.default_factory is MISSING:
                raise InputError(f"{where} lacks {name!r}: copy it again, or fit again")
        else:
            _require_type(field, data[name], where)
    try:
        return kind(**values)
    except InputError as error:  # a value outside its range: the record knows which one, the reader knows in which file
        raise InputError(f"{where} cannot be used: {error}") from error


PLAIN: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "str": (str,),
    "None": (type(None),),
}


def _require_type(field: Field[Any], value: object, where: str) -> None:
    """Refuses a value that has none of the plain types of its field; fields of other types take text or a number, which the record checks itself."""
    if str(field.type) == "tuple[int, ...]" and isinstance(value, list | tuple) and all(type(v) is int for v in value):
        return
    words = str(field.type).split(" | ")
    known = all(word in PLAIN for word in words)
    kinds = {kind for word in (words if known else ("int", "str", "None")) for kind in PLAIN[word]}
    right = isinstance(value, tuple(kinds)) and (
        bool in kinds or not isinstance(value, bool)
    )  # bool is a subclass of int
    if not right or (isinstance(value, float) and not math.isfinite(value)):
        raise InputError(
            f"{where} has {str(value)[:60]!r} for {field.name!r}, which is no {field.type}: copy it again, or fit again"
        )


def plain(record: Any, *, settled: bool = False) -> dict[str, Any]:
    """The record as a mapping for JSON. `settled`: without fields whose value equals the meaning of their absence, so that the
    mapping of an old record does not change when a field is added."""
    found = asdict(record)
    return _settled(record, found) if settled else found


def _settled(record: Any, found: dict[str, Any]) -> dict[str, Any]:
    kept = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if "absent" in field.metadata and value == field.metadata["absent"]:
            continue
        kept[field.name] = (
            _settled(value, found[field.name]) if hasattr(value, "__dataclass_fields__") else found[field.name]
        )
    return kept
