"""The training loop: new negatives in each epoch, batches of links of similar size, the epoch that is best on validation, a checkpoint after each epoch, exact resumption.

Every draw of an epoch (order, negatives, dropout) comes from (seed, epoch), so an interrupted run that starts again from its
last checkpoint computes the same numbers as one that was never interrupted. (A GPU sums in varying order: there, up to rounding.)
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from llwlc import metrics
from llwlc.bases.encoded_links import EncodedLinks
from llwlc.nn.conv import SpectralMLP
from llwlc.nn.net import LLwLCNet
from llwlc.nn.warmup import SCORING, TRAINING, warm_up
from llwlc.support.threads import one_thread
from llwlc.training.checkpoint import Checkpoint, resume, save
from llwlc.training.config import TrainConfig
from llwlc.training.encoded_split import TrainingLinks
from llwlc.training.node_features import NodeFeatures
from llwlc.training.ranks import Ranks
from llwlc.training.records import EpochRecord
from llwlc.training.scoring import CANDIDATES, Scorer
from llwlc.training.step import Stepper, changing

OnEpoch = Callable[[EpochRecord], None]


def batches(sizes: Tensor, batch_size: int, generator: torch.Generator) -> list[Tensor]:
    """Positions in batches of links of like size, in random order: bucketing keeps the padding small."""
    shuffled = torch.randperm(len(sizes), generator=generator)
    run = batch_size * 32
    parts = []
    for chunk in torch.split(shuffled, run):
        parts += list(torch.split(chunk[sizes[chunk].argsort(stable=True)], batch_size))
    return [parts[i] for i in torch.randperm(len(parts), generator=generator).tolist()]


def validation_score(select: str, pos: Tensor, neg: Tensor) -> float:
    """The validation score called `select`. `neg`: one pool `[k]`, or `[m, k]`, k for each link; MRR ranks a link among its own, the other scores pool them."""
    if select != "mrr":
        neg = neg.reshape(-1)
    if select.startswith("hits@"):
        return metrics.hits_at_k(pos, neg, int(select[5:])).value
    return (
        metrics.mrr(pos, neg) if select == "mrr" else metrics.auc(pos, neg)
    )  # "both" uses the AUC too: its other half is the AUC among candidates


class Valid(NamedTuple):
    """The links that choose the epoch: validation links and non-links; and those that are candidates, if the network has an output for candidates."""

    pos: EncodedLinks
    neg: EncodedLinks
    candidates: tuple[EncodedLinks, EncodedLinks] | None = None
    own: bool = False
    """Whether each link has non-links of its own, one row of them after the other."""


class Trained(NamedTuple):
    """The history, a record an epoch, and the scores of the validation links at the best one."""

    history: list[EpochRecord]
    valid_pos: Tensor
    valid_neg: Tensor


def train(
    net: LLwLCNet,
    links: Callable[[int], TrainingLinks],
    valid: Valid,
    config: TrainConfig,
    *,
    features: NodeFeatures,
    checkpoint: Checkpoint | None = None,
    on_epoch: OnEpoch | None = None,
    ranks: Ranks | None = None,
) -> Trained:
    """Trains `net` in place; at the end it has the weights of its best epoch.

    `links(epoch)` gives the links of an epoch, the same each time or redrawn: first the positives, then pools of negatives, of which
    each epoch takes another part, as many as there are positives. An interrupted run goes on from its `checkpoint`; another run's is refused.
    With several `ranks` this is the part of rank 0; the others run `helping.take_part`.
    """
    device = next(net.parameters()).device
    if device.type == "cpu":
        warm_up(net.config, TRAINING, SCORING)
    table = None if features.compact is None else features.compact.to(device)
    optimizer = adam(net, config)
    history: list[EpochRecord] = []
    mean = copy.deepcopy(net)
    best, best_scores = copy.deepcopy(net.state_dict()), None
    if checkpoint is not None and checkpoint.path.exists():
        history, best = resume(checkpoint, net, mean, optimizer)
    stepper = Stepper(net, mean, optimizer, table, ranks)
    for epoch in range(len(history), config.epochs):
        if not config.use_validation and _stalled(history, config.patience):
            break
        if ranks is not None:
            ranks.begin(epoch, changing(net, optimizer))
        data = links(epoch)
        with one_thread():
            loss = train_epoch(stepper, data, config, epoch)
            scorer = Scorer(mean, features)
            pos, neg = scorer(valid.pos), scorer(valid.neg)
            among = _among_candidates(scorer, valid)
        score = validation_score(config.select, pos, neg.reshape(len(pos), -1) if valid.own else neg)
        if among is not None and config.select == "both":
            score = (score + among) / 2
        record = EpochRecord(epoch, loss, score, metrics.auc(pos, neg), among)
        if config.use_validation or all(record.valid > earlier.valid for earlier in history):
            best, best_scores = copy.deepcopy(mean.state_dict()), (pos, neg)
        history.append(record)
        if checkpoint is not None:
            save(checkpoint, net, mean, best, optimizer, history)
        if on_epoch is not None:
            on_epoch(record)
    if ranks is not None:
        ranks.begin(None, ())
    net.load_state_dict(best)
    if best_scores is None:  # the best epoch was before the checkpoint from which this run continued
        with one_thread():
            scorer = Scorer(net, features)
            best_scores = scorer(valid.pos), scorer(valid.neg)
    return Trained(history, *best_scores)


def _among_candidates(scorer: Scorer, valid: Valid) -> float | None:
    """The AUC of validation links among candidates."""
    if valid.candidates is None:
        return None
    pos, neg = valid.candidates
    return metrics.auc(scorer(pos, CANDIDATES), scorer(neg, CANDIDATES))


def _plain(name: str) -> Any:
    """A method of torch's optimizers without its wrapper, which imports torch's compiler: two seconds, for something that is not used here."""
    method = getattr(torch.optim.Adam, name)
    return getattr(method, "__wrapped__", method)


class Adam(torch.optim.Adam):
    """torch's own, quick to make."""

    add_param_group, state_dict, load_state_dict = (
        _plain(name) for name in ("add_param_group", "state_dict", "load_state_dict")
    )


