"""How a public name goes away: it works for one more minor version, and each use warns and names what replaces it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def warn_deprecated(old: str, new: str, *, since: str, stacklevel: int = 2) -> None:
    """Warns that `old` has been deprecated since a version of ours, and names its replacement.

    A `FutureWarning`, which Python shows by default: callers are users, not only their tests.
    """
    warnings.warn(
        f"{old} is deprecated since llwlc {since} and will be removed in a later minor version: use {new} instead",
        FutureWarning,
        stacklevel=stacklevel + 1,
    )


def renamed_parameters(*, since: str, **renamed: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator for functions whose parameters have new names: the old ones, by keyword, still work.

    >>> @renamed_parameters(since="0.2", kinds="node_types")
    ... def fit(node_types=None):
    ...     return node_types
    >>> with warnings.catch_warnings(record=True) as shown:
    ...     warnings.simplefilter("always")
    ...     print(fit(kinds="a"), shown[0].message)
    a kinds= of fit is deprecated since llwlc 0.2 and will be removed in a later minor version: use node_types= instead
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        name = function.__qualname__.removesuffix(".__init__")

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            for old, new in renamed.items():
                if old not in kwargs:
                    continue
                if new in kwargs:
                    raise TypeError(f"{name} was given {new} and its former name {old}: leave {old} out")
                warn_deprecated(f"{old}= of {name}", f"{new}=", since=since)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


def renamed_names(module: str, names: Mapping[str, str], *, since: str) -> Callable[[str], Any]:
    """A `__getattr__` for a module whose names have moved: each old name, to the full path of its replacement.

    >>> find = renamed_names("llwlc.metrics", {"area": "llwlc.metrics.auc"}, since="0.2")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     find("area").__name__
    'auc'
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn_deprecated(f"{module}.{name}", names[name], since=since)
        package, _, last = names[name].rpartition(".")
        return getattr(import_module(package), last)

    return find
