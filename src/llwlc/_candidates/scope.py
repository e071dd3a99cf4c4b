"""CandidateScope: which pairs may be proposed at all, by the nodes at their ends and by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc.graph._graph import Graph

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class CandidateScope:
    """`ends`: two sets of nodes, `[n]` each; a pair has one end in the first and the other in the second. None for any
    pair. `excluded`: pairs that are never proposed, as the edges of a graph; None for none.
    """

    ends: tuple[Mask, Mask] | None = None
    excluded: Graph | None = None

    @classmethod
    def of(
        cls,
        num_nodes: int,
        *,
        among: Integers | None = None,
        source_nodes: Integers | None = None,
        target_nodes: Integers | None = None,
        excluded: Tensor | None = None,
    ) -> CandidateScope | None:
        """The scope of sets of node numbers, None for all nodes, and of excluded pairs `[k, 2]`; None if nothing is
        left out.
        """
        ends = None
        if any(part is not None for part in (among, source_nodes, target_nodes)):
            inside = _mask(num_nodes, among)
            ends = (inside & _mask(num_nodes, source_nodes), inside & _mask(num_nodes, target_nodes))
        graph = None
        if excluded is not None and len(excluded):
            graph = Graph.from_edges(excluded, num_nodes=num_nodes)
        return None if ends is None and graph is None else cls(ends, graph)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for equal scopes on one graph."""
        nodes = () if self.ends is None else tuple(np.packbits(mask).tobytes() for mask in self.ends)
        return (nodes, None if self.excluded is None else self.excluded.digest)

    def allows(self, pairs: Tensor) -> Tensor:
        """Which pairs `[m, 2]` have their first end in the first set and their second end in the second."""
        if self.ends is None:
            return torch.ones(len(pairs), dtype=torch.bool)
        first, second = map(torch.from_numpy, self.ends)
        return first[pairs[:, 0]] & second[pairs[:, 1]]

    def orient(self, pairs: Tensor) -> Tensor:
        """Pairs `[m, 2]` of this scope, each with its first end in the first set, the smaller node first where both
        are.
        """
        if self.ends is None:
            return pairs
        first, second = (torch.from_numpy(mask)[pairs] for mask in self.ends)
        turned = ~(first[:, 0] & second[:, 1])
        return torch.where(turned.unsqueeze(1), pairs.flip(1), pairs)


def _mask(num_nodes: int, nodes: Integers | None) -> Mask:
    mask = np.full(num_nodes, nodes is None)
    if nodes is not None:
        mask[nodes] = True
    return mask
