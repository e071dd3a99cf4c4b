"""Link level: missing citations of Cora, from RandomLinkSplit to an AUC, with a constrained basis around each link.

python examples/pyg_links.py
"""

import torch
from sklearn.metrics import roc_auc_score
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import global_mean_pool
from torch_geometric.transforms import RandomLinkSplit

from llwlc import Eigenbasis, LLwLCConv, datasets
from llwlc.transforms import AddConstrainedBasis


class Net(nn.Module):
    def __init__(self, hidden: int = 32) -> None:
        super().__init__()
        self.near, self.far = nn.Embedding(6, hidden), nn.Embedding(6, hidden)
        self.conv = LLwLCConv(hidden, hidden, num_filters=4, skip=True)
        self.head = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, data: Data) -> torch.Tensor:
        basis = Eigenbasis.from_batch(data)
        dist = torch.stack([data.basis_dist_u, data.basis_dist_v])
        x = self.near(dist.amin(0)) + self.far(dist.amax(0))  # which end is called u makes no difference
        x = self.conv(x, basis).relu()
        first = basis.ptr[:-1]  # the two ends are the first rows of each subgraph
        return self.head(torch.cat([x[first] + x[first + 1], global_mean_pool(x, basis.graph)], 1)).squeeze(1)


def some_links(data: Data, count: int) -> Data:
    """The same data with `count` of its links, drawn at random."""
    chosen = torch.randperm(data.edge_label.numel())[:count]
    data.edge_label, data.edge_label_index = data.edge_label[chosen], data.edge_label_index[:, chosen]
    return data


def main(links: int = 1000, epochs: int = 40) -> float:
    """The AUC on test links."""
    torch.manual_seed(0)
    graph = datasets.load("cora")
    cora = Data(edge_index=graph.edge_index, num_nodes=graph.num_nodes)
    split = RandomLinkSplit(num_val=0.05, num_test=0.1, is_undirected=True, add_negative_train_samples=True)
    transform = AddConstrainedBasis("link", constraints="neumann", steps=10)
    train, _, test = (transform(some_links(part, links)) for part in split(cora))
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(epochs):
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(net(train), train.edge_label).backward()
        optimizer.step()
    auc = float(roc_auc_score(test.edge_label, net(test).detach()))
    print(f"AUC {auc:.3f} on {len(test.edge_label)} test links")
    return auc


if __name__ == "__main__":
    main()
