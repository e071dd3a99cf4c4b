"""Presets: named combinations of a basis, a network and a way to train it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from llwlc.bases.config import BasisConfig
from llwlc.candidates.config import MOST
from llwlc.constraints.registry import name_of
from llwlc.errors import InputError
from llwlc.nn.config import PAPER, WIDEST, NetConfig
from llwlc.nn.registry import READOUTS
from llwlc.support.bounds import require_whole
from llwlc.support.records import read_record
from llwlc.training.config import RAW, TrainConfig
from llwlc.training.limits import Limits


@dataclass(frozen=True)
class Preset:
    """All options of a fit, chosen before a graph is read."""

    basis: BasisConfig
    net: NetConfig
    train: TrainConfig
    features: int | str = 64
    """Width of the compact features of a graph that has any; 0 leaves them out, "raw" takes them as they are."""
    budget: int = field(default=100, metadata={"absent": 100})
    """Most candidates that a node may propose; see `candidates.config`."""
    limits: Limits = field(default=Limits(), metadata={"absent": Limits()})

    def __post_init__(self) -> None:
        if self.features != RAW:
            require_whole("features", self.features, least=0, most=WIDEST, other=f", or {RAW!r}")
        unreachable = 2 * self.basis.hops + 1
        if self.net.labels == "drnl" and self.net.distance_cap != unreachable:
            raise InputError(
                f"labels='drnl' are SEAL's of whole distances: set distance_cap={unreachable} with hops={self.basis.hops}, got {self.net.distance_cap}"
            )
        require_whole("budget", self.budget, least=1, most=MOST)

    def changed(self, **changes: Any) -> Preset:
        """The same with some options changed, whichever part they belong to; `seed` goes to all parts.

        An option that would have no effect is refused, and so is one of another type.

        >>> PRESETS["paper"].changed(steps=20, epochs=5).basis.steps
        20
        """
        parts = {"basis": self.basis, "net": self.net, "train": self.train, "limits": self.limits}
        known = {name for part in parts.values() for name in _names(part)} | {"features", "budget"}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise InputError(f"no option is called {unknown[0]!r}; there are {', '.join(sorted(known))}")
        for part in (*parts.values(), self):
            _require_types(part, changes)
        if callable(changes.get("constraints")):
            changes["constraints"] = name_of(changes["constraints"])
        new: dict[str, Any] = {
            key: replace(part, **{k: v for k, v in changes.items() if k in _names(part)})  # type: ignore[type-var]
            for key, part in parts.items()
        }
        made = Preset(**new, **{name: changes.get(name, getattr(self, name)) for name in ("features", "budget")})
        for name in changes:
            if reason := made.without_effect(name):
                raise InputError(f"option {name}={changes[name]!r} would have no effect: {reason}")
        return made

    @property
    def code(self) -> dict[str, str]:
        """Digests of the code that is no part of this package, by kind and name, as in "constraint common"."""
        readout = READOUTS[self.net.pooling]
        return self.basis.code | ({} if readout.builtin else {f"readout {readout.name}": readout.digest})

    def without_effect(self, option: str) -> str:
        """Why an option has no effect together with the others; "" if it has one."""
        basis, net, train = self.basis, self.net, self.train
        fresh = "bases that are redrawn each epoch come with fresh negatives" if basis.stochastic else ""
        read = net.filtered_channels or net.node_features
        unread = "" if read else "nothing reads features where filtered_channels is 0 and node_features is off"
        unfiltered = "" if net.filtered_channels else "no features are filtered where filtered_channels is 0"
        unsorted = "" if READOUTS[net.pooling].sized else f"the readout {net.pooling!r} sorts nothing"
        drawn = basis.start == "random" or any(family.drawn for family in basis.families)
        missing = "" if self.features else "there are no features where features is 0"
        reasons = {
            "features": unread if self.features else "",
            "filtered_channels": missing if net.filtered_channels else "",
            "cosines": (unfiltered or missing) if net.cosines else "",
            "common": (unfiltered or missing) if net.common else "",
            "node_features": missing if net.node_features else "",
            "sort_channel": unsorted if net.sort_channel else "",
            "redraw": "" if drawn or not basis.redraw else "nothing here is drawn at random",
            "select": "the last epoch is kept where validation links are trained on" if train.use_validation else "",
            "patience": "the last epoch is kept where validation links are trained on" if train.use_validation else "",
            "feature_dropout": unread or missing,
            "count": "" if any("count" in family.takes for family in basis.families) else "no constraint here takes it",
            "negative_pool": fresh if train.negative_pool > 1 else "",
            "copies": fresh if train.copies else "",
            "hard_share": fresh if train.hard_share else "",
            "candidate_pool": "" if net.ranking else "candidates have no head of their own where ranking is off",
            "edge_dropout": fresh or ("there are no thinned copies where copies is 0" if train.copies == 0 else ""),
        } | DERIVED
        return reasons.get(option, "")

    def adapted(self, num_links: int, *, hard: bool = False) -> Preset:
        """The preset with its open options set by the number of training links that are used, a fraction of `num_links`. A small graph overfits, so it gets small steps, much dropout
        and thinned copies of its message graph; a large one gets large batches. `hard`: each link is evaluated against its own hard negatives, so hard negatives are trained on
        too, and the epoch is chosen by the rank among them.

        >>> PRESETS["anchored"].adapted(4_000).train.batch_size, PRESETS["anchored"].adapted(40_000).train.batch_size
        (64, 1024)
        """
        small = round(self.train.fraction * num_links) < SMALL
        batch = self.train.batch_size or (64 if small else 1024)
        rate = self.train.learning_rate or 2e-3 * (batch / 64) ** (1 / 3)
        copies = (4 if small else 0) if self.train.copies is None else self.train.copies
        drop, feature_drop = self.net.dropout, self.net.feature_dropout
        net = replace(
            self.net,
            dropout=(0.5 if small else 0.2) if drop is None else drop,
            feature_dropout=(0.5 if small else 0.2) if feature_drop is None else feature_drop,
        )
        train = replace(self.train, batch_size=batch, learning_rate=rate, copies=copies)
        if train.hard_share is None:
            train = replace(train, hard_share=HARD_SHARE if hard else 0.0)
        if hard and train.select == "both":
            train = replace(train, select="mrr")
        return replace(self, net=net, train=train)


def _names(part: Any) -> set[str]:
    return {field.name for field in fields(part)}


def _require_types(part: Any, changes: dict[str, Any]) -> None:
    """Refuses an option of the wrong type, such as text instead of a number, by its name."""
    plain: dict[str, type] = {"int": int, "float": float, "bool": bool, "str": str, "None": type(None)}
    for option in fields(part):
        kinds = tuple(plain[word] for word in str(option.type).split(" | ") if word in plain)
        whole_type = all(word in plain for word in str(option.type).split(" | "))
        if option.name not in changes or not whole_type:  # what is more than a plain type the part checks by itself
            continue
        value = changes[option.name]
        whole = value is None or isinstance(value, bool) == (bool in kinds)  # a truth value is an int to Python
        if not (isinstance(value, kinds) and whole) and not (float in kinds and type(value) is int):
            wanted = " or ".join(k.__name__.replace("NoneType", "None") for k in kinds)
            raise InputError(f"option {option.name} is of type {wanted}, got {value!r}")


SMALL = 10_000  # training links
HARD_SHARE = 0.25
"""Share of the training negatives that is hard where links are evaluated against hard ones: the value of the first trials; half did as well on two seeds."""
DERIVED = {
    "sort_rows": "training sets it to the 60th percentile of the subgraphs' sizes",
    "feature_channels": "it follows from features",
    "pair_channels": "it follows from pair_inputs",
}
"""Options that cannot be set, and why."""
PAPER_TRAINING = TrainConfig(
    epochs=20, learning_rate=1e-3, batch_size=64, patience=20, copies=0, average=0.0, select="auc", candidate_pool=2
)
PRESETS = {
    "anchored": Preset(BasisConfig(constraints="neumann_boundary"), NetConfig(), TrainConfig()),
    # SEAL's distance labels are the input: raw features do not fit the parameter counts that the paper reports
    "paper": Preset(
        BasisConfig(constraints="neumann", start="random", laplacian="combinatorial"), PAPER, PAPER_TRAINING, features=0
    ),
    # the least change of `paper` found that reaches the paper's figures without a leak: docs/what_holds.md
    "paper-query": Preset(
        BasisConfig(constraints="neumann_boundary", start="query", laplacian="normalized"),
        replace(PAPER, skip=True, ends=True),
        PAPER_TRAINING,
    ),
    "unconstrained": Preset(
        BasisConfig(constraints="none", start="random", laplacian="combinatorial"), PAPER, PAPER_TRAINING, features=0
    ),
}


RENAMED = {"lanczosnet": "unconstrained"}
"""Old names of presets: runs that have them still load."""


def preset(name: str, **changes: Any) -> Preset:
    """The preset of this name, with changes."""
    if name in RENAMED:
        raise InputError(
            f"the preset {name!r} is called {RENAMED[name]!r} now; LanczosNet as its paper has it is a method to compare with (--method lanczosnet)"
        )
    if name not in PRESETS:
        raise InputError(f"no preset is called {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name].changed(**changes)


def read_preset(parts: Mapping[str, Any], where: str) -> Preset:
    """A preset as `plain` wrote it; `where` it was found, for messages."""
    return Preset(
        read_record(BasisConfig, parts["basis"], where),
        read_record(NetConfig, parts["net"], where),
        read_record(TrainConfig, parts["train"], where),
        parts["features"] if parts["features"] == RAW else int(parts["features"]),
        int(parts.get("budget", 100)),
        read_record(Limits, parts.get("limits", {}), where),
    )
