"""TrainConfig: how the network is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from llwlc._support.options import check_options, option

RAW: Final = "raw"
"""The value of `Preset.features` for raw features; defined here, since help texts are shown without importing torch."""
LARGEST_RATE, LARGEST_POOL = 1000, 1000


@dataclass(frozen=True)
class TrainConfig:
    """How the network is trained. The defaults are `anchored`'s. What is None is chosen by the number of training
    links, see `presets.Preset.resolve_defaults`.
    """

    epochs: int = option(40, "maximum number of passes over the training links", least=1, most=1_000_000)
    learning_rate: float | None = option(None, "step size of Adam", least=0, most=LARGEST_RATE, open_least=True)
    filter_rate: float = option(
        1.0, "the filters' learning rate, as a multiple of learning_rate", least=0, most=LARGEST_RATE, open_least=True
    )
    batch_size: int | None = option(None, "number of links and negatives in a training step", least=2, most=1 << 30)
    """Half of a batch are links."""
    patience: int = option(10, "epochs without a better validation score before training stops", least=1, most=1 << 30)
    select: str = option(
        "both",
        "the validation score that chooses the epoch; both: the mean AUC among random pairs and candidates",
        pattern=r"both|auc|mrr|hits@[1-9]\d{0,8}",
        values="both, auc, mrr or hits@K",
    )
    fraction: float = option(
        1.0,
        "share of the training links to train on; message passing uses all of them",
        least=0,
        most=1,
        open_least=True,
    )
    negatives: int = option(
        1, "negatives for each link of a step; together they weigh as much as the links", least=1, most=LARGEST_POOL
    )
    """Where it is above 1, the further ones come on top of those that `batch_size` counts."""
    negative_pool: int = option(
        4,
        "pool of negatives for each training link, drawn once; each epoch uses different ones",
        least=1,
        most=LARGEST_POOL,
    )
    """Here and below: a multiple of the training links, which are encoded and stored."""
    candidate_pool: int = option(
        2, "negatives among the candidates for each training link, drawn once", least=0, most=LARGEST_POOL
    )
    """Used only if there is an output for candidates (`ranking`)."""
    hard_share: float | None = option(
        None, "share of the negatives that are hard, as HeaRT draws them", least=0, most=1
    )
    """Drawn by HeaRT's recipe on training links; None: a quarter where the split's own negatives are hard, else
    nothing.
    """
    copies: int | None = option(
        None, "further copies of the training subgraphs, each with different edges dropped", least=0, most=LARGEST_POOL
    )
    """Each is from a message graph of its own; epochs take turns."""
    edge_dropout: float = option(0.1, "share of the edges that such a copy drops", least=0, most=1, open_most=True)
    average: float = option(
        0.99,
        "decay of the moving average of the weights, which is the result; 0: no average",
        least=0,
        most=1,
        open_most=True,
    )
    """Validation uses the average, too."""
    use_validation: bool = option(False, "whether to train on validation links too, and keep the last epoch")
    """Nothing is left to choose an epoch by; probabilities are then calibrated on links that were trained on."""
    seed: int = option(0, least=0, most=2**63 - 1)

    def __post_init__(self) -> None:
        check_options(self)
