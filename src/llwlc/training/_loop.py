"""The training loop of every model: the epoch that is best on validation, a checkpoint after each epoch, exact
resumption.

Every draw of an epoch comes from (seed, epoch), so an interrupted run that starts again from its last checkpoint
computes the same numbers as one that was never interrupted. (A GPU sums in varying order: there, up to rounding.)
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from llwlc import metrics
from llwlc._support.progress import track
from llwlc.training._checkpoint import Checkpoint, group_states, read_checkpoint, restore_optimizer, write_checkpoint
from llwlc.training._epoch_record import EpochRecord

OnEpoch = Callable[[EpochRecord], None]
Weights = Mapping[str, Tensor]


class ValidationScores(NamedTuple):
    """Validation scores of the present weights: `pos [m]`, and `neg [k]` or `[m, k]`.

    >>> ValidationScores(torch.tensor([2.0, 1.0]), torch.tensor([0.0])).candidates is None
    True
    """

    pos: Tensor
    """Scores of the validation links `[m]`."""
    neg: Tensor
    """Scores of the non-links: one pool `[k]`, or `[m, k]`, k for each link."""
    candidates: float | None = None
    """The AUC of links among candidates, where it was measured."""


class Trainee(Protocol):
    """What the loop trains: a network with its data and optimizer. A class with these methods is one; it need not
    inherit.

    >>> class OneWeight:
    ...     def __init__(self):
    ...         self.net = torch.nn.Linear(1, 1)
    ...         self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.1)
    ...     def train_epoch(self, epoch):
    ...         loss = (self.net(torch.ones(1)) - 1).square().sum()
    ...         self.optimizer.zero_grad()
    ...         loss.backward()
    ...         self.optimizer.step()
    ...         return loss.item()
    ...     def validate(self):
    ...         return ValidationScores(pos=self.net(torch.ones(1)).detach(), neg=torch.zeros(1))
    ...     def weights(self):
    ...         return self.net.state_dict()
    ...     def load(self, weights):
    ...         self.net.load_state_dict(weights)
    ...     def states(self):
    ...         return {"net": self.net.state_dict()}
    ...     def load_states(self, states):
    ...         self.net.load_state_dict(states["net"])
    >>> trainee: Trainee = OneWeight()
    """

    optimizer: torch.optim.Optimizer

    def train_epoch(self, epoch: int) -> float:
        """One pass over the training links; returns the mean loss.

        Args:
            epoch: its number, from 0; with the seed it determines all random draws.
        """

    def validate(self) -> ValidationScores:
        """The validation links as the present weights score them."""

    def weights(self) -> Weights:
        """The weights that `validate` uses, kept where they are the best so far."""

    def load(self, weights: Weights) -> None:
        """Loads weights.

        Args:
            weights: what `weights` returned.
        """

    def states(self) -> dict[str, Weights]:
        """Named states beside the optimizer's, from which training continues exactly."""

    def load_states(self, states: Mapping[str, Weights]) -> None:
        """Loads states.

        Args:
            states: what `states` returned.
        """


@dataclass(frozen=True)
class Schedule:
    """How long to train and which epoch to keep.

    >>> Schedule(epochs=100, patience=10, select="auc")
    Schedule(epochs=100, patience=10, select='auc', keep_last=False)
    """

    epochs: int
    """Most epochs."""
    patience: int
    """Training ends after this many epochs without a better validation score."""
    select: str
    """The validation score that chooses the epoch: "auc", "mrr", "hits@K", or "both" (the mean of the AUCs among random
    pairs and among candidates).
    """
    keep_last: bool = False
    """The last epoch is kept, whatever its score."""


class TrainingResult(NamedTuple):
    """The result of `train`.

    >>> TrainingResult([EpochRecord(0, 0.7, 0.5, 0.5)], torch.ones(2), torch.zeros(2)).history[0].loss
    0.7
    """

    history: list[EpochRecord]
    """One record per epoch."""
    valid_pos: Tensor
    """The scores `[m]` of the validation links at the best epoch."""
    valid_neg: Tensor
    """Those of the non-links, `[k]` or `[m, k]`."""


