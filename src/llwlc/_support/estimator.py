"""Estimator: parameters in scikit-learn's manner, stored as given by `__init__` and changed by nobody else."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Self


class Estimator:
    """The base of a class whose `__init__` stores each parameter under its own name, and further keyword arguments in
    `options`.

    `sklearn.base.clone`, `get_params` and `set_params` work; what is fitted ends in `_`.

    >>> class Mean(Estimator):
    ...     def __init__(self, weight=1.0, **options):
    ...         self.weight, self.options = weight, options
    >>> Mean(2.0, steps=3), Mean().set_params(steps=3).get_params()
    (Mean(weight=2.0, steps=3), {'weight': 1.0, 'steps': 3})
    """

    options: dict[str, Any]

    @classmethod
    def _parameters(cls) -> dict[str, Any]:
        """The named parameters and their defaults."""
        named = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {p.name: p.default for p in named if p.kind is not p.VAR_KEYWORD}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as scikit-learn's `clone` reads them.

        Args:
            deep: has no effect, as no parameter has parameters of its own.
        """
        return {name: getattr(self, name) for name in self._parameters()} | self.options

    def set_params(self, **params: Any) -> Self:
        """Changes parameters; what was fitted stays until the next `fit`.

        Args:
            **params: parameters by name.
        """
        for name, value in params.items():
            if name in self._parameters():
                setattr(self, name, value)
            else:
                self.options = {**self.options, name: value}
        return self

    def __repr__(self) -> str:
        return describe_call(type(self).__name__, self.get_params(), self._parameters())


def describe_call(name: str, values: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """A call of `name` with these values, those left out that are the defaults.

    >>> describe_call("Katz", {"damping": 0.5, "length": 3}, {"damping": 0.5, "length": 2})
    'Katz(length=3)'
    """
    shown = [
        f"{k}={v!r}" for k, v in values.items() if k not in defaults or (v is not defaults[k] and v != defaults[k])
    ]
    return f"{name}({', '.join(shown)})"
