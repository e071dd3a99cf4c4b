"""LinkBatch: all that the network sees of a batch of candidate links."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from llwlc.linalg.basis import Eigenbasis


@dataclass(frozen=True, eq=False)
class LinkBatch:
    """B enclosing subgraphs with N nodes in all, reduced to what the network reads; edges are gone, the basis holds them.

    Shapes: `basis` of N rows; `node [N]` ids in the graph, by which compact features are found; `label [N]` unordered distance
    class; `degree [N]` inside the subgraph; `u`, `v [B]` positions of the query nodes.
    """

    basis: Eigenbasis
    node: Tensor
    label: Tensor
    degree: Tensor
    u: Tensor
    v: Tensor

    @property
    def num_links(self) -> int:
        return len(self.u)

    def to(self, device: torch.device | str, dtype: torch.dtype) -> LinkBatch:
        """On another device, with real numbers of this type."""
        b = self.basis
        basis = Eigenbasis(
            values=b.values.to(device, dtype),
            vectors=b.vectors.to(device, dtype),
            mask=b.mask.to(device),
            residual=b.residual.to(device, dtype),
            ptr=b.ptr.to(device),
        )
        moved = {k: getattr(self, k).to(device) for k in ("node", "label", "u", "v")}
        return replace(self, basis=basis, degree=self.degree.to(device, dtype), **moved)
