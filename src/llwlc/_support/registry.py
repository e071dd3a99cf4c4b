"""Registries: what comes in kinds is one small record, found by its name; help texts, lists and error messages are made
from it.

A record names its code by module path and loads it on first use, so that a list prints without importing torch. A
user's own record holds the function itself.
"""

from __future__ import annotations

import difflib
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

from llwlc._support.text import describe_error, quote_text
from llwlc.errors import InputError, LLwLCError

Target = str | Callable[..., Any]
"""Code by its path, "module:name", or the code itself."""


@dataclass(frozen=True)
class Record:
    """One entry of a registry: its name, one line about it, and its code."""

    name: str
    about: str
    target: Target

    def load(self) -> Any:
        """The code of the record, imported on first use."""
        return resolve(self.target) if isinstance(self.target, str) else self.target

    @property
    def builtin(self) -> bool:
        """Whether it came with this package; a run that uses another one has to name it."""
        return isinstance(self.target, str) and self.target.startswith("llwlc.")

    @cached_property
    def digest(self) -> str:
        """A hash of the code of a record that is not part of this package; "" for one that is."""
        return "" if self.builtin else code_digest(self.load())


R = TypeVar("R", bound=Record)
ADDED: list[str] = []
"""What was registered from outside this package, in order, as in "constraint common"."""


class Registry(Generic[R]):
    """The records of one kind, in the order in which they were added.

    >>> colours: Registry[Record] = Registry("colour")
    >>> _ = colours.add(Record("red", "like blood", "builtins:str"))
    >>> colours["rde"]
    Traceback (most recent call last):
    llwlc.errors.InputError: no colour is called 'rde'; there are red. Did you mean red?
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._records: dict[str, R] = {}

    def add(self, record: R) -> R:
        """Adds a record. Names of this package cannot be replaced; a record from outside is replaced by a newer one of
        the same name and file.
        """
        if not isinstance(record.name, str) or not record.name.replace("_", "").replace("-", "").isalnum():
            raise InputError(f"a {self.kind} is called by letters, digits, _ and -, got {record.name!r}")
        existing = self._records.get(record.name)
        if existing is not None and (existing.builtin or record.builtin):
            raise InputError(f"there is a {self.kind} called {record.name!r} already: choose another name")
        if existing is not None and _file(existing) != _file(record):
            raise InputError(
                f"there is a {self.kind} called {record.name!r} already, from {_file(existing) or 'no file'}: choose"
                " another name"
            )
        self._records[record.name] = record
        if not record.builtin:
            record.digest  # noqa: B018  # computed now: the file may be edited later
            ADDED.append(f"{self.kind} {record.name}")
        return record

    def remove(self, name: str) -> None:
        """Removes a record that is not part of this package."""
        if self[name].builtin:
            raise InputError(f"the {self.kind} {name!r} is built in and cannot be removed")
        del self._records[name]

    def run(self, record: R, *args: Any, where: str = "", **options: Any) -> Any:
        """What the code of a record gives. An error of code that is not part of this package is an `InputError` that
        names the record, and `where` it happened.
        """
        try:
            return record.load()(*args, **options)
        except Exception as error:
            if record.builtin or isinstance(error, LLwLCError):
                raise
            raise InputError(
                f"the {self.kind} {record.name!r} failed{where}: {type(error).__name__}: {describe_error(error)}"
            ) from error

    def __getitem__(self, name: str) -> R:
        if name not in self._records:
            close = difflib.get_close_matches(str(name).lower(), self._records, n=1)
            hint = f". Did you mean {close[0]}?" if close else ""
            raise InputError(f"no {self.kind} is called {quote_text(name)}; there are {', '.join(self._records)}{hint}")
        return self._records[name]

    def __contains__(self, name: object) -> bool:
        return name in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def records(self) -> tuple[R, ...]:
        return tuple(self._records.values())

    def list(self, *, quoted: bool = False) -> str:
        """The names in a row, for help texts: "a, b or c"."""
        return listed(repr(name) if quoted else name for name in self._records)

    def markdown(self) -> str:
        """A table of names and what they are."""
        rows = [f"| `{record.name}` | {record.about} |" for record in self.records()]
        return "\n".join([f"| {self.kind} | what it is |", "| --- | --- |", *rows])

    def __repr__(self) -> str:
        return f"Registry({self.kind}: {', '.join(self._records)})"


def listed(names: Iterable[str]) -> str:
    """Names in a row.

    >>> listed(["a", "b", "c"])
    'a, b or c'
    """
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def resolve(path: str) -> Any:
    """The object at "module:name".

    >>> resolve("math:floor")(1.5)
    1
    """
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def _file(record: Record) -> str:
    return source_file(record.load())


def source_file(code: Any) -> str:
    """The file that defines a function or class; "" for one without, as one that was typed into an interpreter."""
    try:
        return inspect.getsourcefile(code) or ""
    except (TypeError, OSError):
        return ""


def first_line(function: Callable[..., Any]) -> str:
    """The first line of a docstring, for a record's `about`."""
    return (inspect.getdoc(function) or "").partition("\n")[0]


