"""Can this basis be trusted? Orthogonality, constraints, breakdown and convergence in one call, with advice in
words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from llwlc._support.ragged import pointer
from llwlc.errors import InputError
from llwlc.linalg._basis import Eigenbasis

CHUNK = 256
LIMIT = {torch.float32: 1e-6, torch.float64: 1e-12}
"""Limits for a sound basis, by its dtype: for |VᵀV − I| and for |CᵀV| with unit columns."""


class HasColumns(Protocol):
    """Anything that has constraint columns `columns [N, k]`."""

    @property
    def columns(self) -> Tensor: ...


@dataclass(frozen=True, eq=False)
class Health:
    """What was measured, in float64, on the live columns of a basis of B graphs.

    Shapes, all `[B]`: `orthogonality` max |VᵀV − I|; `constraint` max |CᵀV|, columns of C normalised, 0 without
    constraints; `residual` the largest ‖PLPv − λv‖; `live` the number of live columns; `finite` false where an entry is
    NaN or infinite. `steps` is κ, `limit` what the first two should keep to.

    >>> from llwlc.linalg import constrained_lanczos
    >>> found = health(constrained_lanczos(torch.diag(torch.arange(5.0)), steps=3, start=torch.ones(5)))
    >>> found.ok, found.breakdowns, found.advice
    (True, 0, ())
    """

    orthogonality: Tensor
    constraint: Tensor
    residual: Tensor
    live: Tensor
    finite: Tensor
    steps: int
    limit: float

    @property
    def num_graphs(self) -> int:
        """The number of graphs B."""
        return len(self.live)

    @property
    def breakdowns(self) -> int:
        """Graphs whose Krylov space was exhausted before κ columns."""
        return int((self.live < self.steps).sum())

    @property
    def empty(self) -> int:
        """Graphs without any live column: the constraints leave nothing, or the start lies outside their null space."""
        return int((self.live == 0).sum())

    @property
    def share_live(self) -> float:
        """The share of the B·κ columns that are live."""
        return self.live.double().mean().item() / self.steps if self.num_graphs and self.steps else 0.0

    @property
    def ok(self) -> bool:
        """Finite, orthonormal and inside the null space, to within the limit. A breakdown (an exhausted Krylov space)
        is not a fault.
        """
        worst = max(_worst(self.orthogonality), _worst(self.constraint))
        return bool(self.finite.all()) and worst <= self.limit

    @cached_property
    def advice(self) -> tuple[str, ...]:
        """What to do about each fault, the most urgent first; empty for a sound basis."""
        advice = []
        if not self.finite.all():
            bad = (~self.finite).nonzero()[:, 0].tolist()
            advice.append(
                f"{len(bad)} graphs (the first is {bad[0]}) have NaN or infinite entries: look for them in the edge"
                " weights and constraint columns of these graphs, and leave the graphs out until then"
            )
        if _worst(self.orthogonality) > self.limit:
            advice.append(
                "columns are not orthonormal: filters V f(R) Vᵀ count some directions twice. Compute the basis with"
                " joint reorthogonalisation (constrained_lanczos, eigenbasis), in float64, and do not edit its vectors"
                " afterwards"
            )
        if _worst(self.constraint) > self.limit:
            advice.append(
                "vectors leave the null space of the constraints: check that these are the columns the basis was"
                " computed with, and that the basis was not projected only once per step; float64 helps beside hubs"
            )
        if self.empty:
            advice.append(
                f"{self.empty} of {self.num_graphs} graphs have no live column: the constraints leave nothing there or"
                " the start lies in their span. Use fewer constraints, or a start of another kind; such a graph"
                " filters to 0"
            )
        if self.num_graphs and self.share_live < 0.5:
            advice.append(
                f"only {self.share_live:.0%} of the columns are live: the graphs are smaller or more symmetric than κ ="
                f" {self.steps}. Fewer steps give the same filters in less memory"
            )
        return tuple(advice)

    def __str__(self) -> str:
        head = "sound" if self.ok else "NOT sound"
        lines = [
            f"{head}: {self.num_graphs} graphs, κ = {self.steps}",
            f"  orthogonality loss   {_worst(self.orthogonality):.1e}  (limit {self.limit:.0e})",
            f"  constraint residual  {_worst(self.constraint):.1e}  (limit {self.limit:.0e})",
            (
                f"  Ritz residual        {_worst(self.residual):.1e} at worst, {_median(self.residual):.1e} in the"
                " median graph"
            ),
            (
                f"  live columns         {self.share_live:.1%}; breakdown in {self.breakdowns} graphs, {self.empty} of"
                " them without any"
            ),
        ]
        return "\n".join([*lines, *(f"- {a}" for a in self.advice)])


def health(basis: Eigenbasis, cons: HasColumns | Tensor | None = None) -> Health:
    """Measure a basis: is it orthonormal, inside the null space, finite, converged?

    Args:
        basis: B graphs, N rows.
        cons: the constraints that it was computed under, or bare columns `[N, k]`, or None for none.

    Returns:
        A `Health` with one number for each graph, `[B]`, a verdict (`ok`) and `advice`; printed, it is a summary.

    >>> vectors, mask = torch.tensor([[0.6], [0.8]], dtype=torch.float64), torch.ones(1, 1, dtype=torch.bool)
    >>> basis = Eigenbasis(torch.zeros(1, 1), vectors, mask,
    ...                    torch.zeros(1, 1), torch.tensor([0, 2]))
    >>> print(health(basis, torch.tensor([[4.0], [-3.0]])))
    sound: 1 graphs, κ = 1
      orthogonality loss   0.0e+00  (limit 1e-12)
      constraint residual  0.0e+00  (limit 1e-12)
      Ritz residual        0.0e+00 at worst, 0.0e+00 in the median graph
      live columns         100.0%; breakdown in 0 graphs, 0 of them without any
    """
    V = basis.vectors.detach().double()
    C = _columns(cons, V)
    count = basis.num_graphs
    graph = torch.repeat_interleave(torch.arange(count, device=V.device), basis.ptr.diff())
    finite = basis.values.detach().isfinite().all(1)
    finite[graph[~(V.isfinite().all(1) & C.isfinite().all(1))]] = False
    V, C = torch.where(finite[graph, None], V, 0), _unit(torch.where(finite[graph, None], C, 0), graph, count)
    mask = basis.mask & finite[:, None]
    identity = torch.eye(basis.steps, dtype=V.dtype, device=V.device)
    orthogonality, constraint = V.new_zeros(count), V.new_zeros(count)
    for i in range(basis.steps):  # a column at a time: [N, κ] of memory, not [N, κ, κ]
        gram = (_products(V, V[:, i], graph, count) - identity[i]).abs() * mask * mask[:, i : i + 1]
        orthogonality = torch.maximum(orthogonality, gram.amax(1))
        constraint = torch.maximum(constraint, _largest(_products(C, V[:, i], graph, count).abs()))
    residual = _largest(torch.where(mask, basis.residual.detach().double(), 0))
    limit = LIMIT[basis.vectors.dtype]
    return Health(orthogonality, constraint, residual, mask.sum(1), finite, basis.steps, limit)


def _columns(cons: HasColumns | Tensor | None, V: Tensor) -> Tensor:
    if cons is None:
        return V.new_zeros(len(V), 0)
    columns = cons if isinstance(cons, Tensor) else cons.columns
    if len(columns) != len(V):
        raise InputError(
            f"cons: {len(columns)} rows for a basis of {len(V)} nodes; give the constraints it was made with"
        )
    return columns.detach().to(V).reshape(len(V), -1)


def _largest(x: Tensor) -> Tensor:
    """The largest entry of each row, 0 where there are none."""
    return x.amax(1) if x.shape[1] else x.new_zeros(len(x))


def _products(V: Tensor, x: Tensor, graph: Tensor, count: int) -> Tensor:
    """xᵀV of every graph, `[B, κ]`, summed in two levels: adding 1e5 terms one by one loses 1e-12 on its own."""
    size = torch.bincount(graph, minlength=count)
    local = torch.arange(len(graph), device=graph.device) - pointer(size)[graph]
    chunks = (size + CHUNK - 1) // CHUNK
    cell = pointer(chunks)[graph] + local // CHUNK
    partial = V.new_zeros(int(chunks.sum()), V.shape[1]).index_add(0, cell, V * x[:, None])
    owner = torch.repeat_interleave(torch.arange(count, device=graph.device), chunks)
    return V.new_zeros(count, V.shape[1]).index_add(0, owner, partial)


def _unit(C: Tensor, graph: Tensor, count: int) -> Tensor:
    """Columns of norm 1 in every graph, zero where they vanish."""
    where = graph[:, None].expand_as(C)
    largest = C.new_zeros(count, C.shape[1]).scatter_reduce(0, where, C.abs(), "amax")[graph]
    C = C / torch.where(largest > 0, largest, 1)  # squares of 1e200 would overflow
    norm = C.new_zeros(count, C.shape[1]).index_add(0, graph, C * C).sqrt()[graph]
    return C / torch.where(norm > 0, norm, 1)


def _worst(x: Tensor) -> float:
    return x.max().item() if len(x) else 0.0


def _median(x: Tensor) -> float:
    return x.median().item() if len(x) else 0.0