def adam(net: LLwLCNet, config: TrainConfig) -> torch.optim.Optimizer:
    on_gpu = next(net.parameters()).is_cuda  # a CUDA graph needs the step's number on the device
    rate = config.learning_rate or 2e-3
    if config.filter_rate == 1:
        return Adam(net.parameters(), lr=rate, fused=True, capturable=on_gpu)
    filters = {p for part in net.modules() if isinstance(part, SpectralMLP) for p in part.parameters()}
    groups = [
        {"params": [p for p in net.parameters() if p not in filters], "lr": rate},
        {"params": [p for p in net.parameters() if p in filters], "lr": rate * config.filter_rate},
    ]
    return Adam(groups, fused=True, capturable=on_gpu)


def train_epoch(stepper: Stepper, links: TrainingLinks, config: TrainConfig, epoch: int) -> float:
    """One pass over the positives, `negatives` times as many random negatives, and as many candidates. Returns the mean loss."""
    device, num_positive = stepper.device, links.positives
    generator = torch.Generator().manual_seed(config.seed * 1_000_003 + epoch)
    sizes, half = links.all_sizes, (config.batch_size or 64) // 2
    random = config.negatives
    pools = [_drawn(links.random, random * num_positive, generator) + num_positive]
    if links.candidates:
        pools.append(_drawn(links.candidates, num_positive, generator) + num_positive + links.random)
    # each batch has equally many of each kind: subgraphs of negatives are smaller, so buckets over all links would hold one kind only
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
            taken = epoch * -(-num_positive // half) + step
            decay = min(config.average, (1 + taken) / (10 + taken)) if config.average else 0.0
            loss = stepper(links.data, index, label, int(sizes[index].max()), decay, seed=config.seed, epoch=epoch)
            total, seen = total + loss * len(index), seen + len(index)
    return float(total if stepper.ranks is None else stepper.ranks.total(total)) / max(seen, 1)


def populations(index: Tensor, links: TrainingLinks, negatives: int = 1) -> Tensor:
    """For the pairs at these positions, whether each is a link, belongs to the random pairs, belongs to the candidates: `[b, 3]`. Of several random negatives a link, each counts as its part of
    one, so that links and negatives have equal weight."""
    positive = index < links.positives
    chosen = index >= links.positives + links.random
    member = torch.zeros(len(index), dtype=torch.bool)
    member[positive] = links.member[index[positive]]
    found = torch.stack([positive, ~chosen, chosen | member], 1).float()
    if negatives > 1:
        found[~positive & ~chosen, 1] = 1 / negatives
    return found


def _drawn(pool: int, count: int, generator: torch.Generator) -> Tensor:
    """`count` positions of a pool, each at most once unless the pool is smaller: a dense graph has fewer negatives than links."""
    order = torch.randperm(pool, generator=generator)[:count]
    return order.repeat(-(-count // len(order)))[:count] if 0 < len(order) < count else order


def _stalled(history: list[EpochRecord], patience: int) -> bool:
    if not history:
        return False
    values = [record.valid for record in history]
    return len(values) - 1 - values.index(max(values)) >= patience
