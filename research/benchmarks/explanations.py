"""How faithful explanations are: `python research/benchmarks/explanations.py runs/cora runs/usair --links 200`.

For test links of fitted runs, takes the edges that an explanation names, removes them (fidelity+) or keeps them alone
(fidelity−), and looks at what the network then says. Beside the removal of single edges, which is
`LinkPredictor.explain`: as many edges drawn at random from the enclosing subgraph, those nearest to the pair, and PyG's
GNNExplainer with its own settings, whose edge mask reaches the network through a Laplacian, constraints and a Lanczos
basis that are differentiable in it. Fidelity and characterization score are PyG's (explanation of the model's own
prediction, at a prior of one half). Prints Markdown tables; with `--out`, a line of JSON a row.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.explain import Explainer as PyGExplainer
from torch_geometric.explain import GNNExplainer
from torch_geometric.explain.metric import characterization_score
from torch_geometric.nn import MessagePassing

from llwlc._predictor import LinkPredictor
from llwlc.bases._laplacian import laplacian_of
from llwlc.bases._link_batch import LinkBatch
from llwlc.explain._explainer import Explainer, order_edges
from llwlc.explain._population import CalibratedPopulation
from llwlc.explain._removal import EnclosingSubgraph
from llwlc.linalg._basis import Eigenbasis
from llwlc.subgraphs._labels import distance_encoding

SIZES = (5, 10, 20)
OURS, RANDOM, NEAREST, GNN = "edges by score lost", "random edges", "edges nearest to the pair", "GNNExplainer"


class Spread(MessagePassing):
    """A x, through which PyG's explainers lay their edge mask."""

    def __init__(self) -> None:
        super().__init__(aggr="add")

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.propagate(edge_index, x=x)

    def message(self, x_j: Tensor) -> Tensor:
        return x_j


class MaskedLink(torch.nn.Module):
    """The logit of one pair as a differentiable function of a mask on the edges of its subgraph; distances and raw
    features stay as they are.
    """

    def __init__(self, explainer: Explainer, around: EnclosingSubgraph) -> None:
        super().__init__()
        self.spread, self.net = Spread(), explainer.scorer.net
        self.around, self.features = around, explainer.scorer.features
        self.whole = around.encoded(torch.zeros(1, around.num_edges, dtype=torch.bool))[0]

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        subs = self.around.subs
        adjacency = self.spread(x, edge_index)  # of the identity: the masked adjacency matrix, [n, n]
        subs = replace(subs, weight=adjacency[subs.row, subs.col])
        basis = krylov_basis(subs, self.around.config)
        degree = adjacency.sum(1)
        pair = None if self.whole.pair is None else self.pair_inputs(adjacency, degree)
        label = distance_encoding(subs, self.around.config.distance_cap)
        batch = LinkBatch(basis, subs.node, label, degree, subs.u, subs.v, pair)
        return self.net.outputs(batch, self.features)[:, :1]

    def pair_inputs(self, adjacency: Tensor, degree: Tensor) -> Tensor:
        both = adjacency[0] * adjacency[1]
        common = both > 0
        weights = degree.clamp(min=1e-6)
        counts = [both.sum(), (both / weights.clamp(min=2).log())[common].sum(), (both / weights)[common].sum()]
        ends = torch.sort(degree[:2]).values
        found = torch.stack([counts[0].log1p(), counts[1].log1p(), counts[2], ends[0].log1p(), ends[1].log1p()])
        return torch.cat([found, self.whole.pair[0, 5:].double()]).unsqueeze(0)


