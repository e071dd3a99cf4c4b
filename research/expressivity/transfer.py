"""BREC's pairs apart by a network that was trained on other pairs.

BREC's own procedure trains a network on the pair that it is asked about. Here the pairs of each suite are divided by a
seed: one network of `learned.SubsetNet` is trained on one half, with BREC's loss, and compares the pairs of the other
half. `deleted` is the most vertices that are deleted at once; 0 is the same network on the basis without a constraint.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from research.experiments.cell import Cell
from research.experiments.lines import Line
from research.experiments.table import NOTHING, Selection, format_spread
from research.expressivity.columns import Real
from research.expressivity.families import Pair, load_suite
from research.expressivity.learned import SubsetNet, choose_order
from research.expressivity.rpc import compare_pair

BREC = tuple(f"brec-{name}" for name in ("basic", "regular", "str", "extension", "cfi", "4vtx", "dr"))
SEEDS = (0, 1, 2)
BUDGET = 8_000_000
"""Filter entries of a graph, so that pairs of vertices are deleted up to 63 nodes."""


def divide(pairs: Sequence[Pair], seed: int) -> tuple[list[Pair], list[Pair]]:
    """The pairs in two halves, for training and for testing."""
    order = np.random.default_rng(seed).permutation(len(pairs))
    return [pairs[i] for i in order[0::2]], [pairs[i] for i in order[1::2]]


class PairNet:
    """A SubsetNet for graphs of any size: on a large one fewer vertices are deleted at once."""

    def __init__(self, deleted: int, seed: int) -> None:
        self.net, self.deleted = SubsetNet(order=deleted, seed=seed), deleted

    def __call__(self, graph: Real) -> torch.Tensor:
        self.net.order = choose_order(len(graph), budget=BUDGET, largest=self.deleted)
        out: torch.Tensor = self.net(graph)
        return out

    def embed(self, graph: Real) -> Real:
        with torch.no_grad():
            return np.asarray(self(graph))


def train(net: PairNet, pairs: Sequence[Pair], *, epochs: int, seed: int, rate: float = 0.01) -> list[float]:
    """BREC's loss, a step for each pair; the mean loss of each epoch."""
    loss_of = nn.CosineEmbeddingLoss(margin=0.0)
    optimizer = torch.optim.Adam(net.net.parameters(), lr=rate, weight_decay=1e-4)
    draw, losses = np.random.default_rng(seed), []
    for _ in range(epochs):
        total = 0.0
        for at in draw.permutation(len(pairs)):
            optimizer.zero_grad()
            loss = loss_of(net(pairs[at].a)[None], net(pairs[at].b)[None], -torch.ones(1))
            loss.backward()
            optimizer.step()
            total += float(loss.detach())
        losses.append(total / len(pairs))
    return losses


def measure_transfer(cell: Cell, device: str, seconds: float | None) -> dict[str, Any]:
    """Options: `deleted`; `epochs`; `suites`, where they are not BREC's."""
    halves = [divide(load_suite(suite), cell.seed) for suite in cell.options.get("suites", BREC)]
    training, testing = ([pair for half in halves for pair in half[i]] for i in (0, 1))
    net, begun = PairNet(cell.options["deleted"], cell.seed), time.process_time()
    losses = train(net, training, epochs=cell.options["epochs"], seed=cell.seed)
    trained = time.process_time()
    compared = [compare_pair(net.embed, pair, seed=cell.seed) for pair in testing]
    return {
        "num_pairs": len(compared),
        "num_separated": sum(pair.separated and pair.reliable for pair in compared),
        "num_unreliable": sum(not pair.reliable for pair in compared),
        "loss": [round(losses[0], 4), round(losses[-1], 4)],
        "train_seconds": round(trained - begun, 1),
        "test_seconds": round(time.process_time() - trained, 1),
        "parameters": sum(weight.numel() for weight in net.net.parameters()),
    }


@dataclass(frozen=True)
class TransferSection:
    """A row for each number of deleted vertices."""

    title: str
    epochs: int = 2

    def cells(self, chosen: Selection) -> list[Cell]:
        if chosen.data is not None and "brec" not in chosen.data:
            return []
        seeds = SEEDS if chosen.seeds is None else chosen.seeds
        return [self._cell(deleted, seed) for seed in seeds for deleted in (0, 1, 2)]

    def _cell(self, deleted: int, seed: int = 0) -> Cell:
        return Cell("transfer", "brec", "", "subsets", {"deleted": deleted, "epochs": self.epochs}, seed=seed)

    def header(self) -> list[str]:
        return ["deleted at once", "separated", "of", "unreliable", "seeds", "train", "test", "parameters"]

    def body(self, lines: Sequence[Line], chosen: Selection) -> list[list[str]]:
        rows = []
        for deleted in (0, 1, 2):
            row = self._cell(deleted).row
            found = [line for line in lines if line.cell.row == row]
            counts = [format_spread(found, f"num_{name}", 1, 1) for name in ("separated", "pairs", "unreliable")]
            costs = [format_spread(found, f"{name}_seconds", 1, 0) for name in ("train", "test")]
            costs = [cost if cost == NOTHING else f"{cost} s" for cost in costs]
            parameters = str(found[0]["parameters"]) if found else NOTHING
            rows.append([str(deleted) if deleted else "none", *counts, str(len(found)), *costs, parameters])
        return rows

    def notes(self, lines: Sequence[Line], chosen: Selection) -> list[str]:
        return [
            "Trained on one half of BREC's 400 pairs, compared on the other, by BREC's rule and with its reliability"
            " check; mean ± standard deviation over seeds, each another division and other weights. Where a graph has"
            " too many subsets, fewer vertices are deleted at once."
        ]
