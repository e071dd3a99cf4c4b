"""The loop: fresh negatives, size-bucketed batches, best on validation, a checkpoint an epoch, resumed to the last bit.

Every draw of an epoch (order, negatives, dropout) comes from (seed, epoch), so an interrupted run that starts again from its
last checkpoint goes through the same numbers as one that was never interrupted. (A GPU adds up in any order: there to rounding.)
"""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from llwlc import metrics
from llwlc.errors import InputError
from llwlc.linkdata import LinkData
from llwlc.nn.net import LLwLCNet
from llwlc.steps import Stepper

LIMITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "epochs": (lambda v: v >= 1, "at least 1"),
    "learning_rate": (lambda v: v > 0, "above 0"),
    "batch_size": (lambda v: v >= 2, "at least 2, as half of a batch are links"),
    "patience": (lambda v: v >= 1, "at least 1"),
    "select": (lambda v: bool(re.fullmatch(r"auc|mrr|hits@[1-9]\d*", v)), "auc, mrr or hits@K"),
    "fraction": (lambda v: 0 < v <= 1, "above 0 and at most 1"),
    "negative_pool": (lambda v: v >= 1, "at least 1"),
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
    select: str = "auc"
    """The validation score that chooses the epoch: `auc`, `mrr` or `hits@K`."""
    fraction: float = 1.0
    """Share of the training links that is used."""
    negative_pool: int = 4
    """Negatives drawn and encoded once, as a multiple of the training links; each epoch takes another part of them."""
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


