"""Constraints: the columns of C for a ragged batch, and how they are made, concatenated and mixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from llwlc.errors import InputError
from llwlc.subgraphs._batch import Subgraphs


@dataclass(frozen=True, eq=False)
class Constraints:
    """The columns of C for a ragged batch of B graphs with N nodes in all.

    Shapes: `columns [N, k]` float64, a zero column where a graph has no such constraint; `ptr [B + 1]`, graph b owns
    the rows `ptr[b]` to `ptr[b + 1]`; `names`, one for each column; `deleted [N]` true at deleted vertices, only where
    *all* columns are vertex-deleted ones, since then the projector has a closed form; `cut [B]` true where a graph was
    too small for the number of constraints asked for.

    >>> Constraints(torch.ones(3, 1).double(), torch.tensor([0, 3]), ("mean zero",), torch.tensor([False]))
    Constraints(1 columns [mean zero], 1 graphs)
    """

    columns: Tensor
    ptr: Tensor
    names: tuple[str, ...]
    cut: Tensor
    deleted: Tensor | None = None

    @property
    def num_graphs(self) -> int:
        """B, the number of graphs."""
        return len(self.ptr) - 1

    @property
    def count(self) -> int:
        """k, the number of columns."""
        return self.columns.shape[1]

    @property
    def truncated_share(self) -> float:
        """The share of graphs that got fewer constraints than asked for."""
        return self.cut.double().mean().item() if len(self.cut) else 0.0

    def __repr__(self) -> str:
        names = ", ".join(self.names[:4]) + (", …" if self.count > 4 else "")
        cut = f", cut in {self.truncated_share:.1%} of the graphs" if self.truncated_share else ""
        return f"Constraints({self.count} columns [{names}], {self.num_graphs} graphs{cut})"


def none(subs: Subgraphs) -> Constraints:
    """No constraint: k = 0, and the projector is the identity.

    Args:
        subs: B subgraphs with N nodes in all.

    Returns:
        `Constraints` with columns `[N, 0]`.

    >>> import llwlc
    >>> path = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
    >>> none(llwlc.subgraphs.extract(path, torch.tensor([[0, 2]]))).columns.shape
    torch.Size([3, 0])
    """
    return custom(subs, torch.zeros(subs.num_nodes, 0, dtype=torch.float64, device=subs.ptr.device), names=())


def custom(subs: Subgraphs, columns: Tensor | np.ndarray, *, names: Sequence[str] | None = None) -> Constraints:
    """Constraints of any columns.

    Args:
        subs: B subgraphs with N nodes in all.
        columns: `[N]` for one constraint, `[N, k]` for k.
        names: names of the columns; by default their numbers.

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
            "columns: contains NaN or infinity; a constraint needs finite entries, zero where it does not apply"
        )
    names = tuple(names) if names is not None else tuple(f"custom_{i}" for i in range(columns.shape[1]))
    if len(names) != columns.shape[1]:
        raise InputError(f"names: {len(names)} names for {columns.shape[1]} columns; give one for each")
    cut = torch.zeros(subs.num_graphs, dtype=torch.bool, device=subs.ptr.device)
    return Constraints(columns.to(subs.ptr.device, torch.float64), subs.ptr, names, cut)


def stack(*cons: Constraints) -> Constraints:
    """All columns concatenated: a signal has to satisfy every one of them.

    Args:
        *cons: constraints of the same subgraphs.

    >>> one = Constraints(torch.ones(3, 1).double(), torch.tensor([0, 3]), ("mean zero",), torch.tensor([False]))
    >>> stack(one, one).columns.shape
    torch.Size([3, 2])
    """
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
    """C·W, the columns mixed by weights: a learnable constraint.

    Differentiable in both. The null space of one column c₁w₁ + c₂w₂ depends on the direction of w, not on its length.

    Args:
        cons: k columns.
        weights: `[k]` for one column, `[k, m]` for m.

    Returns:
        `Constraints` with columns `[N, 1]` or `[N, m]`.

    >>> two = Constraints(torch.eye(2).double(), torch.tensor([0, 2]), ("a", "b"), torch.tensor([False]))
    >>> combine(two, torch.tensor([3.0, -1.0])).columns.tolist()
    [[3.0], [-1.0]]
    """
    weights = weights[:, None] if weights.ndim == 1 else weights
    if weights.ndim != 2 or len(weights) != cons.count:
        raise InputError(
            f"weights: shape {tuple(weights.shape)} for {cons.count} columns; give [k] or [k, m], k = {cons.count}"
        )
    names = tuple(f"combined_{i}" for i in range(weights.shape[1]))
    return replace(cons, columns=cons.columns @ weights.to(cons.columns), names=names, deleted=None)
