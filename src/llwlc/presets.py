"""Presets: which basis, which network and which training belong together under a name."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, get_args, get_type_hints

from llwlc.errors import InputError
from llwlc.linkdata import BasisConfig
from llwlc.nn.net import PAPER, NetConfig
from llwlc.training import TrainConfig


@dataclass(frozen=True)
class Preset:
    """Everything that is chosen before a graph is seen."""

    basis: BasisConfig
    net: NetConfig
    train: TrainConfig
    features: int = 64
    """Width of the compact features of a graph that has any; 0 leaves them out."""

    def changed(self, **changes: Any) -> Preset:
        """The same with some options changed, whichever part they belong to; `seed` goes to all parts.

        >>> PRESETS["paper"].changed(steps=20, epochs=5).basis.steps
        20
        """
        parts = {"basis": self.basis, "net": self.net, "train": self.train}
        known = {name for part in parts.values() for name in _names(part)} | {"features"}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise InputError(f"no option is called {unknown[0]!r}; there are {', '.join(sorted(known))}")
        for part in (*parts.values(), self):
            _require_types(part, changes)
        new: dict[str, Any] = {
            key: replace(part, **{k: v for k, v in changes.items() if k in _names(part)})  # type: ignore[type-var]
            for key, part in parts.items()
        }
        return Preset(**new, features=changes.get("features", self.features))

    def adapted(self, num_links: int) -> Preset:
        """With what was left open chosen by the number of training links: a small graph overfits, so it gets small steps, much dropout
        and thinned copies of its message graph; a large one gets large batches.

        >>> PRESETS["anchored"].adapted(4_000).train.batch_size, PRESETS["anchored"].adapted(40_000).train.batch_size
        (64, 1024)
        """
        small = num_links < SMALL
        batch = self.train.batch_size or (64 if small else 1024)
        rate = self.train.learning_rate or 2e-3 * (batch / 64) ** (1 / 3)
        copies = (4 if small else 0) if self.train.copies is None else self.train.copies
        drop, feature_drop = self.net.dropout, self.net.feature_dropout
        net = replace(
            self.net,
            dropout=(0.5 if small else 0.2) if drop is None else drop,
            feature_dropout=(0.5 if small else 0.2) if feature_drop is None else feature_drop,
        )
        return replace(self, net=net, train=replace(self.train, batch_size=batch, learning_rate=rate, copies=copies))


def _names(part: Any) -> set[str]:
    return {field.name for field in fields(part)}


def _require_types(part: Any, changes: dict[str, Any]) -> None:
    """Text where a number belongs is refused by name, before anything computes with it."""
    for name, hint in get_type_hints(type(part)).items():
        kinds = tuple(k for k in get_args(hint) or (hint,) if isinstance(k, type))
        value = changes.get(name)
        if name not in changes or not kinds:  # a Literal's words are checked where they are used
            continue
        whole = isinstance(value, bool) == (bool in kinds)  # a truth value is an int to Python
        if not (isinstance(value, kinds) and whole) and not (float in kinds and type(value) is int):
            wanted = " or ".join(k.__name__.replace("NoneType", "None") for k in kinds)
            raise InputError(f"option {name} is of type {wanted}, got {value!r}")


SMALL = 10_000  # training links
PAPER_TRAINING = TrainConfig(epochs=20, learning_rate=1e-3, batch_size=64, patience=20, copies=0, average=0.0)
PRESETS = {
    "anchored": Preset(BasisConfig(), NetConfig(), TrainConfig()),
    # SEAL's distance labels are the input: raw features do not fit the parameter counts that the paper reports
    "paper": Preset(
        BasisConfig(constraints="neumann", start="random", laplacian="combinatorial"), PAPER, PAPER_TRAINING, features=0
    ),
    "lanczosnet": Preset(
        BasisConfig(constraints="none", start="random", laplacian="combinatorial"), PAPER, PAPER_TRAINING, features=0
    ),
}


def preset(name: str, **changes: Any) -> Preset:
    """The preset of this name, with changes."""
    if name not in PRESETS:
        raise InputError(f"no preset is called {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name].changed(**changes)
