"""The block on CUDA for somebody who uses PyG: the transform, bases that keep their gradients, learned constraints and
eigenpairs, all as on the CPU."""

import copy

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import global_add_pool

import oracle
from llwlc import Eigenbasis, LLwLCConv, constrained_eigsh, datasets, eigenbasis
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import encode_pairs
from llwlc.errors import InputError
from llwlc.linalg._filter import spectral_filter
from llwlc.models._llwlc.step import Stepper
from llwlc.nn import LearnedConstraints, NetConfig
from llwlc.nn._learned_constraints import build_network
from llwlc.subgraphs import Subgraphs
from llwlc.transforms import AddConstrainedBasis

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")]
DEVICE = "cuda"
F64 = torch.float64


def graphs(count: int = 6) -> list[Data]:
    """Small random graphs with node states `x [n, 3]`, a label and two candidate links."""
    generator, made = torch.Generator().manual_seed(0), []
    for seed in range(count):
        graph = nx.gnp_random_graph(9 + seed, 0.35, seed=seed)
        x = torch.randn(len(graph), 3, generator=generator)
        edge_index = torch.tensor(list(graph.edges)).t()
        links = torch.tensor([[0, 1], [len(graph) - 1, 4]])
        made.append(Data(x=x, edge_index=edge_index, edge_label_index=links, y=torch.tensor([float(seed % 2)])))
    return made


