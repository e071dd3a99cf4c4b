"""Frozen dataclasses as JSON and back; a record that lacks a field, or has one that is not known, is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

from llwlc._support.options import has_type, types_of
from llwlc.errors import InputError, RunFolderError

T = TypeVar("T")


def read_record(kind: type[T], data: Mapping[str, Any], where: str) -> T:
    """The record of this kind that was written as a mapping.

    >>> from llwlc.training._calibration import Calibration
    >>> read_record(Calibration, {"slope": 2.0, "offset": 1.0}, "run")
    Calibration(slope=2.0, offset=1.0)
    """
    if not isinstance(data, Mapping):
        raise RunFolderError(f"{where} is damaged: where {kind.__name__} belongs, it has {type(data).__name__}")
    field_types = {field.name: field.type for field in fields(kind)}  # type: ignore[arg-type]
    types = types_of(kind)
    unknown = sorted(set(data) - set(field_types))
    if unknown:
        raise RunFolderError(
            f"{where} has an option {unknown[0]!r} that this version of llwlc does not know: fit again, or use the"
            " version that wrote it"
        )
    for name, written in field_types.items():
        if name not in data:
            raise RunFolderError(f"{where} lacks {name!r}: fit again, or use the version that wrote it")
        if not any(has_type(hint, data[name]) for hint in types[name]):
            raise RunFolderError(
                f"{where} has {str(data[name])[:60]!r} for {name!r}, which is no {written}: copy it again, or fit again"
            )
    try:
        return kind(**data)
    except InputError as error:  # a value outside its range: the record knows which one, the reader knows in which file
        raise RunFolderError(f"{where} cannot be used: {error}") from error


def to_mapping(record: Any) -> dict[str, Any]:
    """The record as a mapping for JSON."""
    return asdict(record)
