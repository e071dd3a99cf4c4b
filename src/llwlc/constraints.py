"""Linear constraints Cᵀf = 0 on the signals of enclosing subgraphs, each column a statement about a part of the graph.

A new constraint is one small function from subgraphs to `Constraints`; `custom` wraps its columns, `stack` and `combine`
compose it with the others, and a line in `FAMILIES` gives it a name for the command line. Common neighbours of the pair, for
example, made to sum to zero:

    def common_neighbours(subs):
        both = (subs.dist_u == 1) & (subs.dist_v == 1)
        return custom(subs, both.double(), names=("common",))

What to know when writing one:
- a row for each node of the batch (N in all), a column for each constraint; `subs.graph` says which graph a node belongs to, and
  no entry mixes graphs. A graph that a constraint does not speak of has a zero column there, which constrains nothing;
- only the span of the columns matters: neither scale, sign nor order, so a *learnable* constraint is a learnable combination of
  columns (`combine`), while a learnable factor on one column changes nothing at all. Dependent columns do no harm;
- build it from tensor operations on `subs.weight` and gradients with respect to edge weights come for free;
- randomness comes from `llwlc.counter`, so that a draw belongs to a link and never depends on the batch;
- columns are float64: a column's null space is lost long before a float32 basis is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from llwlc.counter import draw
from llwlc.errors import InputError
from llwlc.subgraphs import Subgraphs, symmetric_weight

Count = int | Literal["all"]
STREAM = 2
"""The stream of `counter.draw` for deleted vertices; starts (0) and capped hops (1) have others."""


@dataclass(frozen=True, eq=False)
class Constraints:
    """The columns of C for a ragged batch of B graphs with N nodes in all.

    Shapes: `columns [N, k]` float64, a zero column where a graph has no such constraint; `ptr [B + 1]`, graph b owns the rows
    `ptr[b]` to `ptr[b + 1]`; `names`, one for each column; `deleted [N]` true at deleted vertices, only where *all* columns are
    vertex-deleted ones, since then the projector has a closed form; `cut [B]` true where a graph was too small for the number
    of constraints asked for.
    """

    columns: Tensor
    ptr: Tensor
    names: tuple[str, ...]
    cut: Tensor
    deleted: Tensor | None = None

    @property
    def num_graphs(self) -> int:
        return len(self.ptr) - 1

    @property
    def count(self) -> int:
        """k, the number of columns."""
        return self.columns.shape[1]

    @property
    def share_cut(self) -> float:
        """The share of graphs that got fewer constraints than asked for."""
        return self.cut.double().mean().item() if len(self.cut) else 0.0

    def __repr__(self) -> str:
        names = ", ".join(self.names[:4]) + (", …" if self.count > 4 else "")
        cut = f", cut in {self.share_cut:.1%} of the graphs" if self.share_cut else ""
        return f"Constraints({self.count} columns [{names}], {self.num_graphs} graphs{cut})"


def none(subs: Subgraphs) -> Constraints:
    """No constraint: k = 0, and the projector is the identity."""
    return custom(subs, torch.zeros(subs.num_nodes, 0, dtype=torch.float64, device=subs.ptr.device), names=())


def custom(subs: Subgraphs, columns: Tensor | np.ndarray, *, names: Sequence[str] | None = None) -> Constraints:
    """Any columns: `[N]` for one, `[N, k]` for k.

    >>> from llwlc.subgraphs import Subgraphs
    >>> one, ends = torch.zeros(2, dtype=torch.long), torch.tensor([0, 1])
    >>> subs = Subgraphs(torch.tensor([0, 2]), ends, one[:0], one[:0], None, ends[:1], ends[1:], one, one, one)
    >>> custom(subs, torch.ones(2), names=["mean zero"])
    Constraints(1 columns [mean zero], 1 graphs)
    """
    columns = torch.as_tensor(columns)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or len(columns) != subs.num_nodes:
        raise InputError(
            f"columns: shape {tuple(columns.shape)} does not fit {subs.num_nodes} nodes in the batch; "
            "give one row for each node, [N] or [N, k]"
        )
    if not torch.isfinite(columns).all():
        raise InputError(
            "columns: contains NaN or infinity; a constraint needs finite entries, zero where it says nothing"
        )
    names = tuple(names) if names is not None else tuple(f"custom_{i}" for i in range(columns.shape[1]))
    if len(names) != columns.shape[1]:
        raise InputError(f"names: {len(names)} names for {columns.shape[1]} columns; give one for each")
    cut = torch.zeros(subs.num_graphs, dtype=torch.bool, device=subs.ptr.device)
    return Constraints(columns.to(subs.ptr.device, torch.float64), subs.ptr, names, cut)


def neumann(subs: Subgraphs, *, boundary: bool = True, degree: bool = True) -> Constraints:
    """The two Neumann conditions around the query pair: S its one-hop nodes, δS the two-hop nodes adjacent to S.

    `boundary`: Σ (f(y) − f(x)) = 0 over the edges between y ∈ S and x ∈ δS. The entry of a node is the number of S–δS edges at it,
    positive on S, negative on δS: not its degree, as the paper's text has it, against its own equation and examples.
    `degree`: Σ_{x∈S} d_x f(x) = 0, with the degrees inside the enclosing subgraph. With edge weights, sums of weights take the
    place of counts. Where S or δS is empty, the column is zero.
    """
    columns, names = [], []
    if boundary:
        across = (subs.hop[subs.row] == 1) & (subs.hop[subs.col] == 2)
        weight = _weight(subs) * across
        zero = torch.zeros(subs.num_nodes, dtype=torch.float64, device=subs.ptr.device)
        columns.append(zero.index_add(0, subs.row, weight).index_add(0, subs.col, -weight))
        names.append("neumann_boundary")
    if degree:
        columns.append(_degree(subs) * (subs.hop == 1))
        names.append("neumann_degree")
    return custom(subs, torch.stack(columns, 1), names=names) if columns else none(subs)


def vertex_deleted(subs: Subgraphs, *, count: Count = 10, seed: int = 0, epoch: int = 0) -> Constraints:
    """One column for each of `count` vertices drawn at random: the degrees in the subgraph, zero at the deleted vertex.

    Every node of the subgraph may be drawn, the query nodes too, as the paper excludes none. In a graph of n nodes at most
    ⌊n/2⌋ are, since n columns leave nothing of the null space; `cut` marks the graphs where that was fewer than asked for. "all"
    deletes every vertex in turn, without that limit. The vertices with the lowest (signed) hashes of (seed, epoch, pair, node)
    are chosen, so a draw belongs to the link: neither the batch nor the order of nodes or pair changes it.
    """
    # of a string "5" the repr has quotes, of numpy's 5 the str is plain
    if count != "all" and not (str(count).isdigit() and "'" not in repr(count)):
        raise InputError(f'count: must be a number of vertices, 0 or more, or "all", got {count!r}')
    size = subs.ptr.diff()
    take = size if count == "all" else (size // 2).clamp(max=count)
    u, v = subs.node[subs.u][subs.graph], subs.node[subs.v][subs.graph]
    bits = draw(seed, epoch, torch.minimum(u, v), torch.maximum(u, v), subs.node, STREAM)
    order = bits.argsort()
    order = order[subs.graph[order].argsort(stable=True)]
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device) - subs.ptr[subs.graph]
    width = int(take.max()) if len(take) else 0
    slot = torch.arange(width, device=order.device)
    live = (slot < take[subs.graph, None]) & (slot != rank[:, None])
    cons = custom(subs, _degree(subs)[:, None] * live, names=[f"vertex_deleted_{i}" for i in range(width)])
    cut = cons.cut if count == "all" else take < count
    return replace(cons, deleted=rank < take[subs.graph], cut=cut)


def induced(
    subs: Subgraphs, sets: Tensor | Sequence[Iterable[int]], *, names: Sequence[str] | None = None
) -> Constraints:
    """Σ_{x∈S} d_x f(x) = 0 for any node sets S: the degrees (in the whole subgraph) on S, zero elsewhere.

    `sets` is a mask `[N]` or `[N, k]`, or a list of k sets of node ids of the graph, each cut down to what a subgraph holds of it.
    """
    if isinstance(sets, Tensor):
        if sets.dtype != torch.bool:
            raise InputError(
                f"sets: a mask must be boolean, got {sets.dtype}; for ids give a list of sets, [[3, 7], [9]]"
            )
        mask = sets[:, None] if sets.ndim == 1 else sets
    else:
        if not all(isinstance(s, Iterable) and not isinstance(s, str) for s in sets):
            raise InputError("sets: give a list of sets of node ids, [[3, 7], [9]]; one set alone is [[3, 7]]")
        ids = [torch.tensor(list(s), dtype=torch.long, device=subs.node.device) for s in sets]
        mask = (
            torch.stack([torch.isin(subs.node, i) for i in ids], 1) if ids else subs.node.new_zeros(len(subs.node), 0)
        )
    if len(mask) != subs.num_nodes:
        raise InputError(
            f"sets: a mask of {len(mask)} rows for {subs.num_nodes} nodes in the batch; give one row for each"
        )
    names = names if names is not None else [f"induced_{i}" for i in range(mask.shape[1])]
    return custom(subs, _degree(subs)[:, None] * mask.to(subs.ptr.device), names=names)


def stack(*cons: Constraints) -> Constraints:
    """All columns side by side: a signal has to satisfy every one of them."""
    if not cons:
        raise InputError("stack: needs at least one set of constraints; for no constraint at all use none(subs)")
    if any(not torch.equal(c.ptr, cons[0].ptr) for c in cons):
        raise InputError("stack: constraints of different batches; build all of them from the same subgraphs")
    parts = [c for c in cons if c.count] or [cons[0]]
    deleted = [c.deleted for c in parts if c.deleted is not None]
    return Constraints(
        torch.cat([c.columns for c in parts], 1),
        cons[0].ptr,
        tuple(name for c in parts for name in c.names),
        torch.stack([c.cut for c in cons]).any(0),
        torch.stack(deleted).any(0) if len(deleted) == len(parts) else None,
    )


def combine(cons: Constraints, weights: Tensor) -> Constraints:
    """C·W, the columns mixed by `weights` `[k]` (into one column) or `[k, m]` (into m): a learnable constraint.

    Differentiable in both. The null space of one column c₁w₁ + c₂w₂ depends on the direction of w, not on its length.
    """
    weights = weights[:, None] if weights.ndim == 1 else weights
    if weights.ndim != 2 or len(weights) != cons.count:
        raise InputError(
            f"weights: shape {tuple(weights.shape)} for {cons.count} columns; give [k] or [k, m], k = {cons.count}"
        )
    names = tuple(f"combined_{i}" for i in range(weights.shape[1]))
    return replace(cons, columns=cons.columns @ weights.to(cons.columns), names=names, deleted=None)


FAMILIES: dict[str, Callable[[Subgraphs, Count, int, int], Constraints]] = {
    "none": lambda subs, count, seed, epoch: none(subs),
    "neumann": lambda subs, count, seed, epoch: neumann(subs),
    "neumann_boundary": lambda subs, count, seed, epoch: neumann(subs, degree=False),
    "neumann_degree": lambda subs, count, seed, epoch: neumann(subs, boundary=False),
    "vertex_deleted": lambda subs, count, seed, epoch: vertex_deleted(subs, count=count, seed=seed, epoch=epoch),
}
"""The names that strings resolve to, with (subgraphs, count, seed, epoch); only vertex-deleted constraints use the last three."""


def by_name(subs: Subgraphs, name: str, *, count: Count = 10, seed: int = 0, epoch: int = 0) -> Constraints:
    """The constraints that a string names: one of `FAMILIES`, or several joined by "+", as in "neumann+vertex_deleted"."""
    parts = [part.strip() for part in name.split("+")]
    unknown = [part for part in parts if part not in FAMILIES]
    if unknown:
        raise InputError(
            f'constraints: unknown name {unknown[0]!r}; choose from {", ".join(FAMILIES)}, or join some by "+"'
        )
    return stack(*(FAMILIES[part](subs, count, seed, epoch) for part in parts))


def _weight(subs: Subgraphs) -> Tensor:
    """Edge weights `[E]` in float64, 1 where there are none; as in the Laplacian, an edge is one parameter where gradients are asked for."""
    if subs.weight is not None and not subs.weight.requires_grad:
        return subs.weight.double()  # both directions are the same already
    return symmetric_weight(subs)


def _degree(subs: Subgraphs) -> Tensor:
    """Degrees inside the subgraph in float64, summed there too: float32 sums at a hub would leave the exact column."""
    zero = torch.zeros(subs.num_nodes, dtype=torch.float64, device=subs.row.device)
    return zero.index_add(0, subs.row, _weight(subs))
