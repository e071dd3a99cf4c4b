"""The reference on CUDA: the same bases, filters and gradients as on the CPU."""

from dataclasses import fields, replace

import networkx as nx
import pytest
import torch

from graphs import batch_of, families
from llwlc import constraints
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.linalg._filter import spectral_filter
from llwlc.linalg._lanczos import constrained_lanczos

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")]
F64 = torch.float64


def to_cuda(x):
    """A dataclass of tensors, moved."""
    tensors = {f.name: getattr(x, f.name) for f in fields(x)}
    return replace(x, **{k: v.cuda() for k, v in tensors.items() if isinstance(v, torch.Tensor)})


def test_bases_and_filters_agree():
    subs = batch_of(list(families().values()))
    there = to_cuda(subs)
    x = torch.randn(subs.num_nodes, 2, dtype=F64, generator=torch.Generator().manual_seed(0))
    for make in (constraints.neumann, lambda s: constraints.vertex_deleted(s, count=3)):
        for start in ("query", "random", "constraint", x):
            for complete in (False, True):
                options = {"dtype": F64, "complete": complete}
                here = eigenbasis(subs, make(subs), start=start, **options)
                moved = start.cuda() if isinstance(start, torch.Tensor) else start
                cuda = eigenbasis(there, make(there), start=moved, **options)
                torch.testing.assert_close(cuda.mask.cpu(), here.mask)
                torch.testing.assert_close(cuda.values.cpu(), here.values, atol=1e-9, rtol=0)
                if complete or start is x:
                    y = spectral_filter(cuda, lambda r: torch.exp(-r), x.cuda())
                    torch.testing.assert_close(
                        y.cpu(), spectral_filter(here, lambda r: torch.exp(-r), x), atol=1e-8, rtol=0
                    )


def test_gradients_on_cpu_and_gpu_agree():
    graph = nx.gnp_random_graph(14, 0.4, seed=2)
    nx.set_edge_attributes(graph, 1.0, "w")
    subs = batch_of([graph, nx.Graph(graph)], weight="w")
    x = torch.randn(28, 1, dtype=F64, generator=torch.Generator().manual_seed(0))
    for options in ({"steps": 4}, {"steps": 14}, {"complete": True}):
        grads = []
        for device in ("cpu", "cuda"):
            s = subs if device == "cpu" else to_cuda(subs)
            weight, columns = s.weight.clone().requires_grad_(), x.flip(0).to(device).requires_grad_()
            basis = eigenbasis(replace(s, weight=weight), columns, start=x.to(device), dtype=F64, **options)
            y = spectral_filter(basis, lambda r: torch.exp(-r), x.to(device))
            grads.append(torch.autograd.grad(y.square().sum(), (weight, columns)))
        for cpu, cuda in zip(*grads, strict=True):
            torch.testing.assert_close(cuda.cpu(), cpu, atol=1e-8, rtol=0)


def test_bases_of_one_matrix_on_cpu_and_gpu_agree():
    L = torch.tensor(nx.laplacian_matrix(nx.gnp_random_graph(20, 0.3, seed=0)).toarray(), dtype=F64)
    C = torch.ones(20, 1, dtype=F64)
    for options in (
        {},
        {"start": "constraint"},
        {"start": "query", "query": (0, 5)},
        {"projector": "lsqr"},
        {"complete": True},
    ):
        columns = torch.arange(20, dtype=F64)[:, None] if options.get("start") == "constraint" else C
        here = constrained_lanczos(L, columns, steps=6, **options)
        there = constrained_lanczos(L.cuda(), columns.cuda(), steps=6, **options)
        assert there.vectors.is_cuda
        torch.testing.assert_close(there.values.cpu(), here.values, atol=1e-9, rtol=0)