@contextmanager
def one_thread() -> Iterator[None]:
    """torch on one thread: on batches of small graphs more threads mostly wait for each other, on a busy machine ruinously
    so, and one thread adds up in one order, so the last bit does not depend on the machine's load."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def batches(sizes: Tensor, batch_size: int, generator: torch.Generator) -> list[Tensor]:
    """Positions in batches of links of like size, in random order: bucketing keeps the padding small."""
    shuffled = torch.randperm(len(sizes), generator=generator)
    run = batch_size * 32
    parts = []
    for chunk in torch.split(shuffled, run):
        parts += list(torch.split(chunk[sizes[chunk].argsort(stable=True)], batch_size))
    return [parts[i] for i in torch.randperm(len(parts), generator=generator).tolist()]


def scores(net: LLwLCNet, data: LinkData, features: Tensor | None, *, batch_rows: int = 400_000) -> Tensor:
    """Logits of all links `[B]`, in float64: then no rounding of a batch's shape reaches a probability's sixth digit."""
    exact = copy.deepcopy(net).double().eval()
    device = next(net.parameters()).device
    table = None if features is None else features.to(device).double()
    out = torch.empty(len(data), dtype=torch.float64)
    sizes = data.sizes.cpu()
    order = sizes.argsort(stable=True)
    with torch.inference_mode():
        for index in _runs(order, sizes, batch_rows):
            batch = data.batch(index.to(data.sizes.device)).to(device, torch.float64)
            out[index] = exact(batch, table).cpu()
    return out


def _runs(order: Tensor, sizes: Tensor, rows: int) -> Iterator[Tensor]:
    """Runs of links of like size whose padded rows stay within a bound."""
    sizes = sizes[order]
    begin = 0
    while begin < len(order):
        # of links in the order of their sizes the last is the widest
        padded = torch.arange(1, 4097)[: len(order) - begin] * sizes[begin : begin + 4096]
        end = begin + max(1, int((padded <= rows).sum()))
        yield order[begin:end]
        begin = end


def validation_score(select: str, pos: Tensor, neg: Tensor) -> float:
    if select.startswith("hits@"):
        return metrics.hits_at_k(pos, neg, int(select[5:])).value
    return metrics.mrr(pos, neg) if select == "mrr" else metrics.auc(pos, neg)


def train(
    net: LLwLCNet,
    links: Callable[[int], LinkData],
    num_positive: int,
    valid: tuple[LinkData, LinkData],
    config: TrainConfig,
    *,
    features: Tensor | None = None,
    checkpoint: Path | None = None,
    mark: str = "",
    on_epoch: Callable[[dict[str, Any]], None] | None = None,
) -> list[dict[str, Any]]:
    """Train `net` in place and leave it at its best epoch; returns the history, a record an epoch.

    `links(epoch)` gives the links of an epoch, the same each time or redrawn: first the positives, then a pool of negatives, of which
    each epoch takes another part, as many as there are positives. A `checkpoint` of another `mark` is refused.
    """
    device = next(net.parameters()).device
    table = None if features is None else features.to(device)
    optimizer = adam(net, config)
    history: list[dict[str, Any]] = []
    mean = copy.deepcopy(net)
    best = copy.deepcopy(net.state_dict())
    if checkpoint is not None and checkpoint.exists():
        history, best = _resume(checkpoint, mark, net, mean, optimizer)
    stepper = Stepper(net, mean, optimizer, table, config.batch_size or 64)
    for epoch in range(len(history), config.epochs):
        if _stalled(history, config.patience):
            break
        data = links(epoch)
        with one_thread():
            loss = train_epoch(stepper, data, num_positive, config, epoch)
            pos, neg = (scores(mean, part, table) for part in valid)
        record = {
            "epoch": epoch,
            "loss": loss,
            "valid": validation_score(config.select, pos, neg),
            "valid_auc": metrics.auc(pos, neg),
        }
        if all(record["valid"] > r["valid"] for r in history):
            best = copy.deepcopy(mean.state_dict())
        history.append(record)
        if checkpoint is not None:
            _save(checkpoint, mark, net, mean, best, optimizer, history)
        if on_epoch is not None:
            on_epoch(record)
    net.load_state_dict(best)
    return history


def adam(net: LLwLCNet, config: TrainConfig) -> torch.optim.Optimizer:
    on_gpu = next(net.parameters()).is_cuda  # a CUDA graph needs the step's number on the device
    return torch.optim.Adam(net.parameters(), lr=config.learning_rate or 2e-3, fused=True, capturable=on_gpu)


def train_epoch(stepper: Stepper, links: LinkData, num_positive: int, config: TrainConfig, epoch: int) -> float:
    """One pass over the positives and as many negatives of the pool. Returns the mean loss."""
    device = stepper.device
    generator = torch.Generator().manual_seed(config.seed * 1_000_003 + epoch)
    sizes, half = links.sizes.cpu(), stepper.batch_size // 2
    pool = torch.randperm(len(sizes) - num_positive, generator=generator)[:num_positive] + num_positive
    if 0 < len(pool) < num_positive:  # a dense graph has fewer negatives than links: they are used several times
        pool = pool.repeat(-(-num_positive // len(pool)))[:num_positive]
    # each batch half positive, half negative: negatives are smaller, so buckets over both would hold one kind alone
    plan = zip(batches(sizes[:num_positive], half, generator), batches(sizes[pool], half, generator), strict=False)
    total, seen = torch.zeros((), device=device), 0
    stepper.net.train()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(config.seed * 1_000_003 + epoch)  # for dropout
        for step, (pos, neg) in enumerate(plan):
            index = torch.cat([pos, pool[neg]])
            # a young average forgets faster, or few steps would leave it at the first weights
            taken = epoch * -(-num_positive // half) + step
            decay = min(config.average, (1 + taken) / (10 + taken)) if config.average else 0.0
            loss = stepper(links, index, (index < num_positive).float(), int(sizes[index].max()), decay)
            total, seen = total + loss * len(index), seen + len(index)
    return float(total) / max(seen, 1)


def _stalled(history: list[dict[str, Any]], patience: int) -> bool:
    if not history:
        return False
    values = [r["valid"] for r in history]
    return len(values) - 1 - values.index(max(values)) >= patience


def _save(
    path: Path,
    mark: str,
    net: LLwLCNet,
    mean: LLwLCNet,
    best: dict[str, Tensor],
    optimizer: torch.optim.Optimizer,
    history: list[dict[str, Any]],
) -> None:
    """One file, replaced whole: a kill at any moment leaves the last checkpoint or this one."""
    states = {"net": net.state_dict(), "mean": mean.state_dict(), "best": best}
    tensors = {f"{name}.{k}": t for name, state in states.items() for k, t in state.items()}
    for i, state in optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{i}.{k}": torch.as_tensor(t) for k, t in state.items()}
    partial = path.with_suffix(".partial")
    save_file(
        {k: t.detach().cpu().contiguous().clone() for k, t in tensors.items()},
        partial,
        {"history": json.dumps(history), "mark": mark},
    )
    os.replace(partial, path)


def read_checkpoint(path: Path, mark: str) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    """The tensors and the history of a checkpoint; a damaged one, or another run's, is refused."""
    try:
        tensors = load_file(path)
        with safe_open(path, "pt") as file:
            about = file.metadata() or {}
    except SafetensorError as error:
        raise InputError(f"the checkpoint {path} is damaged ({error}): delete it to begin anew") from error
    if about.get("mark") != mark:
        raise InputError(
            f"{path} belongs to another run (other graph, split or options): choose another folder, or delete it to begin anew"
        )
    return tensors, json.loads(about["history"])


def _resume(
    path: Path, mark: str, net: LLwLCNet, mean: LLwLCNet, optimizer: torch.optim.Optimizer
) -> tuple[list[dict[str, Any]], dict[str, Tensor]]:
    tensors, history = read_checkpoint(path, mark)
    net.load_state_dict({k[4:]: t for k, t in tensors.items() if k.startswith("net.")})
    mean.load_state_dict({k[5:]: t for k, t in tensors.items() if k.startswith("mean.")})
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("adam."):
            _, i, field = name.split(".")
            state.setdefault(int(i), {})[field] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    return history, {k[5:]: t for k, t in tensors.items() if k.startswith("best.")}