def krylov_basis(subs, config) -> Eigenbasis:
    """The Ritz pairs of PLP on the Krylov space of the two ends, as `eigenbasis` has them, by plain torch operations
    that autograd follows.
    """
    n = subs.num_nodes
    operator = laplacian_of(subs, config.laplacian)
    dense = torch.diag(operator.diagonal).index_put((operator.row, operator.col), operator.value, accumulate=True)
    columns = config.columns(subs).columns
    columns = columns[:, columns.detach().abs().sum(0) > 0]
    projector = torch.eye(n, dtype=torch.float64)
    if columns.shape[1]:
        projector = projector - columns @ torch.linalg.pinv(columns)
    matrix = projector @ dense @ projector
    found: list[Tensor] = []
    block = list(projector[:, :2].T)
    while len(found) < config.steps and block:
        added = []
        for vector in block:
            length = vector.norm().detach()
            for _ in range(2):
                for known in found:
                    vector = vector - known * (known @ vector)
            if len(found) < config.steps and float(vector.detach().norm()) > 1e-8 * max(float(length), 1e-30):
                found.append(vector / vector.norm())
                added.append(found[-1])
        block = [matrix @ vector for vector in added]
    space = torch.stack(found, 1)
    small = space.T @ matrix @ space
    if small.requires_grad:
        small.register_hook(torch.nan_to_num)  # at repeated eigenvalues
    values, vectors = torch.linalg.eigh((small + small.T) / 2)
    mask = torch.ones(1, len(values), dtype=torch.bool)
    return Eigenbasis(values.unsqueeze(0), space @ vectors, mask, torch.zeros(1, len(values)).double(), subs.ptr)


def by_gnn_explainer(explainer: Explainer, around: EnclosingSubgraph, epochs: int) -> Tensor:
    """The edges of the subgraph, most important first, by PyG's GNNExplainer."""
    model = MaskedLink(explainer, around).eval()
    subs = around.subs
    identity, edge_index = torch.eye(subs.num_nodes, dtype=torch.float64), torch.stack([subs.row, subs.col])
    ask = PyGExplainer(
        model,
        algorithm=GNNExplainer(epochs=epochs),
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "binary_classification", "task_level": "graph", "return_type": "raw"},
    )
    torch.manual_seed(0)
    mask = ask(identity, edge_index).edge_mask
    both = torch.zeros(subs.num_nodes, subs.num_nodes, dtype=mask.dtype)
    both[subs.row, subs.col] = mask
    a, b = around.edges.T
    return torch.argsort(both[a, b] + both[b, a], descending=True, stable=True)


def by_loss(
    explainer: Explainer, around: EnclosingSubgraph, population: CalibratedPopulation, max_edges: int
) -> Tensor:
    """Edges by what their removal takes from the predicted class, as `explain` has it."""
    order = order_edges(around)[:max_edges]
    removed = torch.zeros(1 + len(order), around.num_edges, dtype=torch.bool)
    removed[torch.arange(1, len(removed)), order] = True
    odds = explainer.without(around, removed, population)
    lost = odds[0] - odds[1:]
    return order[torch.argsort(lost if odds[0] > 0 else -lost, descending=True, stable=True)]


@dataclass
class FidelityRecord:
    """Of one method and size, a row a link: whether the prediction changed without the edges and with them alone, and
    by how much the probability did.
    """

    rows: list[list[float]]

    def summary(self, other: FidelityRecord | None) -> dict[str, float]:
        values = np.array(self.rows)
        plus, minus = values[:, 0].mean(), values[:, 1].mean()
        error = values.std(0, ddof=1) / np.sqrt(len(values))
        found = {
            "fidelity+": plus,
            "fidelity+ error": error[0],
            "fidelity-": minus,
            "fidelity- error": error[1],
            "characterization": compute_characterization(values),
            "probability+": values[:, 2].mean(),
            "probability+ error": error[2],
            "probability-": values[:, 3].mean(),
            "probability- error": error[3],
        }
        if other is not None:
            # paired: both methods saw the same links
            rest = np.array(other.rows)
            rng = np.random.default_rng(0)
            draws = rng.integers(0, len(values), (1000, len(values)))
            gaps = [compute_characterization(rest[d]) - compute_characterization(values[d]) for d in draws]
            found["ours ahead by, in standard errors"] = (
                compute_characterization(rest) - found["characterization"]
            ) / max(np.std(gaps), 1e-9)
            for at, name, sign in ((2, "probability+", 1), (3, "probability-", -1)):
                gap = sign * (rest[:, at] - values[:, at])
                found[f"{name} ahead by"] = gap.mean() / max(gap.std(ddof=1) / np.sqrt(len(gap)), 1e-9)
        return {name: float(value) for name, value in found.items()}


