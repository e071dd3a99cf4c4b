"""LinkBatch: the inputs of the network for a batch of candidate links."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from llwlc.linalg._basis import Eigenbasis
from llwlc.subgraphs._batch import Subgraphs


@dataclass(frozen=True, eq=False)
class LinkBatch:
    """B enclosing subgraphs with N nodes in all, reduced to what the network reads: their edges are in it only through
    the basis.

    Shapes: `basis` of N rows; `node [N]` ids in the graph, by which compact features are found; `label [N]` unordered
    distance class, −1 at padding rows of a uniform basis; `degree [N]` inside the subgraph; `u`, `v [B]` positions of
    the query nodes; `pair [B, P]` the `PairInputs` of the two ends, where the network reads them; `draws [B]` 64 bits
    of each link, from which dropout is drawn in training; `subs` the subgraphs, where the network itself makes the
    basis under learned constraints.

    >>> import llwlc
    >>> path = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3]]))
    >>> subs, basis = llwlc.link_bases(path, torch.tensor([[0, 2], [1, 3]]), steps=4)
    >>> label = llwlc.subgraphs.distance_encoding(subs)
    >>> LinkBatch(basis, subs.node, label, subs.degree.float(), subs.u, subs.v).num_links
    2
    """

    basis: Eigenbasis
    node: Tensor
    label: Tensor
    degree: Tensor
    u: Tensor
    v: Tensor
    pair: Tensor | None = None
    draws: Tensor | None = None
    subs: Subgraphs | None = None

    @property
    def num_links(self) -> int:
        """B, the number of links."""
        return len(self.u)

    def to(self, device: torch.device | str, dtype: torch.dtype) -> LinkBatch:
        """The batch on another device, with real numbers of this type.

        Args:
            device: "cpu", "cuda" or a torch device.
            dtype: float32 or float64.
        """
        tensors = {k: getattr(self, k).to(device) for k in ("node", "label", "u", "v")}
        tensors["draws"] = None if self.draws is None else self.draws.to(device)
        subs = None if self.subs is None else self.subs.to(device)
        pair = None if self.pair is None else self.pair.to(device, dtype)
        return replace(
            self,
            basis=self.basis.to(device, dtype),
            degree=self.degree.to(device, dtype),
            pair=pair,
            subs=subs,
            **tensors,
        )
