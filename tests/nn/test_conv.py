"""LLwLCConv: the formula with dense matrices, invariances, gradients, and PyG's manner."""

from dataclasses import replace

import networkx as nx
import pytest
import torch
from torch.autograd import gradcheck
from torch.func import functional_call
from torch_geometric.data import Data

import oracle
from graphs import batch_of, families
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.errors import InputError
from llwlc.linalg._basis import Eigenbasis
from llwlc.linalg._filter import spectral_filter
from llwlc.nn import LLwLCConv, SpectralMLP

F64 = torch.float64
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def ragged_basis(graphs=None) -> Eigenbasis:
    """Graphs of 1 to 40 nodes, so padding is long and many columns are dead."""
    subs = batch_of(list(families().values()) if graphs is None else graphs)
    return eigenbasis(subs, torch.ones(subs.num_nodes, 1), steps=6, start="random", dtype=F64)


def part(basis: Eigenbasis, b: int) -> Eigenbasis:
    """Graph b alone."""
    s = oracle.rows(basis, b)
    ptr = basis.ptr[b : b + 2] - basis.ptr[b]
    return Eigenbasis(basis.values[b : b + 1], basis.vectors[s], basis.mask[b : b + 1], basis.residual[b : b + 1], ptr)


def make_conv(*size: int, seed: int = 0, **options) -> LLwLCConv:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        conv = LLwLCConv(*size, **options).double()
        torch.nn.init.normal_(conv.bias)  # zero at first, and then nothing would be seen of it
    return conv


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("filters", [1, 3])
@pytest.mark.parametrize("skip", [False, True])
def test_block_is_the_sum_of_v_f_vt_x_w(filters, skip):
    basis, conv = ragged_basis(), make_conv(5, 4, num_filters=filters, skip=skip)
    x = randn(len(basis.vectors), 5)
    y = conv(x, basis)
    assert y.shape == (len(x), 4)
    for b in range(basis.num_graphs):
        s = oracle.rows(basis, b)
        V, live = basis.vectors[s], basis.mask[b].double()
        expected = conv.bias.expand(len(V), 4)
        f = conv.filter.layers(basis.values[b].unsqueeze(1))
        for i in range(filters):
            expected = expected + V @ torch.diag(f[:, i] * live) @ V.T @ x[s] @ conv.weight[5 * i : 5 * (i + 1)]
        if skip:
            expected = expected + x[s] @ conv.skip.weight.T
        torch.testing.assert_close(y[s], expected, **CLOSE)


def test_block_is_spectral_filter_then_w():
    basis, conv = ragged_basis(), make_conv(3, 4, num_filters=2)
    x = randn(len(basis.vectors), 3)
    filtered = spectral_filter(basis, lambda r: conv.filter.layers(r.unsqueeze(-1)), x)
    torch.testing.assert_close(conv(x, basis), filtered.flatten(1) @ conv.weight + conv.bias, **CLOSE)


def test_batch_equals_loop_and_padding_changes_nothing():
    basis, conv = ragged_basis(), make_conv(3, 4, num_filters=2, skip=True)
    x = randn(len(basis.vectors), 3)
    together = conv(x, basis)
    alone = [conv(x[oracle.rows(basis, b)], part(basis, b)) for b in range(basis.num_graphs)]
    torch.testing.assert_close(together, torch.cat(alone), **CLOSE)


def test_rows_move_with_their_nodes():
    basis, conv = ragged_basis([nx.gnp_random_graph(20, 0.3, seed=2)]), make_conv(3, 4, num_filters=2, skip=True)
    x, order = randn(20, 3), torch.randperm(20, generator=torch.Generator().manual_seed(1))
    moved = conv(x[order], replace(basis, vectors=basis.vectors[order]))
    torch.testing.assert_close(moved, conv(x, basis)[order], **CLOSE)


def test_sign_and_rotation_of_ritz_vectors_do_not_matter():
    """Only V f(R) Vᵀ is seen: signs are free, and so is the basis of a repeated eigenvalue's space."""
    subs = batch_of([nx.complete_graph(6)], [(0, 0)])
    basis, conv = eigenbasis(subs, torch.ones(6, 1), steps=6, start="random", dtype=F64), make_conv(3, 4)
    x = randn(6, 3)
    assert torch.allclose(conv(x, basis), conv(x, replace(basis, vectors=-basis.vectors)), atol=1e-12)
    full = Eigenbasis(torch.full((1, 5), 1.2, dtype=F64), _orthonormal(5), _on(5), torch.zeros(1, 5), basis.ptr)
    turned = replace(full, vectors=full.vectors @ torch.linalg.qr(randn(5, 5)).Q)
    torch.testing.assert_close(conv(x, turned), conv(x, full), **CLOSE)


