"""Names of a package that are imported when they are first used, so that listing what there is never waits for torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package: each name is found in its home, a module of the package ("" for a module
    itself, a path from `llwlc.` on for one of an earlier room).

    A module must not have the name of a function that its package shows: importing it would hide the function.

    >>> find, names = lazy("llwlc", {"InputError": "errors", "support": ""})
    >>> find("InputError").__name__, find("support").__name__, names()
    ('InputError', 'llwlc.support', ['InputError', 'support'])
    """

    def find(name: str) -> Any:
        if name not in homes:
            return _submodule(package, name)
        home = homes[name]
        if not home:
            return import_module(f"{package}.{name}")
        return getattr(import_module(home if home.startswith("llwlc.") else f"{package}.{home}"), name)

    return find, lambda: sorted(homes)


def _submodule(package: str, name: str) -> Any:
    """A module of the package that nobody has imported yet, as in `llwlc.bases.starts`."""
    path = f"{package}.{name}"
    try:
        if not name.startswith("_"):
            return import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path:  # something that the module itself needs
            raise
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
