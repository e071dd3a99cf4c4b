"""The health report sees each illness, measures it rightly, and says what to do."""

from dataclasses import replace

import networkx as nx
import pytest
import torch

from graphs import batch_of, families, hub_and_leaves
from llwlc import constraints
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.errors import InputError
from llwlc.linalg._basis import Eigenbasis
from llwlc.linalg._health import health


@pytest.fixture
def subs():
    return batch_of(list(families().values()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["none", "neumann", "vertex_deleted", "neumann+vertex_deleted"])
@pytest.mark.parametrize("start", ["query", "random"])
def test_our_bases_are_sound(subs, dtype, name, start):
    cons = constraints.by_name(subs, name, count=3)
    report = health(eigenbasis(subs, cons, steps=8, start=start, dtype=dtype), cons)
    assert report.ok, str(report)
    assert str(report).startswith("sound: 10 graphs, κ = 8")


def test_numbers_equal_a_loop(subs):
    cons = constraints.neumann(subs)
    basis = eigenbasis(subs, cons, steps=6, dtype=torch.float64)
    noise = torch.randn(basis.vectors.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    basis = replace(basis, vectors=basis.vectors + 1e-3 * noise * basis.mask[subs.graph])
    report = health(basis, cons)
    for b in range(subs.num_graphs):
        rows = slice(int(subs.ptr[b]), int(subs.ptr[b + 1]))
        live = basis.mask[b]
        V, C = basis.vectors[rows][:, live], cons.columns[rows]
        C = C[:, C.norm(dim=0) > 0]
        gram = (V.mT @ V - torch.eye(int(live.sum()))).abs()
        leak = (C.mT @ V / C.norm(dim=0)[:, None]).abs()
        assert report.orthogonality[b].item() == pytest.approx(gram.max().item() if gram.numel() else 0)
        assert report.constraint[b].item() == pytest.approx(leak.max().item() if leak.numel() else 0)
        assert report.residual[b].item() == basis.residual[b].max().item()
    assert torch.equal(report.live, basis.mask.sum(1))
    assert report.breakdowns == int((basis.mask.sum(1) < 6).sum())


def test_lost_orthogonality_is_named(subs):
    basis = eigenbasis(subs, None, steps=6)
    report = health(replace(basis, vectors=basis.vectors * 1.01))
    assert not report.ok
    assert report.orthogonality.max().item() == pytest.approx(1.01**2 - 1, rel=1e-3)
    assert "NOT sound" in str(report)
    assert "reorthogonalisation" in report.advice[0]


def test_constraints_of_another_basis_are_noticed(subs):
    basis = eigenbasis(subs, constraints.neumann(subs), steps=6)
    report = health(basis, constraints.vertex_deleted(subs, count=2))
    assert not report.ok
    assert "columns the basis was computed with" in report.advice[0]


def test_an_empty_null_space_is_counted_and_no_illness():
    subs = batch_of([nx.cycle_graph(5), nx.complete_graph(4)])
    cons = constraints.vertex_deleted(subs, count="all")
    report = health(eigenbasis(subs, cons, steps=4), cons)
    assert report.ok
    assert (report.empty, report.breakdowns, report.share_live) == (2, 2, 0.0)
    assert "Use fewer constraints" in report.advice[0]
    assert "Fewer steps" in report.advice[1]


@pytest.mark.parametrize("where", ["vectors", "values", "columns"])
def test_one_sick_graph_does_not_hide_the_others(subs, where):
    cons = constraints.neumann(subs)
    basis = eigenbasis(subs, cons, steps=6)
    if where == "columns":
        columns = cons.columns.clone()
        columns[3] = torch.nan
        cons = replace(cons, columns=columns)
    else:
        sick = getattr(basis, where).clone()
        sick[0, 0] = torch.inf
        basis = replace(basis, **{where: sick})
    report = health(basis, cons)
    assert report.finite.tolist() == [False] + [True] * 9
    assert not report.ok
    assert "1 graphs (the first is 0)" in report.advice[0]
    assert report.constraint.max() < 1e-6


def test_an_empty_batch_has_a_report():
    nothing = torch.zeros(0, 3)
    report = health(Eigenbasis(nothing, nothing, nothing.bool(), nothing, torch.tensor([0])))
    assert report.ok
    assert "0 graphs" in str(report)


def test_wrong_rows_are_named(subs):
    with pytest.raises(InputError, match="cons: 3 rows"):
        health(eigenbasis(subs, None, steps=2), torch.ones(3, 1))


def test_a_hub_of_a_hundred_thousand_is_measured_without_rounding_of_its_own():
    subs = hub_and_leaves(100_000)
    cons = constraints.neumann(subs)
    report = health(eigenbasis(subs, cons, dtype=torch.float64), cons)
    assert report.ok, str(report)