def code_digest(code: Any) -> str:
    """A hash of the code of a function or class: of the file that defines it, with its helpers; without a file, of its
    source or bytecode.

    Captured values (a closure's numbers and arrays) are part of the hash.
    """
    digest = hashlib.sha256()
    if isinstance(code, partial):  # its repr would contain the address of the function
        captured = [code.func, *code.args, *(part for item in sorted(code.keywords.items()) for part in item)]
    elif hasattr(code, "__qualname__"):
        digest.update(code.__qualname__.encode() + _source(code) + _sources_beside(code))
        captured = [cell.cell_contents for cell in getattr(code, "__closure__", None) or ()]
        captured += [getattr(code, name, None) for name in ("__defaults__", "__kwdefaults__")]
        captured += [code.__self__] if inspect.ismethod(code) else []
    else:  # a callable object
        state = getattr(code, "__dict__", {})
        captured = [type(code), *(part for item in sorted(state.items()) for part in item)]
        captured += [] if state else [repr(code)]
    for value in captured:
        digest.update(_captured(value))
    return digest.hexdigest()[:16]


def _captured(value: Any) -> bytes:
    if hasattr(value, "tobytes"):
        return repr(value.shape).encode() + bytes(value.tobytes())
    if hasattr(value, "numpy"):
        return _captured(value.detach().cpu().numpy())
    if isinstance(value, list | tuple):
        return b"".join(map(_captured, value)) + b";"
    if isinstance(value, dict):
        return b"".join(_captured(part) for item in value.items() for part in item) + b";"
    plain = value is None or isinstance(value, str | bytes | int | float | complex)
    return repr(value).encode() if plain else code_digest(value).encode()


def _sources_beside(code: Any) -> bytes:
    """The files of modules that a function's file imports from its own folder."""
    file = source_file(code)
    if not file:
        return b""
    home, found = Path(file).resolve(), set()
    for value in getattr(code, "__globals__", {}).values():
        module = value if inspect.ismodule(value) else sys.modules.get(getattr(value, "__module__", None) or "")
        beside = getattr(module, "__file__", None)
        if beside and Path(beside).resolve().parent == home.parent and Path(beside).resolve() != home:
            found.add(Path(beside).resolve())
    return b"".join(path.read_bytes() for path in sorted(found))


def _source(code: Any) -> bytes:
    path = source_file(code)
    if path and Path(path).is_file():
        return Path(path).read_bytes().replace(b"\r\n", b"\n")
    try:
        return inspect.getsource(code).encode()
    except (TypeError, OSError):
        return _bytecode(code)


def _bytecode(code: Any) -> bytes:
    """Of a function, or of all methods of a class."""
    if inspect.isclass(code):
        members = (getattr(member, "__func__", member) for _, member in sorted(vars(code).items()))
        return b"".join(_bytecode(member) for member in members)
    body = getattr(code, "__code__", None)
    return b"" if body is None else body.co_code + repr((body.co_consts, body.co_names)).encode()
