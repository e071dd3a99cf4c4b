"""Node level: which nodes of a random 3-regular graph lie on a triangle? To message passing all of them look the same.
python examples/pyg_nodes.py
"""

import networkx as nx
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GIN
from torch_geometric.utils import from_networkx

from llwlc import Eigenbasis, LLwLCConv
from llwlc.transforms import AddConstrainedBasis


def make_graph(seed: int) -> Data:
    graph = nx.random_regular_graph(3, 200, seed=seed)
    for i in range(0, 60, 3):  # a node becomes a triangle, and all degrees stay 3
        corners, ring = list(graph[i]), [1000 + i, 1001 + i, 1002 + i]
        graph.remove_node(i)
        graph.add_edges_from([*zip(ring, corners, strict=True), *zip(ring, ring[1:] + ring[:1], strict=True)])
    graph = nx.convert_node_labels_to_integers(graph, ordering="sorted")
    y = torch.tensor([float(nx.triangles(graph, v) > 0) for v in graph])
    return Data(x=torch.ones(len(y), 1), edge_index=from_networkx(graph).edge_index, y=y)


class Net(nn.Module):
    def __init__(self, rooted: bool) -> None:
        super().__init__()
        self.gin = GIN(1, 16, num_layers=2)
        self.hop, self.conv = nn.Embedding(3, 16), LLwLCConv(16, 16, num_filters=4)
        self.head, self.rooted = nn.Sequential(nn.ReLU(), nn.Linear(32, 1)), rooted

    def forward(self, data: Data) -> torch.Tensor:
        x, root = self.gin(data.x, data.edge_index), data.x.new_zeros(data.num_nodes, 16)
        if self.rooted:
            basis = Eigenbasis.from_batch(data)
            root = self.conv(self.hop(data.basis_hop), basis)[basis.ptr[:-1]]  # the first row of each is its root
        return self.head(torch.cat([x, root], 1)).squeeze(1)


def main(epochs: int = 60) -> tuple[float, float]:
    """The accuracy on the nodes of another graph, without and with the bases."""
    torch.manual_seed(0)
    transform = AddConstrainedBasis("node", hops=2, steps=6, constraints="neumann_boundary")
    train, test = transform(make_graph(0)), transform(make_graph(1))
    accuracy = []
    for net in (Net(rooted=False), Net(rooted=True)):
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        for _ in range(epochs):
            optimizer.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(net(train), train.y).backward()
            optimizer.step()
        accuracy.append(float(((net(test) > 0) == test.y).float().mean()))
        print(f"{'with' if net.rooted else 'without'} the bases: accuracy {accuracy[-1]:.2f}")
    return accuracy[0], accuracy[1]


if __name__ == "__main__":
    main()