TRANSFORMS = {
    "graph": AddConstrainedBasis(constraints="components", start="x", steps=5, dtype=F64),
    "graph, complete": AddConstrainedBasis(constraints="components", complete=True, steps=14, dtype=F64),
    "node": AddConstrainedBasis("node", constraints="shells", steps=5, dtype=F64),
    "edge": AddConstrainedBasis("edge", constraints="neumann_vertex", steps=5, hops=1, dtype=F64),
    "link": AddConstrainedBasis("link", constraints="neumann+contraction", steps=5, dtype=F64),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_transform_of_gpu_data_is_that_of_cpu_data(name):
    transform = TRANSFORMS[name]
    here = Batch.from_data_list([transform(data) for data in graphs()])
    there = Batch.from_data_list([transform(data.to(DEVICE)) for data in graphs()])
    for key in [key for key, _ in here if key.startswith("basis_")]:
        assert there[key].device.type == DEVICE
    for key in ("basis_mask", "basis_sizes", "basis_row_index", "basis_root_index", "basis_hop", "basis_dist_u"):
        if key in here:
            assert torch.equal(here[key], there[key].cpu()), key
    torch.testing.assert_close(there.basis_values.cpu(), here.basis_values, atol=1e-8, rtol=0)
    outputs = []
    for batch in (here, there):
        basis = Eigenbasis.from_batch(batch)
        x = batch.x if "basis_row_index" not in batch else batch.x[batch.basis_row_index]
        x = x.double().requires_grad_()
        torch.manual_seed(0)
        y = LLwLCConv(3, 2, num_filters=2, skip=True).double().to(x.device)(x, basis)
        y.square().sum().backward()
        outputs += [(y.detach().cpu(), x.grad.cpu())]
    for cpu, gpu in zip(*outputs, strict=True):
        torch.testing.assert_close(gpu, cpu, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("options", [{"complete": True}, {"gradient": "truncated"}, {}], ids=str)
def test_a_basis_that_moves_keeps_its_gradients(options):
    subs = Subgraphs.from_batch(Batch.from_data_list(graphs()))
    start = torch.randn(subs.num_nodes, 1, dtype=F64, generator=torch.Generator().manual_seed(1))
    given = torch.randn(subs.num_nodes, 2, dtype=F64, generator=torch.Generator().manual_seed(2))
    gradients = []
    for path in ([], [DEVICE], [DEVICE, "cpu", DEVICE], "select", "concat"):
        columns = given.clone().requires_grad_()
        basis = eigenbasis(subs, columns, start=start, steps=4, dtype=F64, **options)
        if path == "select":
            basis = basis.to(DEVICE)[torch.arange(len(basis))]
        elif path == "concat":
            basis = Eigenbasis.concat([basis[:2].to(DEVICE), basis[2:].to(DEVICE)])
        else:
            for device in path:
                basis = basis.to(device)
        assert basis.tape is not None
        y = spectral_filter(basis, lambda r: torch.exp(-r), start.to(basis.values.device))
        y.square().sum().backward()
        gradients.append(columns.grad)
    assert gradients[0].abs().max() > 1e-3
    for gradient in gradients[1:]:
        torch.testing.assert_close(gradient, gradients[0], atol=1e-7, rtol=1e-6)


class Net(torch.nn.Module):
    """A PyG model as docs/howto/pyg.md writes it."""

    def __init__(self, **options):
        super().__init__()
        self.constraints, self.options = LearnedConstraints(3, count=2), options
        self.conv, self.head = LLwLCConv(3, 8, num_filters=3, skip=True), torch.nn.Linear(8, 1)

    def forward(self, batch):
        columns = self.constraints(batch.x)
        subs = Subgraphs.from_batch(batch)
        basis = eigenbasis(subs, columns, ridge=self.constraints.ridge, dtype=F64, **self.options)
        return self.head(global_add_pool(self.conv(batch.x, basis).relu(), batch.batch)).squeeze(1)


OPTIONS = {"complete": {"complete": True}, "truncated": {"steps": 5, "start": "random", "gradient": "truncated"}}


@pytest.mark.parametrize("options", OPTIONS)
def test_a_training_step_of_learned_constraints_is_that_of_the_cpu(options):
    torch.manual_seed(0)
    net, batch = Net(**OPTIONS[options]).double(), Batch.from_data_list(graphs())
    batch.x = batch.x.double()
    weights = []
    for device in ("cpu", DEVICE):
        here, data = copy.deepcopy(net).to(device), batch.clone().to(device)
        optimizer = torch.optim.SGD(here.parameters(), lr=0.01)
        torch.nn.functional.binary_cross_entropy_with_logits(here(data), data.y.double()).backward()
        assert all(p.grad is not None and p.grad.abs().max() > 0 for p in here.constraints.parameters())
        optimizer.step()
        weights.append([p.detach().cpu() for p in here.parameters()])
    for before, cpu, gpu in zip(net.parameters(), *weights, strict=True):
        assert not torch.equal(cpu, before)
        torch.testing.assert_close(gpu - before, cpu - before, atol=1e-8, rtol=1e-5)


def test_a_step_of_the_link_network_is_that_of_the_cpu():
    cora = datasets.load("cora")
    basis = BasisConfig(constraints="learned", steps=6)
    pairs = cora.edges[:: len(cora.edges) // 16][:16]
    data = encode_pairs(cora, pairs, basis, about="")
    torch.manual_seed(0)
    net = build_network(None, NetConfig(pair_inputs=False, feature_dropout=0.0, dropout=0.0), basis)
    index, weights = torch.arange(len(data)), []
    label = torch.ones(len(data), 3)
    label[::2, 0] = 0
    for device in ("cpu", DEVICE):
        here = copy.deepcopy(net).to(device).train()
        optimizer = torch.optim.SGD(here.parameters(), lr=0.1)
        stepper = Stepper(here, copy.deepcopy(here), optimizer, None, by_torch=True)
        loss = stepper(data.to(device), index, label, int(data.sizes.max()), 0.9, seed=0, epoch=0)
        weights.append([loss.cpu(), *(p.detach().cpu() for p in here.parameters())])
    for cpu, gpu in zip(*weights, strict=True):
        torch.testing.assert_close(gpu, cpu, atol=2e-4, rtol=1e-3)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_eigenpairs_of_a_matrix_on_the_gpu():
    graph = nx.random_regular_graph(4, 500, seed=0)
    L, rng = nx.laplacian_matrix(graph).toarray().astype(float), np.random.default_rng(0)
    C, weight = rng.normal(size=(500, 2)), rng.random(500) + 0.5
    exact = oracle.eigenvalues(L, C)[:5]
    dense, columns = torch.tensor(L).to(DEVICE), torch.tensor(C).to(DEVICE)
    for given in (dense, dense.to_sparse(), dense.to_sparse_csr()):
        for constraint in (columns, columns.cpu(), columns.to_sparse(), C):
            found = constrained_eigsh(given, constraint, k=5)
            assert found.values.device.type == found.vectors.device.type == DEVICE
            assert found.converged.all()
            np.testing.assert_allclose(found.values.cpu(), exact, atol=1e-7)
            assert (columns.T @ found.vectors).abs().max() < 1e-9
    options = {"k": 5, "M": torch.tensor(weight).to(DEVICE)}
    here = constrained_eigsh(scipy.sparse.csr_array(L), C, k=5, M=weight)
    np.testing.assert_allclose(constrained_eigsh(dense, columns, **options).values.cpu(), here.values, atol=1e-7)
    near = torch.linalg.inv(dense + 0.1 * torch.eye(500, device=DEVICE, dtype=F64))
    helped = constrained_eigsh(dense, columns, k=5, preconditioner=(near + near.T) / 2)
    np.testing.assert_allclose(helped.values.cpu(), exact, atol=1e-7)


def test_a_function_on_the_gpu_is_served_from_the_cpu_or_told_so():
    L = torch.tensor(nx.laplacian_matrix(nx.random_regular_graph(4, 500, seed=0)).toarray(), dtype=F64).to(DEVICE)
    C = torch.ones(500, 1, dtype=F64)
    exact = oracle.eigenvalues(L.cpu().numpy(), C.numpy())[:4]
    for function in (lambda x: L @ x.to(L.device), lambda x: (L @ x.to(L.device)).cpu()):
        np.testing.assert_allclose(constrained_eigsh(function, C, k=4).values.cpu(), exact, atol=1e-7)
    with pytest.raises(InputError, match=r"on the CPU.*x\.to\("):
        constrained_eigsh(lambda x: L @ x, C, k=4)