def compute_characterization(values: np.ndarray) -> float:
    """PyG's characterization score of the mean fidelities; 0 where one of them is as bad as can be."""
    plus, minus = torch.tensor(values[:, 0].mean()), torch.tensor(values[:, 1].mean())
    return float(characterization_score(plus, minus)) if plus > 0 and minus < 1 else 0.0


def measure(run: Path, links: int, max_edges: int, epochs: int) -> list[dict[str, object]]:
    """The rows of one run."""
    model = LinkPredictor.load(run, device="cpu")
    explainer, graph = model.explainer_, model.run_.info.graph_name
    population = explainer.population("random", 0.5, None)
    rng = np.random.default_rng(0)
    test = model.run_.split.test_pos
    chosen = test[torch.from_numpy(np.sort(rng.permutation(len(test))[:links]))].tolist()
    seen: dict[tuple[int, str], FidelityRecord] = {}
    sizes, took = [], {OURS: 0.0, GNN: 0.0}
    for u, v in chosen:
        around = explainer.enclosing_subgraph(u, v)
        sizes.append(around.num_edges)
        orders = {RANDOM: torch.from_numpy(rng.permutation(around.num_edges)), NEAREST: order_edges(around)}
        begin = time.perf_counter()
        orders[OURS] = by_loss(explainer, around, population, max_edges)
        took[OURS] += time.perf_counter() - begin
        if epochs:
            begin = time.perf_counter()
            orders[GNN] = by_gnn_explainer(explainer, around, epochs)
            took[GNN] += time.perf_counter() - begin
        keys, removed = [], [torch.zeros(around.num_edges, dtype=torch.bool)]
        for size in SIZES:
            for name, order in orders.items():
                named = torch.zeros(around.num_edges, dtype=torch.bool)
                named[order[:size]] = True
                keys.append((size, name))
                removed += [named, ~named]
        chance = torch.sigmoid(explainer.without(around, torch.stack(removed), population)).tolist()
        whole, changed = chance[0], np.array(chance[1:]).reshape(-1, 2)
        for key, (without, alone) in zip(keys, changed, strict=True):
            flips = [float((p > 0.5) != (whole > 0.5)) for p in (without, alone)]
            seen.setdefault(key, FidelityRecord([])).rows.append([*flips, abs(whole - without), abs(whole - alone)])
    return [
        {
            "graph": graph,
            "links": len(chosen),
            "edges in the mean": round(float(np.mean(sizes)), 1),
            "size": size,
            "method": name,
        }
        | found.summary(None if name == OURS else seen[size, OURS])
        | {"seconds a link": took.get(name, 0.0) / len(chosen)}
        for (size, name), found in seen.items()
    ]


def table(rows: list[dict[str, object]]) -> list[str]:
    lines = [
        (
            "| graph | edges named | by | fidelity+ ↑ | fidelity− ↓ | characterization ↑ | probability moved without ↑"
            " | with them alone ↓ | ours ahead (standard errors): characterization, without, alone |"
        ),
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        cells = [
            f"{row[name]:.3f} ± {row[name + ' error']:.3f}"
            for name in ("fidelity+", "fidelity-", "probability+", "probability-")
        ]
        ahead = [
            row.get(name)
            for name in ("ours ahead by, in standard errors", "probability+ ahead by", "probability- ahead by")
        ]
        told = "" if ahead[0] is None else ", ".join(f"{value:.1f}" for value in ahead)
        shown = [
            row["graph"],
            row["size"],
            row["method"],
            *cells[:2],
            f"{row['characterization']:.3f}",
            *cells[2:],
            told,
        ]
        lines.append("| " + " | ".join(map(str, shown)) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="folders that llwlc fit wrote")
    parser.add_argument("--links", type=int, default=200, help="test links of each run")
    parser.add_argument("--max-edges", type=int, default=500, help="edges that are removed one by one, as in explain")
    parser.add_argument("--epochs", type=int, default=100, help="of GNNExplainer; 0 leaves it out")
    parser.add_argument("--out", type=Path, help="JSON lines of all numbers")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[dict[str, object]] = []
    for run in given.runs:
        rows += measure(run, given.links, given.max_edges, given.epochs)
        print("\n".join(table(rows)), flush=True)
        if given.out is not None:
            given.out.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
