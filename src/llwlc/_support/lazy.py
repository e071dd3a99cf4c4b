"""Names of a package that are imported on first use, so that listing them never waits for torch."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in the package's `__init__`, which imports this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package: `homes` maps each name to its module in the package ("" where the name
    is a module itself, a full path `llwlc.…` for a module of an earlier package).

    >>> find, names = lazy("llwlc", {"InputError": "errors", "_support": ""})
    >>> find("InputError").__name__, find("_support").__name__, names()
    ('InputError', 'llwlc._support', ['InputError', '_support'])
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        if not home:
            return import_module(f"{package}.{name}")
        return getattr(import_module(home if home.startswith("llwlc.") else f"{package}.{home}"), name)

    return find, lambda: sorted(homes)
