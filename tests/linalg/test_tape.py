"""Tape: what a basis keeps for gradients survives devices, selection and concatenation."""

from dataclasses import replace

import networkx as nx
import pytest
import torch

from graphs import batch_of
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.errors import InputError
from llwlc.linalg._basis import Eigenbasis
from llwlc.linalg._filter import spectral_filter
from llwlc.linalg._tape import Tape

F64 = torch.float64


def heat(r: torch.Tensor) -> torch.Tensor:
    return torch.exp(-r)


def learned_basis(graphs, *, seed=0, complete=True):
    """A basis under columns that want gradients, and these."""
    subs = batch_of(graphs)
    generator = torch.Generator().manual_seed(seed)
    columns = torch.randn(subs.num_nodes, 1, dtype=F64, generator=generator).requires_grad_()
    return columns, eigenbasis(subs, columns, complete=complete, steps=4, dtype=F64)


def gradient(basis, columns, x):
    return torch.autograd.grad(spectral_filter(basis, heat, x).square().sum(), columns)[0]


def rows_of(basis, graphs):
    return torch.cat([torch.arange(basis.ptr[g], basis.ptr[g + 1]) for g in graphs])


@pytest.mark.parametrize("order", [[2, 0], [1], [0, 1, 2], [1, 1]])
def test_selected_graphs_have_the_gradients_they_had_in_the_batch(order):
    columns, basis = learned_basis([nx.path_graph(4), nx.cycle_graph(6), nx.star_graph(4)])
    index = torch.tensor(order)
    rows = rows_of(basis, order)
    sizes = basis.ptr.diff()[index]
    ptr = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    part = Eigenbasis(
        basis.values[index],
        basis.vectors[rows],
        basis.mask[index],
        basis.residual[index],
        ptr,
        basis.tape.select(index),
    )
    x = torch.arange(len(columns), dtype=F64)
    weight = torch.bincount(index, minlength=3).double()
    each = torch.repeat_interleave(weight.sqrt(), basis.ptr.diff())
    torch.testing.assert_close(gradient(part, columns, x[rows]), gradient(basis, columns, x * each))


def test_concatenated_tapes_have_the_gradients_of_their_parts():
    a, left = learned_basis([nx.path_graph(4), nx.cycle_graph(5)])
    b, right = learned_basis([nx.star_graph(3)], seed=1)
    width = max(left.steps, right.steps)

    def wide(name):
        return [torch.nn.functional.pad(getattr(p, name), (0, width - p.steps)) for p in (left, right)]

    ptr = torch.cat([left.ptr, right.ptr[1:] + left.ptr[-1]])
    fields = [torch.cat(wide(name)) for name in ("values", "vectors", "mask", "residual")]
    whole = Eigenbasis(*fields, ptr, Tape.concat([left.tape, right.tape]))
    x = torch.arange(float(ptr[-1]), dtype=F64)
    torch.testing.assert_close(gradient(whole, a, x), gradient(left, a, x[: left.ptr[-1]]))
    torch.testing.assert_close(gradient(whole, b, x), gradient(right, b, x[left.ptr[-1] :]))


def test_concatenation_of_what_was_computed_differently_is_refused():
    _, complete = learned_basis([nx.path_graph(4)])
    _, cut = learned_basis([nx.path_graph(4)], complete=False)
    with pytest.raises(InputError, match="computed alike"):
        Tape.concat([complete.tape, cut.tape])
    with pytest.raises(InputError, match="computed alike"):
        Tape.concat([complete.tape, None])
    assert Tape.concat([None, None]) is None


def test_concatenation_pads_columns_of_c():
    subs = batch_of([nx.path_graph(5)])
    wide = torch.randn(5, 2, dtype=F64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    two = eigenbasis(subs, wide, complete=True, dtype=F64)
    _, one = learned_basis([nx.cycle_graph(6)])
    tape = Tape.concat([one.tape, two.tape])
    assert tape.columns.shape == (11, 2)
    assert tape.select(torch.tensor([1])).columns.equal(two.tape.columns)


def test_a_moved_tape_sends_gradients_back():
    columns, basis = learned_basis([nx.cycle_graph(5)])
    moved = replace(basis, tape=basis.tape.to("cpu"))
    x = torch.arange(5.0, dtype=F64)
    assert torch.equal(gradient(moved, columns, x), gradient(basis, columns, x))
