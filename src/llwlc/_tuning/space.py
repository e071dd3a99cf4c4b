"""The search space: models, and the values of their options."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models._base import LinkModel
from llwlc.models._registry import MODELS, make


@dataclass(frozen=True)
class ValueRange:
    """A log-uniform number between two others, rounded to two digits."""

    low: float
    high: float

    def draw(self, rng: np.random.Generator) -> float:
        return float(f"{math.exp(rng.uniform(math.log(self.low), math.log(self.high))):.2g}")


Choices = ValueRange | tuple[Any, ...]
_PRODUCT: Mapping[str, Choices] = {
    "learning_rate": ValueRange(5e-4, 1e-2),
    "hidden": (64, 128, 256),
    "layers": (1, 2, 3),
    "dropout": (0.0, 0.3, 0.6),
    "head_dropout": (0.0, 0.3, 0.6),
}
_COUNTED: Mapping[str, Choices] = {
    "learning_rate": ValueRange(5e-4, 1e-2),
    "hidden": (64, 128, 256),
    "head_dropout": (0.0, 0.3, 0.6),
}
SPACE: Mapping[str, Mapping[str, Choices]] = {
    "llwlc": {
        "learning_rate": ValueRange(1e-3, 6e-3),
        "dropout": (0.1, 0.2, 0.35, 0.5),
        "hops": (1, 2),
        "steps": (5, 10, 20),
        "constraints": ("neumann_boundary", "neumann", "none"),
    },
    "gcn": _PRODUCT,
    "sage": _PRODUCT,
    "gae": _PRODUCT,
    "ncn": _COUNTED,
    "buddy": _COUNTED,
}
"""The options to search, by model; other models are tried with their defaults."""
DEFAULT_MODELS = ("llwlc", "stack", "adamic-adar", "resource-allocation", "three-paths", "cosine", "katz", "gcn", "ncn")
"""Models to try by default."""


def usable_models(graph: Graph) -> list[str]:
    """Those of `DEFAULT_MODELS` that can be fitted on a graph: some need features."""
    usable = []
    for name in DEFAULT_MODELS:
        with suppress(InputError):
            make(name).check(graph)
            usable.append(name)
    return usable


@dataclass(frozen=True)
class Setting:
    """A model with its options."""

    model: str
    preset: str | None = None
    options: tuple[tuple[str, Any], ...] = ()

    def make_model(self) -> LinkModel:
        """The model, not fitted."""
        preset = {} if self.preset is None else {"preset": self.preset}
        return make(self.model, **preset, **dict(self.options))

    @property
    def plain_options(self) -> dict[str, Any]:
        """The options as JSON: a function has its name."""
        return {name: getattr(value, "__qualname__", value) for name, value in self.options}

    @property
    def words(self) -> list[str]:
        """The setting as arguments of `llwlc fit`."""
        words = [] if self.preset is None else ["--preset", self.preset]
        # presets and options without a model are those of our network
        words += [] if self.model == "llwlc" and (words or self.options) else ["--model", self.model]
        for name, value in self.plain_options.items():
            words += ["--set", f"{name}={str(value).lower() if isinstance(value, bool | None) else value}"]
        return words

    def __str__(self) -> str:
        name = self.model if self.preset is None else f"{self.model} ({self.preset})"
        return " ".join([name, *(f"{key}={value}" for key, value in self.plain_options.items())])


def first_settings(own: Setting, models: Sequence[str]) -> list[Setting]:
    """The settings before random ones: the user's own, then each model with its defaults, quick ones first."""
    rest = [Setting(name) for name in models if name != own.model]
    rest.sort(key=lambda setting: MODELS[setting.model].trained)
    return [*([own] if own.model in models else []), *rest]


def draw_setting(own: Setting, models: Sequence[str], rng: np.random.Generator) -> Setting | None:
    """A setting at random of a model that has options to search, None where there is none; options that the user has
    set stay.
    """
    searched = [name for name in models if name in SPACE]
    if not searched:
        return None
    model = searched[int(rng.integers(len(searched)))]
    drawn = {
        name: choices.draw(rng) if isinstance(choices, ValueRange) else choices[int(rng.integers(len(choices)))]
        for name, choices in SPACE[model].items()
    }
    if model != own.model:
        return Setting(model, None, tuple(drawn.items()))
    return Setting(model, own.preset, tuple((drawn | dict(own.options)).items()))
