"""TrainConfig: how the network is trained."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from llwlc.errors import InputError

LIMITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "epochs": (lambda v: v >= 1, "at least 1"),
    "learning_rate": (lambda v: v > 0, "above 0"),
    "batch_size": (lambda v: v >= 2, "at least 2, as half of a batch are links"),
    "patience": (lambda v: v >= 1, "at least 1"),
    "select": (lambda v: bool(re.fullmatch(r"both|auc|mrr|hits@[1-9]\d*", v)), "both, auc, mrr or hits@K"),
    "fraction": (lambda v: 0 < v <= 1, "above 0 and at most 1"),
    "negative_pool": (lambda v: v >= 1, "at least 1"),
    "candidate_pool": (lambda v: v >= 0, "at least 0"),
    "hard_share": (lambda v: 0 <= v <= 1, "between 0 and 1"),
    "copies": (lambda v: v >= 0, "at least 0"),
    "edge_dropout": (lambda v: 0 <= v < 1, "at least 0 and below 1"),
    "average": (lambda v: 0 <= v < 1, "at least 0 and below 1"),
    "seed": (lambda v: v >= 0, "at least 0"),
}


@dataclass(frozen=True)
class TrainConfig:
    """How the network is trained. The defaults are `anchored`'s."""

    epochs: int = 40
    learning_rate: float | None = None
    """None here and below: chosen by the number of training links, see `presets.Preset.adapted`."""
    batch_size: int | None = None
    patience: int = 10
    """Epochs without a better validation score before training stops."""
    select: str = "both"
    """The validation score that chooses the epoch: `auc`, `mrr` or `hits@K` among random pairs, or `both`, the mean of the AUC among random pairs and
    among candidates."""
    fraction: float = 1.0
    """Share of the training links that is used."""
    negative_pool: int = 4
    """Negatives drawn and encoded once, as a multiple of the training links; each epoch takes another part of them."""
    candidate_pool: int = field(default=2, metadata={"absent": 2})
    """Candidates drawn as negatives and encoded once, as a multiple of the training links, where candidates have a head of their own."""
    hard_share: float | None = field(default=None, metadata={"absent": None})
    """Share of the pool of negatives that is drawn by HeaRT's recipe on training links; None: a quarter where the split's own negatives are hard, else nothing."""
    copies: int | None = None
    """Further copies of the training subgraphs, each from a message graph that lacks other edges; epochs take turns."""
    edge_dropout: float = 0.1
    """Share of the message edges that such a copy lacks."""
    average: float = 0.99
    """Decay of the moving average of the weights that is validated and kept; 0 for none."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, (holds, wanted) in LIMITS.items():
            value = getattr(self, name)
            if value is not None and not holds(value):
                raise InputError(f"{name} is {wanted}, got {value!r}")