def _orthonormal(k: int) -> torch.Tensor:
    return torch.linalg.qr(randn(6, k, seed=3)).Q


def _on(k: int) -> torch.Tensor:
    return torch.ones(1, k, dtype=torch.bool)


def test_gradients_with_respect_to_rows_and_every_parameter():
    basis = ragged_basis([nx.path_graph(4), nx.empty_graph(1), nx.cycle_graph(5)])
    conv = make_conv(2, 3, num_filters=2, hidden_channels=4, skip=True)
    names, values = zip(*conv.named_parameters(), strict=True)
    x = randn(10, 2).requires_grad_()

    def block(x, *parameters):
        return functional_call(conv, dict(zip(names, parameters, strict=True)), (x, basis))

    assert gradcheck(block, (x, *(p.detach().requires_grad_() for p in values)))


def test_dead_columns_contribute_nothing_whatever_their_values():
    basis, conv = ragged_basis(), make_conv(3, 4, num_filters=2)
    assert not basis.mask.all()
    x = randn(len(basis.vectors), 3)
    wild = replace(basis, values=torch.where(basis.mask, basis.values, 1e6))
    assert torch.equal(conv.filter(wild)[~basis.mask], torch.zeros(int((~basis.mask).sum()), 2, dtype=F64))
    assert torch.equal(conv(x, wild), conv(x, basis))
    dead = replace(basis, mask=torch.zeros_like(basis.mask), vectors=torch.zeros_like(basis.vectors))
    assert torch.equal(conv(x, dead), conv.bias.expand(len(x), 4))


def test_filter_sees_each_eigenvalue_alone():
    basis, f = ragged_basis(), SpectralMLP(3, hidden_channels=8).double()
    order = torch.randperm(6, generator=torch.Generator().manual_seed(0))
    shuffled = replace(basis, values=basis.values[:, order], mask=basis.mask[:, order])
    torch.testing.assert_close(f(shuffled), f(basis)[:, order], **CLOSE)


def test_dropout_only_in_training():
    basis, conv = ragged_basis(), make_conv(3, 4, dropout=0.5)
    x = randn(len(basis.vectors), 3)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        assert not torch.equal(conv(x, basis), conv(x, basis))
    conv.eval()
    assert torch.equal(conv(x, basis), conv(x, basis))


def test_what_other_layers_take_is_refused_by_name():
    conv = LLwLCConv(2, 2)
    for given in (torch.tensor([[0, 1], [1, 0]]), Data(num_nodes=3), None):
        with pytest.raises(InputError, match=rf"got {type(given).__name__}: Eigenbasis\.from_batch"):
            conv(torch.ones(3, 2), given)


def test_another_dtype_or_device_is_named_with_its_owner():
    basis = ragged_basis()
    x = randn(len(basis.vectors), 2)
    single = basis.to(dtype=torch.float32)
    for conv, given, rows in (
        (LLwLCConv(2, 2), basis, x.float()),
        (LLwLCConv(2, 2), single, x),
        (LLwLCConv(2, 2), single, x.long()),
        (LLwLCConv(2, 2).double(), single, x),
    ):
        said = f"x is {rows.dtype}, the basis {given.vectors.dtype}, the layer {conv.weight.dtype}: give them one"
        with pytest.raises(InputError, match=said):
            conv(rows, given)
    with pytest.raises(InputError, match=r"x is on meta, the basis on cpu, the layer on cpu.*basis\.to\(device"):
        make_conv(2, 2)(x.to("meta"), basis)
    with torch.autocast("cpu", dtype=torch.bfloat16):  # it brings dtypes together by itself
        assert LLwLCConv(2, 2)(x.bfloat16(), single).isfinite().all()


def test_the_layer_prints_and_resets_as_layers_of_pyg_do():
    conv = LLwLCConv(16, 32, num_filters=4, skip=True)
    assert str(conv) == "LLwLCConv(16, 32, num_filters=4)"
    assert (conv.in_channels, conv.out_channels) == (16, 32)
    with torch.random.fork_rng():
        draws = []
        for seed in (7, 7, 8):
            torch.manual_seed(seed)
            conv.reset_parameters()
            draws.append({k: v.clone() for k, v in conv.state_dict().items()})
    assert all(torch.equal(draws[0][k], draws[1][k]) for k in draws[0])
    # every parameter is drawn again, the bias alone begins at zero
    assert {k for k in draws[0] if torch.equal(draws[0][k], draws[2][k])} == {"bias"}
