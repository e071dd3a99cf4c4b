"""Options of a record, each declared once, at its field: the default, the values that it may have, and a line of help.

Errors and help texts are made from the declaration and the type of the field, without importing what the option is for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from llwlc._support.bounds import require_whole
from llwlc._support.registry import listed
from llwlc.errors import InputError

T = TypeVar("T")
DECLARED = "option"
"""The key of the declaration in the metadata of a field."""
NO_LIMIT = 10**7
"""Larger upper bounds are those of a number's type: help does not show them."""


@dataclass(frozen=True)
class Option:
    """What is declared of an option: `least` and `most` are the bounds of a number, both allowed, unless `open_least`
    or `open_most` leaves one out; `choices`: names (a registry, too) or numbers; `pattern`: of a text, in the words of
    `values`, which also is the text that help shows."""

    help: str
    least: float | None = None
    most: float | None = None
    open_least: bool = False
    open_most: bool = False
    choices: Collection[Any] = ()
    pattern: str = ""
    values: str = ""


def option(default: T, help: str = "", **declared: Any) -> T:
    """A field of a dataclass with this default that declares an `Option`; `check_options` checks it.

    >>> @dataclass(frozen=True)
    ... class Cut:
    ...     steps: int = option(10, "number of steps", least=1, most=64)
    ...     share: float = option(0.1, "what is left out", least=0, most=1, open_most=True)
    ...     def __post_init__(self) -> None:
    ...         check_options(self)
    >>> Cut(steps=0)
    Traceback (most recent call last):
    llwlc.errors.InputError: steps must be a whole number from 1 to 64, got 0
    >>> describe_values(Cut, "share")
    '0 to below 1'
    """
    return field(default=default, metadata={DECLARED: Option(help, **declared)})


def declared_options(kind: type[Any]) -> Mapping[str, Option]:
    """The options of a record by name."""
    return {f.name: f.metadata[DECLARED] for f in fields(kind) if DECLARED in f.metadata}


def types_of(kind: type[Any]) -> Mapping[str, tuple[Any, ...]]:
    """The types that each field of a record may have: a union is several."""
    if kind not in _TYPES:
        _TYPES[kind] = {name: _alternatives(hint) for name, hint in get_type_hints(kind).items()}
    return _TYPES[kind]


_TYPES: dict[type[Any], Mapping[str, tuple[Any, ...]]] = {}


def _alternatives(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) in (Union, UnionType):
        return tuple(part for one in get_args(hint) for part in _alternatives(one))
    return (hint,)


def has_type(hint: Any, value: object) -> bool:
    """Whether a value has this type, whole numbers counting as numbers and truth values not; no number is NaN or
    infinite.

    >>> has_type(float, 1), has_type(int, True), has_type(int | None, None)
    (True, False, True)
    >>> has_type(tuple[int, ...], [1, 2]), has_type(Literal["all"], "any")
    (True, False)
    """
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(has_type(one, value) for one in get_args(hint))
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in get_args(hint))
    if origin is tuple:
        return isinstance(value, list | tuple) and all(has_type(get_args(hint)[0], one) for one in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint in (Callable, origin) or origin is Callable:
        return callable(value)
    return isinstance(value, hint)


def check_options(record: Any) -> None:
    """Refuses a record with an option of another type or outside its range, by its name."""
    types = types_of(type(record))
    for name, declared in declared_options(type(record)).items():
        _check(name, getattr(record, name), declared, types[name])


def _check(name: str, value: Any, declared: Option, types: tuple[Any, ...]) -> None:
    literals = [one for hint in types if get_origin(hint) is Literal for one in get_args(hint)]
    if (value is None and NoneType in types) or (isinstance(value, str) and value in literals):
        return
    choices: Collection[Any] = declared.choices or (() if int in types else literals)
    if int in types:
        others = [repr(one) for one in literals] + (["None"] if NoneType in types else [])
        other = f", or {listed(others)}" if others else ""
        if choices:
            if type(value) is not int or value not in choices:
                raise InputError(f"{name} must be a whole number, {listed(map(str, choices))}, got {_shown(value)}")
        else:
            least, most = (None if bound is None else int(bound) for bound in (declared.least, declared.most))
            require_whole(name, value, least=-(2**63) if least is None else least, most=most, other=other)
    elif float in types:
        if not has_type(float, value) or not _inside(declared, float(value)):
            raise InputError(f"{name} is {_range(declared)}, got {_shown(value)}")
    elif choices:
        if not isinstance(value, str) or value not in choices:
            raise InputError(f"{name} must be {listed(map(repr, choices))}, got {_shown(value)}")
    elif declared.pattern and not (isinstance(value, str) and re.fullmatch(declared.pattern, value)):
        raise InputError(f"{name} must be {declared.values}, got {_shown(value)}")
    elif not any(has_type(hint, value) for hint in types):
        raise InputError(f"{name} must be {_words(types)}, got {_shown(value)}")


def _shown(value: object) -> str:
    return repr(value)[:60]


def _inside(declared: Option, value: float) -> bool:
    least, most = declared.least, declared.most
    above = least is None or value > least or (value == least and not declared.open_least)
    below = most is None or value < most or (value == most and not declared.open_most)
    return above and below


def _range(declared: Option) -> str:
    least, most = declared.least, declared.most
    if declared.open_least:
        return f"above {least:,}" + ("" if most is None else f" and at most {most:,}")
    if most is None:
        return f"{least:,} or more"
    return f"{least:,} to {'below ' if declared.open_most else ''}{most:,}"


def _words(types: tuple[Any, ...]) -> str:
    words = {bool: "true or false", str: "text", NoneType: "none"}
    return listed(dict.fromkeys(words.get(one, "a function") for one in types))


def describe_values(kind: type, name: str) -> str:
    """The values that an option may have, in words for help texts."""
    declared, types = declared_options(kind)[name], types_of(kind)[name]
    if declared.values:
        return declared.values
    literals = [str(one) for hint in types if get_origin(hint) is Literal for one in get_args(hint)]
    if declared.choices:
        return listed(map(str, declared.choices))
    if int in types or float in types:
        unlimited = declared.most is not None and declared.most > NO_LIMIT
        text = f"{declared.least:,} or more" if unlimited else _range(declared)
        default = next(f.default for f in fields(kind) if f.name == name)
        more = literals + (["none"] if NoneType in types and default is not None else [])
        return f"{text}, or {listed(more)}" if more else text
    return listed(literals) if literals else _words(tuple(one for one in types if one is not NoneType))
