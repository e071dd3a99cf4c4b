"""TrainConfig: how the network is trained."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from llwlc.errors import InputError
from llwlc.support.bounds import require_whole

RAW = "raw"
"""The value of `Preset.features` for raw features; defined here, since help texts are shown without importing torch."""
WHOLE = {
    "epochs": (1, 1_000_000),
    "batch_size": (2, 1 << 30),  # half of a batch are links
    "patience": (1, 1 << 30),
    "negatives": (1, 1000),
    "negative_pool": (1, 1000),  # here and below: a multiple of the training links, which are encoded and stored
    "candidate_pool": (0, 1000),
    "copies": (0, 1000),
    "seed": (0, 2**63 - 1),
}
"""Smallest and largest value of each integer option."""
OTHERS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "learning_rate": (lambda v: 0 < v <= 1000, "above 0 and at most 1000"),
    "filter_rate": (lambda v: 0 < v <= 1000, "above 0 and at most 1000"),
    "select": (lambda v: bool(re.fullmatch(r"both|auc|mrr|hits@[1-9]\d{0,8}", v)), "both, auc, mrr or hits@K"),
    "fraction": (lambda v: 0 < v <= 1, "above 0 and at most 1"),
    "hard_share": (lambda v: 0 <= v <= 1, "between 0 and 1"),
    "edge_dropout": (lambda v: 0 <= v < 1, "at least 0 and below 1"),
    "average": (lambda v: 0 <= v < 1, "at least 0 and below 1"),
}


@dataclass(frozen=True)
class TrainConfig:
    """How the network is trained. The defaults are `anchored`'s."""

    epochs: int = 40
    learning_rate: float | None = None
    """None here and below: chosen by the number of training links, see `presets.Preset.adapted`."""
    filter_rate: float = field(default=1.0, metadata={"absent": 1.0})
    """The filters' learning rate, as a multiple of the others'."""
    batch_size: int | None = None
    patience: int = 10
    """Epochs without a better validation score before training stops."""
    select: str = "both"
    """The validation score that chooses the epoch: `auc`, `mrr` or `hits@K` among random pairs, or `both`, the mean of the AUC among random pairs and
    among candidates."""
    fraction: float = 1.0
    """Share of the training links that is used."""
    negatives: int = field(default=1, metadata={"absent": 1})
    """Random non-links for each link of a step, beyond those that `batch_size` counts where it is above 1; links and non-links have equal weight in the loss."""
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
    use_validation: bool = field(default=False, metadata={"absent": False})
    """Train on validation links too and keep the last epoch, since nothing is left to choose one by; probabilities are then calibrated on links that were trained on."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, (least, most) in WHOLE.items():
            if getattr(self, name) is not None:
                require_whole(name, getattr(self, name), least=least, most=most)
        for name, (holds, wanted) in OTHERS.items():
            value = getattr(self, name)
            try:
                right = value is None or holds(value)
            except TypeError:  # text instead of a number, or the other way round
                right = False
            if not right:
                raise InputError(f"{name} is {wanted}, got {repr(value)[:60]}")
