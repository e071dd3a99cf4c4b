"""Four systems' own networks beside ours: the classes of their public code, given the weights of a fit of ours, score
the test pairs of one split; the largest difference of scores, and HR@100 of both.

    python research/benchmarks/public_code.py ocn OCN --data cora-planetoid
    python research/benchmarks/public_code.py neognn Neo-GNNs
    python research/benchmarks/public_code.py nbfnet NBFNet-PyG
    python research/benchmarks/public_code.py surelplus SUREL_Plus

The second argument is the folder of a checkout: qingpingmo/OCN, seongjunyun/Neo-GNNs, KiddoZhu/NBFNet-PyG (the authors'
own form of NBFNet for PyG) and Graph-COM/SUREL_Plus. Of torch_sparse, torch_scatter and pygho, which they import and
which are not installed here, `stand_in` has what the compared classes call. The networks are compared in float64, on
the messages of the test stage; OCN in its public form, weights by batch.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parents[2]))

from llwlc import metrics, splits
from llwlc.models._baseline import Baseline, make_network
from llwlc.models._baseline_features import DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._ocn import shared_nodes
from llwlc.models._registry import MODELS
from llwlc.models._walk_sets import walk_sets
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources
from research.bench.sparse_stand_in import SparseTensor, spmm_add, stand_in
from research.experiments.graphs import load_graph
from research.experiments.study_baselines import BatchOCN, merge_entries

PROTOCOLS = {"ocn": "ncn", "neognn": "buddy", "nbfnet": "buddy", "surelplus": "buddy"}


def give(theirs: Iterable[torch.nn.Module], ours: Iterable[torch.nn.Module]) -> None:
    """Copies weights, module by module, in the order of their definition."""
    for there, here in zip(theirs, ours, strict=True):
        for a, b in zip(there.parameters(), here.parameters(), strict=True):
            a.data = b.data.clone()


def ocn(net: Any, messages: Messages, features: DeviceFeatures, x: Tensor, pairs: Tensor) -> Tensor:
    there = importlib.import_module("model")
    r = net.recipe
    name = "pure" + r.propagation
    gcn = there.GCN(x.shape[1], r.hidden, r.hidden, r.layers, 0.0, res=r.residual, conv_fn=name, jk=True).double()
    there.spmm_mean = lambda a, rows: spmm_add(a, rows) / a.sum(1).clamp(min=1).unsqueeze(1)
    gcn.xemb[1].weight.data, gcn.xemb[1].bias.data = net.input.weight.data.T, net.input.bias.data
    gcn.jkparams.data = net.scale.data
    head = there.CNLinkPredictorOringin(r.hidden, r.hidden, 1, 3, 0.0, ln=True).double().eval()
    give((head.xcn1lin, head.xcn2lin, head.xijlin, head.lin), (net.near, net.far, net.ends, net.head))
    head.alpha.data[:2], head.beta.data = net.alpha.data, net.beta.data
    head.innerprod = net.products[:1] / net.products[1].clamp(min=1)
    torch.set_default_dtype(torch.float64)  # it makes zeros of its own
    n, size = messages.num_nodes, (len(pairs), messages.num_nodes)
    encoded = net.encode(messages, features)
    node, owner, first, second = merge_entries(shared_nodes(encoded, pairs), n)
    near, far = (SparseTensor(owner[w > 0], node[w > 0], w[w > 0], size) for w in (first, second))
    adjacency = SparseTensor(messages.row, messages.col, None, (n, n))
    return head(gcn.eval()(x, adjacency), adjacency, near, far, pairs.T).squeeze(1)


def neognn(net: Any, messages: Messages, features: DeviceFeatures, x: Tensor, pairs: Tensor) -> Tensor:
    there = importlib.import_module("models")
    r, n = net.recipe, messages.num_nodes
    how = types.SimpleNamespace(dataset="collab", f_edge_dim=8, f_node_dim=128, g_phi_dim=128)
    model = there.NeoGNN(x.shape[1], r.hidden, r.hidden, r.layers, 0.0, how).double().eval()
    predictor = there.LinkPredictor(r.hidden, r.hidden, 1, r.head_layers, 0.0).double().eval()
    give((model.f_edge, model.f_node, model.g_phi), (net.f_edge, net.f_node, net.g))
    give(predictor.lins, net.head.lins)
    model.alpha.data = net.alpha.data
    for i, (a, b) in enumerate(zip(model.convs, net.convs, strict=True)):
        weight = b.lin.weight.data.T
        a.weight.data, a.bias.data = net.input.weight.data @ weight if i == 0 else weight, b.bias.data
    data = types.SimpleNamespace(x=x, adj_t=messages.edge_index, num_nodes=n)
    a = scipy.sparse.csr_matrix((np.ones(len(messages.row)), messages.edge_index.numpy()), shape=(n, n))
    a = a + r.square_weight * (a @ a)
    parts = [torch.logit(model(part.T, data, a, predictor)[0]) for part in pairs.split(512)]
    return torch.cat(parts).squeeze(1)


def nbfnet(net: Any, messages: Messages, features: DeviceFeatures, x: Tensor, pairs: Tensor) -> Tensor:
    package = types.ModuleType("nbfnet")
    package.__path__ = [str(Path(sys.path[0]) / "nbfnet")]
    sys.modules["nbfnet"], sys.modules["nbfnet.tasks"] = package, types.ModuleType("nbfnet.tasks")
    there = importlib.import_module("nbfnet.models")
    r, n = net.recipe, messages.num_nodes
    model = there.NBFNet(r.hidden, [r.hidden] * r.layers, 1, short_cut=True, layer_norm=True, dependent=False)
    model = model.double().eval()
    model.query.weight.data = net.query.data.unsqueeze(0)
    give([model.mlp], [net.head])
    for a, b in zip(model.layers, net.layers, strict=True):
        a.relation.weight.data = b.relation.data.unsqueeze(0)
        give((a.linear, a.layer_norm), (b.lin, b.norm))
    torch.set_default_dtype(torch.float64)
    loops = torch.arange(n).expand(2, -1)  # as `as_relational_graph` of the first code adds them
    index = torch.cat([messages.edge_index, loops], 1)
    data = types.SimpleNamespace(
        edge_index=index, edge_type=index.new_zeros(index.shape[1]), num_nodes=n, num_edges=index.shape[1]
    )
    rows = []
    for u, v in pairs.tolist():
        ends = torch.tensor([u, v])
        # separate_grad: the messages one by one, not its CUDA kernel
        found = model.bellmanford(data, ends, torch.zeros(2, dtype=torch.long), separate_grad=True)
        rows.append(found["node_feature"][[0, 1], [v, u]].mean(0).detach())
    return model.mlp(torch.stack(rows)).squeeze(1)


def surelplus(net: Any, messages: Messages, features: DeviceFeatures, x: Tensor, pairs: Tensor) -> Tensor:
    there = importlib.import_module("model")
    r = net.recipe
    model = there.Net(2, r.steps + 1, r.hidden, 1, dropout=0.0, aggrs="mean").double().eval()
    give((model.pe_embedding[0], model.pe_embedding[2]), (net.first, net.second))
    give((model.affinity_score.fc1, model.affinity_score.fc2), (net.head[0], net.head[3]))
    nodes, place = torch.unique(pairs, return_inverse=True)
    sets = walk_sets(messages, nodes, walks=r.walks, steps=r.steps, seed=net.seed)
    where = {int(key): i for i, key in enumerate(sets.key)}
    scores = []
    for order in (place, place.flip(1)):
        joined, sizes = [], []
        for end in (0, 1):
            for here, other in zip(order[:, end].tolist(), order[:, 1 - end].tolist(), strict=True):
                span = range(int(sets.ptr[here]), int(sets.ptr[here + 1]))
                for i in span:
                    key = other * messages.num_nodes + int(sets.key[i]) % messages.num_nodes
                    seen = sets.share[where[key]] if key in where else torch.zeros(r.steps + 1, dtype=torch.float64)
                    joined.append(torch.stack([sets.share[i], seen]))
                sizes.append(len(span))
        ptr = torch.tensor([0, *sizes]).cumsum(0)
        scores.append(model(torch.stack(joined), ptr))
    return (scores[0] + scores[1]) / 2


THEIRS: dict[str, Callable[..., Tensor]] = {"ocn": ocn, "neognn": neognn, "nbfnet": nbfnet, "surelplus": surelplus}


def compare(name: str, folder: Path, data: str, seed: int, epochs: int, most: int) -> dict[str, Any]:
    """A fit of ours, and both scores of its test pairs, at most `most` links and as many negatives."""
    stand_in(folder)
    graph = load_graph(data)
    split = splits.make(graph, protocol=PROTOCOLS[name], seed=seed)
    model = Baseline(*MODELS[name].args, data=data, **({"epochs": epochs} if epochs else {}))
    if epochs:
        model.fit(split, NodeFeatures(), seed=seed, resources=Resources())
        net, features = model.net, model.features
    else:
        begun = model.trainee(split, seed, torch.device("cpu"))
        net, features = begun.net.double().eval(), begun.features
    assert net is not None
    if name == "ocn":
        other = make_network(BatchOCN, net.recipe, net.shape, seed).double().eval()
        other.load_state_dict(net.state_dict())
        net = other
    if name == "neognn":
        net.input.bias.data.zero_()  # there is none in the public code, which has no map before the first convolution
    messages, parts = Messages.of(split.test_graph), (split.test_pos[:most], split.test_neg[:most])
    x = torch.zeros(graph.num_nodes, 1) if features is None else features.product(torch.eye(features.shape[1]).double())
    scores = [
        [by(part).detach().double() for part in parts]
        for by in (
            lambda pairs: net.decode(net.encode(messages, features), pairs),
            lambda pairs: THEIRS[name](net, messages, features, x, pairs),
        )
    ]
    apart = max(float((a - b).abs().max()) for a, b in zip(*scores, strict=True))
    hits = [metrics.hits_at_k(pos, neg, min(100, len(neg) - 1)).value for pos, neg in scores]
    return {
        "system": name,
        "data": data,
        "seed": seed,
        "epochs": epochs,
        "pairs": sum(len(part) for part in parts),
        "largest_score": max(float(part.abs().max()) for part in scores[0]),
        "largest_difference": apart,
        "hits": hits,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", choices=list(THEIRS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", default="cora-planetoid")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=3, help="of our fit; 0: initial weights")
    parser.add_argument("--pairs", type=int, default=10_000, help="most test links, and most negatives")
    given = parser.parse_args()
    with torch.random.fork_rng():
        print(json.dumps(compare(given.system, given.folder, given.data, given.seed, given.epochs, given.pairs)))


if __name__ == "__main__":
    main()