def validation_score(select: str, pos: Tensor, neg: Tensor) -> float:
    """The validation score called `select`. `neg`: one pool `[k]`, or `[m, k]`, k for each link; MRR ranks a link among
    its own, the other scores pool them.
    """
    if select != "mrr":
        neg = neg.reshape(-1)
    if select.startswith("hits@"):
        return metrics.hits_at_k(pos, neg, int(select[5:])).value
    # "both" uses the AUC too: its other half is the AUC among candidates
    return metrics.mrr(pos, neg) if select == "mrr" else metrics.auc(pos, neg)


def train(
    trainee: Trainee,
    schedule: Schedule,
    *,
    checkpoint: Checkpoint | None = None,
    on_epoch: OnEpoch | None = None,
    seconds: float | None = None,
) -> TrainingResult:
    """Trains, and leaves the weights of the best epoch.

    Args:
        trainee: the network with its data and optimizer.
        schedule: how long to train and which epoch to keep.
        checkpoint: written after each epoch; an interrupted run continues from it, and another run's is refused.
        on_epoch: called with the record of each epoch; without it a progress bar shows them.
        seconds: no epoch begins after this many seconds; the first is always trained.

    Returns:
        The history, and the validation scores `[m]` of the best epoch.

    >>> class Constant:
    ...     optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)])
    ...     def train_epoch(self, epoch):
    ...         return 0.5
    ...     def validate(self):
    ...         return ValidationScores(pos=torch.ones(3), neg=torch.zeros(3))
    ...     def weights(self):
    ...         return {}
    ...     load = load_states = lambda self, given: None
    ...     states = dict
    >>> [record.valid for record in train(Constant(), Schedule(epochs=9, patience=2, select="auc")).history]
    [1.0, 1.0, 1.0]
    """
    begin = time.perf_counter()
    history: list[EpochRecord] = []
    best: Weights = copy.deepcopy(dict(trainee.weights()))
    best_scores: ValidationScores | None = None
    if checkpoint is not None and checkpoint.path.exists():
        history, best = resume(checkpoint, trainee)
    epochs: Iterable[int] = range(len(history), schedule.epochs)
    if on_epoch is None:  # nobody else shows how far it is
        epochs = track(epochs, "training", total=schedule.epochs, completed=len(history))
    for epoch in epochs:
        late = seconds is not None and time.perf_counter() - begin > seconds
        if history and (late or (not schedule.keep_last and _stalled(history, schedule.patience))):
            break
        loss = trainee.train_epoch(epoch)
        scores = trainee.validate()
        record = EpochRecord(
            epoch, loss, _selected(schedule.select, scores), metrics.auc(scores.pos, scores.neg), scores.candidates
        )
        if schedule.keep_last or all(record.valid > earlier.valid for earlier in history):
            best, best_scores = copy.deepcopy(dict(trainee.weights())), scores
        history.append(record)
        if checkpoint is not None:
            write_checkpoint(checkpoint, {**trainee.states(), "best": best}, trainee.optimizer, history)
        if on_epoch is not None:
            on_epoch(record)
    trainee.load(best)
    if best_scores is None:  # the best epoch was before the checkpoint from which this run continued
        best_scores = trainee.validate()
    return TrainingResult(history, best_scores.pos, best_scores.neg)


def _selected(select: str, scores: ValidationScores) -> float:
    score = validation_score(select, scores.pos, scores.neg)
    return (score + scores.candidates) / 2 if select == "both" and scores.candidates is not None else score


def resume(checkpoint: Checkpoint, trainee: Trainee) -> tuple[list[EpochRecord], Weights]:
    """Restores the state of a checkpoint; returns the history and the best weights so far."""
    tensors, history = read_checkpoint(checkpoint)
    states = group_states(tensors)
    best = states.pop("best", {})
    optimizer = states.pop("adam", {})
    with checkpoint.reject_mismatch():
        trainee.load(best)  # checked now: they are needed only at the end of training
        trainee.load_states(states)
    restore_optimizer(checkpoint, trainee.optimizer, optimizer)
    return history, best


def _stalled(history: list[EpochRecord], patience: int) -> bool:
    values = [record.valid for record in history]
    return len(values) - 1 - values.index(max(values)) >= patience
