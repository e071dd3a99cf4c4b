"""Names of a package that are imported on first use, so that listing them never waits for torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package: `homes` maps each name to its module in the package ("" where the name is a
    module itself, a full path `llwlc.…` for a module of an earlier room).

    A module must not have the name of a function that its package exports: importing the module would hide the function.

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
    """A module of the package that is not imported yet, as in `llwlc.bases.starts`."""
    path = f"{package}.{name}"
    try:
        if not name.startswith("_"):
            return import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path:  # a module that it imports is missing
            raise
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
