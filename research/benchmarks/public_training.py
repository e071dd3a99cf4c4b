"""The public training code of OCN and Neo-GNN on one of our splits, with its own `train`, `test`, network and options:
its HR@100 on test links at the epoch that its own validation chooses.

    python research/benchmarks/public_training.py neognn Neo-GNNs --seed 0 --epochs 100
    python research/benchmarks/public_training.py ocn OCN --seed 0 --epochs 100

The second argument is the folder of a checkout (seongjunyun/Neo-GNNs, qingpingmo/OCN); see `public_code.py`. Neo-GNN
has the options of its `main_collab.py`, as there are none for Cora; OCN those of its read-me.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from llwlc import splits
from llwlc.splits._linksplit import LinkSplit
from research.bench.sparse_stand_in import SparseTensor, stand_in
from research.experiments.graphs import load_graph

Hits = tuple[float, float, float]
"""HR@100 of training, validation and test links."""


class Evaluator:
    """OGB's HR@K, which both codes ask for."""

    K = 100

    def eval(self, scores: dict[str, torch.Tensor]) -> dict[str, float]:
        pos, neg = scores["y_pred_pos"].flatten(), scores["y_pred_neg"].flatten()
        bound = neg.sort(descending=True).values[self.K - 1] if len(neg) >= self.K else -torch.inf
        return {f"hits@{self.K}": float((pos > bound).double().mean())}


def links_of(split: LinkSplit) -> dict[str, dict[str, torch.Tensor]]:
    return {
        "train": {"edge": split.train_pos},
        "valid": {"edge": split.valid_pos, "edge_neg": split.valid_neg},
        "test": {"edge": split.test_pos, "edge_neg": split.test_neg},
    }


def index_by_tensors() -> None:
    """Lets scipy's matrices be indexed by tensors, as those of 2021 could be."""
    plain = scipy.sparse.csr_matrix.__getitem__

    def by_tensor(self: Any, key: Any) -> Any:
        return plain(self, key.numpy() if isinstance(key, torch.Tensor) else key)

    scipy.sparse.csr_matrix.__getitem__ = by_tensor  # type: ignore[method-assign]


def neognn(split: LinkSplit, x: torch.Tensor, epochs: int, seed: int) -> list[Hits]:
    index_by_tensors()
    there, models = importlib.import_module("main_collab"), importlib.import_module("models")
    n = split.train_graph.num_nodes
    how = types.SimpleNamespace(dataset="collab", f_edge_dim=8, f_node_dim=128, g_phi_dim=128)
    torch.manual_seed(seed)
    model = models.NeoGNN(x.shape[1], 256, 256, 3, 0.0, how)
    predictor = models.LinkPredictor(256, 256, 1, 3, 0.0)
    optimizer = torch.optim.Adam([*model.parameters(), *predictor.parameters()], lr=0.001)
    index = split.train_graph.edge_index
    data = types.SimpleNamespace(x=x, adj_t=index, num_nodes=n)
    a = scipy.sparse.csr_matrix((np.ones(index.shape[1]), index.numpy()), shape=(n, n))
    a = a + 0.1 * (a @ a)
    found = []
    for epoch in range(1, epochs + 1):
        there.train(model, predictor, data, links_of(split), optimizer, 1024, a, None, how)
        if epoch % 5 == 0:
            by_k = there.test(model, predictor, data, links_of(split), Evaluator(), 65_536, a, None, how)
            found.append(by_k["Hits@100"])
            print(epoch, found[-1], file=sys.stderr)
    return found


def ocn(split: LinkSplit, x: torch.Tensor, epochs: int, seed: int) -> list[Hits]:
    """The read-me's command for Cora: of its options those that predictor cn5 reads."""
    sys.modules["ogbdataset"] = types.ModuleType("ogbdataset")
    sys.modules["ogbdataset"].__dict__["loaddataset"] = None
    sys.modules.setdefault("torch.utils.tensorboard", types.ModuleType("tensorboard")).__dict__["SummaryWriter"] = None
    there, models = importlib.import_module("NeighborOverlap_large"), importlib.import_module("model")
    n = split.train_graph.num_nodes
    torch.manual_seed(seed)
    model = models.GCN(
        x.shape[1], 256, 256, 1, 0.05, True, False, -1, "puregcn", True, 0.0, xdropout=0.7, taildropout=0.3
    )
    predictor = models.CNLinkPredictorOringin(256, 256, 1, 3, 0.05, 0.4, True)
    groups = [{"params": model.parameters(), "lr": 0.0043}, {"params": predictor.parameters(), "lr": 0.0024}]
    optimizer = torch.optim.Adam(groups)
    index = split.train_graph.edge_index
    whole = SparseTensor.from_edge_index(index, None, (n, n))
    data = types.SimpleNamespace(x=x, edge_index=index, adj_t=whole, full_adj_t=whole, num_nodes=n)
    how: Any = types.SimpleNamespace(adj2byblock=False)
    found = []
    for epoch in range(epochs):
        there.train(model, predictor, data, links_of(split), optimizer, 1152, True, [], None, how)
        by_k, _ = there.test(model, predictor, data, links_of(split), Evaluator(), 8192, False, how)
        found.append(by_k["Hits@100"])
        print(epoch, found[-1], file=sys.stderr)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", choices=["ocn", "neognn"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", default="cora-planetoid")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=100)
    given = parser.parse_args()
    stand_in(given.folder)
    graph = load_graph(given.data)
    split = splits.make(graph, protocol={"ocn": "ncn", "neognn": "buddy"}[given.system], seed=given.seed)
    x = torch.as_tensor(graph.x.toarray() if scipy.sparse.issparse(graph.x) else graph.x, dtype=torch.float32)
    begin = time.process_time()
    found = {"ocn": ocn, "neognn": neognn}[given.system](split, x, given.epochs, given.seed)
    best = max(found, key=lambda hits: hits[1])
    line = {"system": given.system, "data": given.data, "seed": given.seed, "epochs": given.epochs}
    seconds = round(time.process_time() - begin)
    print(json.dumps(line | {"valid": best[1], "test": best[2], "last_test": found[-1][2], "cpu_seconds": seconds}))


if __name__ == "__main__":
    main()
