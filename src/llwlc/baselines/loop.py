"""The training loop of all trained methods: balanced losses, the epoch that is best on validation, a checkpoint after each epoch, exact resumption.

Every draw of an epoch comes from (seed, epoch), as in `llwlc.training.loop`. (A GPU sums in varying order: there, up to rounding.)
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from llwlc import metrics
from llwlc.baselines.batches import Batches
from llwlc.baselines.features import Features
from llwlc.baselines.messages import Messages
from llwlc.baselines.network import Network
from llwlc.splits.linksplit import LinkSplit
from llwlc.support.progress import track
from llwlc.training.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from llwlc.training.loop import validation_score
from llwlc.training.records import EpochRecord

OnEpoch = Callable[[EpochRecord], None]


class Trained(NamedTuple):
    """The history, a record an epoch, and the scores of the validation links at the best one; `valid_neg` flat."""

    history: list[EpochRecord]
    valid_pos: Tensor
    valid_neg: Tensor


def train(
    net: Network,
    split: LinkSplit,
    features: Features | None,
    *,
    seed: int,
    name: str = "training",
    checkpoint: Checkpoint | None = None,
    on_epoch: OnEpoch | None = None,
    seconds: float | None = None,
) -> Trained:
    """Train `net` in place on the split's training links and leave it at its best epoch on validation.

    `seconds`: no epoch begins after so many; the first is always trained. An interrupted run continues from its `checkpoint`.
    """
    begin, recipe = time.perf_counter(), net.recipe
    device = next(net.parameters()).device
    optimizer = optimizer_of(net)
    history: list[EpochRecord] = []
    best, best_scores = copy.deepcopy(net.state_dict()), None
    if checkpoint is not None and checkpoint.path.exists():
        history, best = _resume(checkpoint, net, optimizer)
    batches = Batches(split, recipe, seed=seed, device=device)
    valid = Messages.of(split.valid_graph, device)
    select = recipe.select or split.metric
    for epoch in track(range(len(history), recipe.epochs), name, total=recipe.epochs, completed=len(history)):
        late = seconds is not None and time.perf_counter() - begin > seconds
        if history and (late or _stalled(history, recipe.patience)):
            break
        loss = train_epoch(net, batches, features, optimizer, epoch)
        scores = scored(net, valid, features, torch.cat([split.valid_pos, split.valid_neg.reshape(-1, 2)]))
        pos, neg = scores[: len(split.valid_pos)], scores[len(split.valid_pos) :]
        ranked = neg.reshape(split.valid_neg.shape[:-1])
        record = EpochRecord(epoch, loss, validation_score(select, pos, ranked), metrics.auc(pos, neg))
        if all(record.valid > earlier.valid for earlier in history):
            best, best_scores = copy.deepcopy(net.state_dict()), (pos, neg)
        history.append(record)
        if checkpoint is not None:
            write_checkpoint(checkpoint, {"net": net.state_dict(), "best": best}, optimizer, history)
        if on_epoch is not None:
            on_epoch(record)
    net.load_state_dict(best)
    if best_scores is None:  # the best epoch was before the checkpoint from which this run continued
        pos, neg = (scored(net, valid, features, p.reshape(-1, 2)) for p in (split.valid_pos, split.valid_neg))
        best_scores = pos, neg
    return Trained(history, *best_scores)


def train_epoch(
    net: Network, batches: Batches, features: Features | None, optimizer: torch.optim.Optimizer, epoch: int
) -> float:
    """One pass over the training links. Returns the mean loss."""
    device = next(net.parameters()).device
    losses = []
    net.train()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(batches.seed * 1_000_003 + epoch)  # for dropout
        for messages, pos, neg in batches.epoch(epoch):
            optimizer.zero_grad()
            logits = net(messages, features, torch.cat([pos, neg]))
            # the means over links and over negatives have equal weights, however many negatives there are
            loss = -logsigmoid(logits[: len(pos)]).mean() - logsigmoid(-logits[len(pos) :]).mean()
            loss.backward()  # type: ignore[no-untyped-call]
            if net.recipe.clip:
                for group in net.groups():
                    torch.nn.utils.clip_grad_norm_(group, net.recipe.clip)
            optimizer.step()
            losses.append(loss.detach())
    return float(torch.stack(losses).mean())


def scored(net: Network, messages: Messages, features: Features | None, pairs: Tensor) -> Tensor:
    """Logits `[m]` of pairs `[m, 2]`, float64 on the CPU; the network is left in evaluation mode."""
    return decoded(net, encoded(net, messages, features), pairs)


@torch.no_grad()  # not in inference mode: tensors kept in `messages` may be used in training too
def encoded(net: Network, messages: Messages, features: Features | None) -> Any:
    """The network's encoding of a message graph, for `decoded`."""
    net.eval()
    return net.encode(messages, features)


@torch.no_grad()
def decoded(net: Network, graph: Any, pairs: Tensor) -> Tensor:
    """Logits `[m]` of pairs on an `encoded` graph, computed in chunks."""
    # in one order of the ends, since a product and its mirror image may round differently
    ordered = torch.stack([pairs.amin(1), pairs.amax(1)], 1).to(next(net.parameters()).device)
    parts = [net.decode(graph, part).double().cpu() for part in torch.split(ordered, net.DECODED_AT_ONCE)]
    return torch.cat([torch.empty(0, dtype=torch.float64), *parts])


def optimizer_of(net: Network) -> torch.optim.Optimizer:
    """Adam or AdamW, the head with its own learning rate."""
    r = net.recipe
    encoder, head = net.groups()
    rate = r.learning_rate if r.head_learning_rate is None else r.head_learning_rate
    groups = [{"params": encoder, "lr": r.learning_rate}, {"params": head, "lr": rate}]
    return torch.optim.AdamW(groups) if r.optimizer == "adamw" else torch.optim.Adam(groups)


def _resume(
    checkpoint: Checkpoint, net: Network, optimizer: torch.optim.Optimizer
) -> tuple[list[EpochRecord], dict[str, Tensor]]:
    """Restores the state of a checkpoint; returns the history and the best weights so far."""
    tensors, history = read_checkpoint(checkpoint)
    net.load_state_dict({k[4:]: t for k, t in tensors.items() if k.startswith("net.")})
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("adam."):
            _, i, field = name.split(".")
            state.setdefault(int(i), {})[field] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    return history, {k[5:]: t for k, t in tensors.items() if k.startswith("best.")}


def _stalled(history: list[EpochRecord], patience: int) -> bool:
    values = [record.valid for record in history]
    return len(values) - 1 - values.index(max(values)) >= patience
