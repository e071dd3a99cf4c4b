"""One trial: a network trained on counts of the training graphs, its normalised errors on the others as a line.

The error is the published one (Zhang et al. 2024): counts are divided by the standard deviation, over all graphs, of a
graph's count; absolute errors at nodes (at edges) are summed over a graph and divided by the number of nodes (of edges)
of the pattern, so that all three levels are errors of the same number; and averaged over graphs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from research.counting.counts import CYCLES, LEVELS, PATTERNS, count_copies
from research.counting.dense import make_dense
from research.counting.graphs import COUNT, GraphSet, make_graphs
from research.counting.nets import MessageNet, RootedNet
from research.counting.rooted import make_rooted
from research.experiments.cell import Cell

Batches = list[tuple[Any, list[Tensor]]]
"""Graphs in the form that a network reads, and counts at graphs, nodes, edges."""


class Model(NamedTuple):
    """`read`: from adjacency matrices to a batch; `make`: the network for a number of targets; `size`: graphs a batch;
    `rate`: the learning rate at the start."""

    read: Callable[[list[np.ndarray]], Any]
    make: Callable[[int], nn.Module]
    size: int = 10
    rate: float = 0.01


MODELS = {
    "deleted": Model(make_rooted, RootedNet),
    "none": Model(lambda A: make_rooted(A, deleted=False), lambda targets: RootedNet(targets, marked=True)),
    "no-basis": Model(make_rooted, lambda targets: RootedNet(targets, degree=0)),
    "gin": Model(make_dense, lambda targets: MessageNet(targets, marked=False), size=50, rate=0.002),
    "subgraph": Model(make_dense, lambda targets: MessageNet(targets, marked=True), size=50, rate=0.002),
}
GROUPS = {"cycles": CYCLES, "graphlets": tuple(name for name in PATTERNS if name not in CYCLES)}


def measure_counting(cell: Cell, device: str, seconds: float | None) -> dict[str, Any]:
    """Trains the network of a cell and measures it once. Options: `patterns`, a name of GROUPS; `epochs`; `graphs`, how
    many in all, where they are not 5,000. The seed is of graphs and weights."""
    torch.manual_seed(cell.seed)
    patterns, model = GROUPS[cell.options["patterns"]], MODELS[cell.method]
    clock = time.perf_counter if device.startswith("cuda") else time.process_time
    begun = clock()
    graphs = make_graphs(cell.options.get("graphs", COUNT), seed=cell.seed)
    targets = count_targets(graphs, patterns)
    parts = {name: make_batches(graphs, targets, name, model, device) for name in graphs.parts}
    prepared, net = clock(), model.make(len(patterns)).to(device)
    losses = train(net, parts["train"], epochs=cell.options["epochs"], rate=model.rate)
    trained = clock()
    found: dict[str, Any] = {
        "prepare_seconds": round(prepared - begun, 1),
        "train_seconds": round(trained - prepared, 1),
        "loss": [round_to_4(loss) for loss in (losses[0], losses[-1])] if losses else [],
        "parameters": sum(weight.numel() for weight in net.parameters()),
    }
    return found | {name: compute_errors(net, parts[name], patterns) for name in ("valid", "test")}


Targets = list[list[np.ndarray]]
"""Of each graph, its counts at the graph, its nodes and its edges, a column for each pattern."""


def count_targets(graphs: GraphSet, patterns: Sequence[str]) -> Targets:
    """The counts in units of the standard deviation of a graph's count."""
    counts = [[count_copies(A, name) for name in patterns] for A in graphs.adjacency]
    spread = np.array([[found.graph for found in row] for row in counts]).std(0)
    unit = np.where(spread > 0, spread, 1.0)
    targets = []
    for A, row in zip(graphs.adjacency, counts, strict=True):
        u, v = np.nonzero(np.triu(A, 1))
        levels = [np.array([[found.graph for found in row]])]
        levels += [np.stack([found.node for found in row], 1), np.stack([found.edge[u, v] for found in row], 1)]
        targets.append([level / unit for level in levels])
    return targets


def make_batches(graphs: GraphSet, targets: Targets, part: str, model: Model, device: str) -> Batches:
    """The graphs of a part in batches, in their order, with their targets."""
    numbers, batches = graphs.parts[part], []
    for at in range(0, len(numbers), model.size):
        chosen = numbers[at : at + model.size]
        batch = model.read([graphs.adjacency[i] for i in chosen])
        joined = [np.concatenate([targets[i][level] for i in chosen]) for level in range(len(LEVELS))]
        batches.append((batch.to(device), [torch.from_numpy(x).float().to(device) for x in joined]))
    return batches


def train(net: nn.Module, batches: Batches, *, epochs: int, rate: float) -> list[float]:
    """Absolute errors in units of each target's spread, Adam with a cosine schedule; the mean loss of each epoch. In
    the end a `RootedNet` has its linear heads fitted by least squares."""
    spread = [torch.cat([targets[at] for _, targets in batches]).std(0).clamp(min=1e-6) for at in range(len(LEVELS))]
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(epochs, 1))
    losses = []
    for _ in range(epochs):
        net.train()
        total = 0.0
        for at in torch.randperm(len(batches)).tolist():
            batch, targets = batches[at]
            pairs = zip(net(batch), (*targets, targets[1]), (*spread, spread[1]), strict=False)
            loss = sum(((out - target) / unit).abs().mean() for out, target, unit in pairs)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            total += float(loss.detach())
        schedule.step()
        losses.append(total / len(batches))
    if isinstance(net, RootedNet):
        net.refit(batches)
    return losses


@torch.no_grad()
def compute_errors(net: nn.Module, batches: Batches, patterns: Sequence[str]) -> dict[str, dict[str, float]]:
    """The normalised mean absolute error of each pattern, by level."""
    net.eval()
    sums, count = [torch.zeros(len(patterns), dtype=torch.float64) for _ in LEVELS], 0
    for batch, targets in batches:
        found = zip(sums, net(batch), targets, strict=False)
        sums = [total + (out - target).abs().sum(0).double().cpu() for total, out, target in found]
        count += len(targets[0])
    return {
        level: {name: round_to_4(float(total[at]) / count / _unit(level, name)) for at, name in enumerate(patterns)}
        for level, total in zip(LEVELS, sums, strict=True)
    }


def _unit(level: str, pattern: str) -> int:
    """How often a copy of the pattern is counted on this level."""
    edges = PATTERNS[pattern]
    return {"graph": 1, "node": 1 + max(map(max, edges)), "edge": len(edges)}[level]


def round_to_4(x: float) -> float:
    """Four significant digits.

    >>> round_to_4(0.00123456)
    0.001235
    """
    return round(x, 3 - math.floor(math.log10(abs(x)))) if x else 0.0
