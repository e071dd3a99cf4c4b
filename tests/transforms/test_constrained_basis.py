"""AddConstrainedBasis in PyG's hands: batched, cached, saved, composed, in workers; a basis is its own graph's."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import Compose, RandomLinkSplit, ToUndirected

import oracle
from llwlc import Eigenbasis, LLwLCConv, constraints
from llwlc.bases import eigenbasis, link_bases
from llwlc.errors import InputError
from llwlc.nn import LearnedConstraints
from llwlc.subgraphs import Subgraphs
from llwlc.transforms import AddConstrainedBasis
from pyg_graphs import adjacency, kernel, laplacian, nasty, weighted

F64 = torch.float64
ALL = [*nasty().values(), *weighted().values()]
PLAIN = list(nasty().values())
KEPT = ("values", "vectors", "mask", "residual", "ptr")


def ends_first(subs: Subgraphs):
    return constraints.custom(subs, torch.ones(subs.num_nodes), names=["mean zero"])


TRANSFORMS = {
    "graph": AddConstrainedBasis(constraints="components", dtype=F64, steps=6),
    "graph, complete": AddConstrainedBasis(constraints="components", complete=True, dtype=F64, steps=12),
    "graph, by x": AddConstrainedBasis(start="x", constraints=ends_first, steps=5),
    "node": AddConstrainedBasis("node", constraints="shells", steps=4),
    "edge": AddConstrainedBasis("edge", constraints="neumann", steps=4, hops=1),
    "link": AddConstrainedBasis("link", constraints="neumann+vertex_deleted", count=1, steps=4),
}


def with_links(data: Data) -> Data:
    """A copy with two candidate links, or none where there are fewer than two nodes."""
    n, data = data.num_nodes, data.clone()
    links = torch.tensor([[0, n - 1], [n - 1, 0]]) if n > 1 else torch.empty(2, 0, dtype=torch.long)
    data.edge_label_index = links
    return data


def assert_same(one: Eigenbasis, other: Eigenbasis) -> None:
    for name in KEPT:
        assert torch.equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
def test_complete_bases_are_the_dense_spectrum_above_the_kernel(kind):
    transform = AddConstrainedBasis(constraints="components", complete=True, steps=12, laplacian=kind, dtype=F64)
    for data in ALL:
        basis = Eigenbasis.from_batch(transform(data))
        A = adjacency(data)
        values, U = np.linalg.eigh(laplacian(A, kind))
        above = kernel(A, kind).shape[1]
        np.testing.assert_allclose(basis.values[0][basis.mask[0]].numpy(), values[above:], atol=1e-9)
        np.testing.assert_allclose((basis.vectors @ basis.vectors.T).numpy(), U[:, above:] @ U[:, above:].T, atol=1e-7)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_batch_holds_the_bases_of_its_graphs_and_gives_them_back(name):
    transform = TRANSFORMS[name]
    made = [transform(with_links(data)) for data in PLAIN]
    batch = Batch.from_data_list(made)
    together = Eigenbasis.from_batch(batch)
    assert_same(together, Eigenbasis.concat([Eigenbasis.from_batch(data) for data in made]))
    for data, back in zip(made, batch.to_data_list(), strict=True):
        assert_same(Eigenbasis.from_batch(data), Eigenbasis.from_batch(back))
        for key in ("row_index", "root_index"):
            if f"basis_{key}" in data:
                assert torch.equal(data[f"basis_{key}"], back[f"basis_{key}"])
    assert batch.num_nodes == sum(data.num_nodes for data in PLAIN)
    roots = "link" if name == "edge" else name.split(",", maxsplit=1)[0]
    if roots != "graph":
        at = batch.basis_root_index
        subs = Subgraphs.from_batch(batch, at, hops=transform.config.hops, keep_link=name == "edge")
        assert torch.equal(subs.node, batch.basis_row_index)
        assert torch.equal(subs.hop, batch.basis_hop)
        assert torch.equal(subs.ptr, together.ptr)


@pytest.mark.parametrize("name", ["node", "edge", "link"])
def test_rooted_bases_are_those_of_the_library(name):
    data = with_links(nasty()["some directions"])
    found = Eigenbasis.from_batch(TRANSFORMS[name](data))
    if name == "link":
        subs, expected = link_bases(data, constraints="neumann+vertex_deleted", count=1, steps=4)
    else:
        once = torch.from_numpy(np.argwhere(np.triu(adjacency(data)) > 0)).t()
        roots = torch.arange(7) if name == "node" else once
        subs = Subgraphs.from_batch(data, roots, hops=2 if name == "node" else 1, keep_link=True)
        cons = constraints.shells(subs) if name == "node" else constraints.neumann(subs)
        expected = eigenbasis(subs, cons, steps=4)
        assert oracle.leak(found, cons.columns) < 1e-6
    assert torch.equal(found.mask, expected.mask)
    torch.testing.assert_close(found.values, expected.values, atol=1e-5, rtol=0)
    assert torch.equal(found.ptr, subs.ptr)


def test_a_transposed_list_of_edges_is_read_without_a_warning():
    edges = [(0, 1), (1, 2), (2, 3)]
    made = AddConstrainedBasis(steps=3)(Data(edge_index=torch.tensor(edges).t(), num_nodes=4))
    plain = AddConstrainedBasis(steps=3)(Data(edge_index=torch.tensor(edges).t().contiguous(), num_nodes=4))
    assert_same(Eigenbasis.from_batch(made), Eigenbasis.from_batch(plain))


class Rings(InMemoryDataset):
    """Graphs that are transformed once and cached."""

    def __init__(self, root, pre_transform):
        super().__init__(str(root), pre_transform=pre_transform)
        self.load(self.processed_paths[0])

    @property
    def processed_file_names(self):
        return ["data.pt"]

    def process(self):
        self.save([self.pre_transform(data) for data in PLAIN], self.processed_paths[0])


@pytest.mark.parametrize("name", ["graph", "node", "edge"])
def test_a_basis_in_pre_transform_is_read_from_the_datasets_cache(name, tmp_path):
    first = Rings(tmp_path, TRANSFORMS[name])
    again = Rings(tmp_path, TRANSFORMS[name])
    assert len(first) == len(PLAIN)
    for b, data in enumerate(PLAIN):
        assert_same(Eigenbasis.from_batch(again[b]), Eigenbasis.from_batch(TRANSFORMS[name](data)))
    batch = next(iter(DataLoader(again, batch_size=len(PLAIN))))
    expected = Batch.from_data_list([TRANSFORMS[name](data) for data in PLAIN])
    assert_same(Eigenbasis.from_batch(batch), Eigenbasis.from_batch(expected))


class Transformed(torch.utils.data.Dataset):
    """Transformed on every access, in whichever process asks."""

    def __init__(self, transform):
        self.transform = transform

    def __len__(self):
        return len(PLAIN)

    def __getitem__(self, i):
        return self.transform(PLAIN[i])


@pytest.mark.parametrize("name", ["graph", "node"])
def test_workers_give_what_this_process_gives(name):
    here = [Eigenbasis.from_batch(b) for b in DataLoader(Transformed(TRANSFORMS[name]), batch_size=4)]
    there = DataLoader(Transformed(TRANSFORMS[name]), batch_size=4, num_workers=2)
    for one, batch in zip(here, there, strict=True):
        assert_same(one, Eigenbasis.from_batch(batch))
        conv = LLwLCConv(3, 2)
        rows = batch.x if name == "graph" else batch.x[batch.basis_row_index]
        conv(rows, Eigenbasis.from_batch(batch).to(dtype=torch.float32)).sum().backward()
        assert conv.weight.grad.isfinite().all()


def test_compose_split_and_save(tmp_path):
    data = Data(x=torch.randn(40, 2), edge_index=torch.randint(40, (2, 90)), num_nodes=40)
    split = RandomLinkSplit(num_val=0.1, num_test=0.1, is_undirected=True)
    train, val, test = Compose([ToUndirected(), split])(data)
    transform = AddConstrainedBasis("link", constraints="neumann", steps=4)
    for part in (train, val, test):
        links = part.edge_label_index
        part.edge_label_index = links[:, links[0] != links[1]]
        made = transform(part)
        assert "basis_values" not in part  # PyG's transforms copy
        subs, expected = link_bases(part, constraints="neumann", steps=4)
        torch.testing.assert_close(made.basis_values, expected.values, atol=1e-5, rtol=0)
        assert torch.equal(made.basis_dist_v, subs.dist_v)
        torch.save(made, tmp_path / "part.pt")
        back = torch.load(tmp_path / "part.pt", weights_only=False)
        assert_same(Eigenbasis.from_batch(back), Eigenbasis.from_batch(made))
    both = Compose([AddConstrainedBasis(steps=3, name="first"), AddConstrainedBasis("node", steps=2)])(train)
    assert Eigenbasis.from_batch(both, "first").steps == 3
    assert Eigenbasis.from_batch(both).num_graphs == 40


def test_a_basis_moves_with_its_batch():
    batch = Batch.from_data_list([TRANSFORMS["node"](data) for data in PLAIN]).to("meta")
    assert {batch[key].device.type for key in batch.to_dict() if key.startswith("basis_")} == {"meta"}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_the_transform_on_a_gpu_equals_that_on_a_cpu():
    for name, transform in TRANSFORMS.items():
        made = [with_links(data) for data in PLAIN]
        here = Eigenbasis.from_batch(Batch.from_data_list([transform(data) for data in made]))
        there = Eigenbasis.from_batch(Batch.from_data_list([transform(data) for data in made]).to("cuda"))
        assert_same(here, there.to("cpu"))
        computed = Eigenbasis.from_batch(Batch.from_data_list([transform(data.to("cuda")) for data in made])).to("cpu")
        assert torch.equal(here.mask, computed.mask), name
        torch.testing.assert_close(here.values, computed.values, atol=1e-4, rtol=0)
        conv = LLwLCConv(2, 2).cuda()
        assert conv(torch.ones(len(there.vectors), 2, device="cuda"), there.to(dtype=torch.float32)).isfinite().all()


HETERO = HeteroData()
HETERO["a"].x, HETERO["a", "b"].edge_index = torch.ones(2, 1), torch.zeros(2, 0, dtype=torch.long)
RING = nasty()["one direction"]
WRONG = {
    r"roots must be 'graph', 'node', 'edge', 'link', got 'nodes'": lambda: AddConstrainedBasis("nodes"),
    r"start='query' begins at a root.*roots='node'": lambda: AddConstrainedBasis(start="query"),
    r"start must be.*got Tensor: store the tensor": lambda: AddConstrainedBasis(start=torch.ones(7)),
    r"start='y' is none of.*there is none; there are edge_index": lambda: AddConstrainedBasis(start="y")(RING),
    r"start='edge_index' is none of.*shape is \(2, 9\)": lambda: AddConstrainedBasis(start="edge_index")(RING),
    r"constraints: unknown name 'neuman'": lambda: AddConstrainedBasis(constraints="neuman"),
    r"whole graphs.*'hop'.*roots=": lambda: AddConstrainedBasis(constraints="neumann")(RING),
    r"steps must be.*'ten'": lambda: AddConstrainedBasis(steps="ten"),
    r"hops must be": lambda: AddConstrainedBasis("node", hops=0),
    r"laplacian must be": lambda: AddConstrainedBasis(laplacian="sym"),
    r"dtype must be torch.float32": lambda: AddConstrainedBasis(dtype=torch.int64),
    r"name must be an identifier": lambda: AddConstrainedBasis(name="node_basis"),
    r"weight must be the name": lambda: AddConstrainedBasis(weight=torch.ones(3)),
    r"root_key='train_index' names roots": lambda: AddConstrainedBasis(root_key="train_index"),
    r"data has no edge_label_index.*RandomLinkSplit": lambda: AddConstrainedBasis("link")(RING),
    r"roots='node' needs nodes \[R\] in data\.edge_index": lambda: AddConstrainedBasis("node", root_key="edge_index")(
        RING
    ),
    r"complete=True finds 7 eigenpairs.*give steps=7": lambda: AddConstrainedBasis(complete=True, steps=3)(RING),
    r"got a Batch: give it to the dataset": lambda: AddConstrainedBasis()(Batch.from_data_list([RING])),
    r"several edge types": lambda: AddConstrainedBasis()(HETERO),
    r"no edge_index": lambda: AddConstrainedBasis()(Data(x=torch.ones(3, 1))),
    r"has no basis_values, it has edge_index, num_nodes, x.*AddConstrainedBasis": lambda: Eigenbasis.from_batch(RING),
    r"x has 7 rows, the basis has 47.*basis_row_index": lambda: LLwLCConv(3, 2)(
        RING.x, Eigenbasis.from_batch(AddConstrainedBasis("node", steps=3)(RING))
    ),
    r"got a list: Batch.from_data_list": lambda: Eigenbasis.from_batch([RING]),
    r"got Transformed.*a dataset takes transform=": lambda: AddConstrainedBasis()(Transformed(None)),
    r"got NoneType": lambda: AddConstrainedBasis()(None),
    r"Tensor has no basis_values": lambda: Eigenbasis.from_batch(torch.ones(3)),
    r"returned Tensor, not Constraints": lambda: AddConstrainedBasis(constraints=lambda s: s.node)(RING),
    r"constraints must be names.*got Tensor: eigenbasis": lambda: AddConstrainedBasis(constraints=torch.ones(7, 1)),
    r"got the module LearnedConstraints.*in forward": lambda: AddConstrainedBasis(constraints=LearnedConstraints(2)),
    r"do not belong together": lambda: Eigenbasis.from_batch(cut(AddConstrainedBasis(steps=3)(RING))),
}


def cut(data: Data) -> Data:
    data.basis_vectors = data.basis_vectors[:4]
    return data


@pytest.mark.parametrize("message", WRONG)
def test_wrong_calls_are_told_what_to_give(message):
    with pytest.raises(InputError, match=message):
        WRONG[message]()


def test_gradients_that_cannot_be_stored_are_refused():
    learned = torch.nn.Linear(1, 1)

    def by_degree(subs: Subgraphs):
        return constraints.custom(subs, learned(subs.degree.float()[:, None]))

    moving = RING.clone()
    moving.edge_weight = torch.ones(RING.num_edges, requires_grad=True)
    moving.signal = torch.ones(7, requires_grad=True)
    cases = {
        "constraints": AddConstrainedBasis(constraints=by_degree),
        "edge_weight": AddConstrainedBasis(),
        "start='signal'": AddConstrainedBasis(start="signal", weight=None),
    }
    for name, transform in cases.items():
        with pytest.raises(InputError, match=f"{name} requires gradients.*in forward.*no_grad"):
            transform(RING.clone() if name == "constraints" else moving.clone())
        with torch.no_grad():
            assert not Eigenbasis.from_batch(transform(moving.clone())).vectors.requires_grad


def test_chosen_roots_and_two_names():
    data = RING.clone()
    data.seeds = torch.tensor([4, 1])
    made = AddConstrainedBasis("node", root_key="seeds", steps=3, name="around")(data)
    assert made.around_root_index.tolist() == [4, 1]
    data.train_mask = torch.arange(7) > 4
    assert AddConstrainedBasis("node", root_key="train_mask", steps=3)(data).basis_root_index.tolist() == [5, 6]
    assert repr(AddConstrainedBasis("node")) == "AddConstrainedBasis('node', constraints='none', steps=10)"
