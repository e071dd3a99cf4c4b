"""An epoch of the network: new negatives, batches of links of similar size, a moving average of the weights that is
validated and kept.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from llwlc import metrics
from llwlc._support.threads import use_one_thread
from llwlc.bases._encoded_links import EncodedLinks
from llwlc.models._llwlc.config import TrainConfig
from llwlc.models._llwlc.encoded_split import EncodedTrainingLinks
from llwlc.models._llwlc.scoring import CANDIDATES_OUTPUT, Scorer
from llwlc.models._llwlc.step import Stepper, training_tensors
from llwlc.nn._conv import SpectralMLP
from llwlc.nn._kernel_compilation import SCORING, TRAINING, compile_network_kernels
from llwlc.nn._net import LLwLCNet
from llwlc.training._checkpoint import Checkpoint
from llwlc.training._loop import OnEpoch, Schedule, TrainingResult, ValidationScores, train
from llwlc.training._node_features import NodeFeatures
from llwlc.training._optimizers import UnwrappedAdam
from llwlc.training._ranks import Ranks


def batches(sizes: Tensor, batch_size: int, generator: torch.Generator) -> list[Tensor]:
    """Positions in batches of links of similar size, in random order: bucketing keeps the padding small."""
    shuffled = torch.randperm(len(sizes), generator=generator)
    run = batch_size * 32
    parts = []
    for chunk in torch.split(shuffled, run):
        parts += list(torch.split(chunk[sizes[chunk].argsort(stable=True)], batch_size))
    return [parts[i] for i in torch.randperm(len(parts), generator=generator).tolist()]


class ValidationLinks(NamedTuple):
    """The links that choose the epoch: validation links and non-links; and those that are candidates, if the network
    has an output for candidates.
    """

    pos: EncodedLinks
    neg: EncodedLinks
    candidates: tuple[EncodedLinks, EncodedLinks] | None = None
    own: bool = False
    """Whether each link has non-links of its own, one row of them after the other."""


class LLwLCTrainee:
    """The network in training, as the loop sees it (`training._loop.Trainee`).

    `links(epoch)` gives the links of an epoch, the same each time or redrawn: first the positives, then pools of
    negatives, of which each epoch takes another part, as many as there are positives. With several ranks this is the
    part of rank 0; the others run `worker.join_training`.
    """

    def __init__(
        self,
        net: LLwLCNet,
        links: Callable[[int], EncodedTrainingLinks],
        valid: ValidationLinks,
        config: TrainConfig,
        *,
        features: NodeFeatures,
        ranks: Ranks | None = None,
    ) -> None:
        self.net, self.mean, self.links, self.valid = net, copy.deepcopy(net), links, valid
        self.config, self.features, self.ranks = config, features, ranks
        self.optimizer = make_optimizer(net, config)

    @cached_property
    def stepper(self) -> Stepper:
        """Made at the first step, when a checkpoint has been loaded."""
        compact, device = self.features.compact, next(self.net.parameters()).device
        table = None if compact is None else compact.to(device)
        return Stepper(self.net, self.mean, self.optimizer, table, self.ranks)

    def train_epoch(self, epoch: int) -> float:
        stepper = self.stepper
        if self.ranks is not None:
            self.ranks.begin(epoch, training_tensors(self.net, self.optimizer))
        data = self.links(epoch)
        with use_one_thread():
            return train_epoch(stepper, data, self.config, epoch)

    def validate(self) -> ValidationScores:
        with use_one_thread():
            scorer = Scorer(self.mean, self.features)
            pos, neg = scorer(self.valid.pos), scorer(self.valid.neg)
            among = None
            if self.valid.candidates is not None:
                among = metrics.auc(*(scorer(part, CANDIDATES_OUTPUT) for part in self.valid.candidates))
        return ValidationScores(pos, neg.reshape(len(pos), -1) if self.valid.own else neg, among)

    def weights(self) -> Mapping[str, Tensor]:
        return self.mean.state_dict()

    def load(self, weights: Mapping[str, Tensor]) -> None:
        for net in (self.net, self.mean):
            net.load_state_dict(weights)

    def states(self) -> dict[str, Mapping[str, Tensor]]:
        return {"net": self.net.state_dict(), "mean": self.mean.state_dict()}

    def load_states(self, states: Mapping[str, Mapping[str, Tensor]]) -> None:
        self.net.load_state_dict(states["net"])
        self.mean.load_state_dict(states["mean"])


def train_network(
    net: LLwLCNet,
    links: Callable[[int], EncodedTrainingLinks],
    valid: ValidationLinks,
    config: TrainConfig,
    *,
    features: NodeFeatures,
    checkpoint: Checkpoint | None = None,
    on_epoch: OnEpoch | None = None,
    ranks: Ranks | None = None,
    seconds: float | None = None,
) -> TrainingResult:
    """Trains `net` in place; at the end it has the weights of its best epoch."""
    if next(net.parameters()).device.type == "cpu":
        compile_network_kernels(net.config, TRAINING, SCORING)
    result = train(
        LLwLCTrainee(net, links, valid, config, features=features, ranks=ranks),
        Schedule(config.epochs, config.patience, config.select, keep_last=config.use_validation),
        checkpoint=checkpoint,
        on_epoch=on_epoch,
        seconds=seconds,
    )
    if ranks is not None:
        ranks.begin(None, ())
    return result


def make_optimizer(net: LLwLCNet, config: TrainConfig) -> torch.optim.Optimizer:
    on_gpu = next(net.parameters()).is_cuda  # a CUDA graph needs the step's number on the device
    rate = config.learning_rate or 2e-3
    if config.filter_rate == 1:
        return UnwrappedAdam(net.parameters(), lr=rate, fused=True, capturable=on_gpu)
    filters = {p for part in net.modules() if isinstance(part, SpectralMLP) for p in part.parameters()}
    groups = [
        {"params": [p for p in net.parameters() if p not in filters], "lr": rate},
        {"params": [p for p in net.parameters() if p in filters], "lr": rate * config.filter_rate},
    ]
    return UnwrappedAdam(groups, fused=True, capturable=on_gpu)


def train_epoch(stepper: Stepper, links: EncodedTrainingLinks, config: TrainConfig, epoch: int) -> float:
    """One pass over the positives, `negatives` times as many random negatives, and as many candidates. Returns the mean
    loss.
    """
    device, num_positive = stepper.device, links.positives
    generator = torch.Generator().manual_seed(config.seed * 1_000_003 + epoch)
    sizes, half = links.all_sizes, (config.batch_size or 64) // 2
    random = config.negatives
    pools = [_drawn(links.random, random * num_positive, generator) + num_positive]
    if links.candidates:
        pools.append(_drawn(links.candidates, num_positive, generator) + num_positive + links.random)
    # each batch has equally many of each kind: subgraphs of negatives are smaller, so buckets over all links would hold
    # one kind only
    wide = [half * random, half]
    drawn = [
        batches(sizes[:num_positive], half, generator),
        *(batches(sizes[pool], width, generator) for pool, width in zip(pools, wide, strict=False)),
    ]
    steps = [
        torch.cat([pos, *(pool[neg] for pool, neg in zip(pools, negs, strict=True))])
        for pos, *negs in zip(*drawn, strict=False)
    ]
    # labels of all steps at once: a small operation takes as long as a few links
    lengths = [len(index) for index in steps]
    labels = torch.split(populations(torch.cat(steps), links, random), lengths) if steps else ()
    total, seen = torch.zeros((), device=device), 0
    stepper.net.train()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(
            config.seed * 1_000_003 + epoch
        )  # for a user's own readout, which may use torch's dropout: ours is drawn by link
        for step, (index, label) in enumerate(zip(steps, labels, strict=True)):
            # the average decays faster in the first steps, or it would stay near the initial weights
            place = epoch * -(-num_positive // half) + step
            decay = min(config.average, (1 + place) / (10 + place)) if config.average else 0.0
            loss = stepper(links.data, index, label, int(sizes[index].max()), decay, seed=config.seed, epoch=epoch)
            total, seen = total + loss * len(index), seen + len(index)
    return float(total if stepper.ranks is None else stepper.ranks.total(total)) / max(seen, 1)


def populations(index: Tensor, links: EncodedTrainingLinks, negatives: int = 1) -> Tensor:
    """For the pairs at these positions, whether each is a link, belongs to the random pairs, belongs to the candidates:
    `[b, 3]`. Of several random negatives per link, each counts as its part of one, so that links and negatives have
    equal weight."""
    positive = index < links.positives
    is_candidate = index >= links.positives + links.random
    member = torch.zeros(len(index), dtype=torch.bool)
    member[positive] = links.member[index[positive]]
    weights = torch.stack([positive, ~is_candidate, is_candidate | member], 1).float()
    if negatives > 1:
        weights[~positive & ~is_candidate, 1] = 1 / negatives
    return weights


def _drawn(pool: int, count: int, generator: torch.Generator) -> Tensor:
    """`count` positions of a pool, each at most once unless the pool is smaller: a dense graph has fewer negatives than
    links.
    """
    order = torch.randperm(pool, generator=generator)[:count]
    return order.repeat(-(-count // len(order)))[:count] if 0 < len(order) < count else order
