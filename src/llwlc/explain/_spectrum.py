"""Which eigenvectors and which filters carry a score: what is lost when each is silenced.

A block is Σ V f_s(R) Vᵀ X W_s: without eigenvector k every f_s is 0 at its eigenvalue, without filter s one f_s is 0
everywhere. All such networks run as one batch.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import torch
from torch import Tensor

from llwlc.nn._conv import SpectralMLP
from llwlc.nn._net import LLwLCNet


class Ablations(NamedTuple):
    """What is silent in each copy of a link: nothing in the first, then one eigenvector each, then one filter each, as
    (where, which).
    """

    gates: list[Tensor]
    eigenvectors: int
    filters: list[tuple[str, int]]

    @property
    def copies(self) -> int:
        return 1 + self.eigenvectors + len(self.filters)


def find_spectral_layers(net: LLwLCNet) -> list[tuple[str, SpectralMLP]]:
    """Every place where eigenvalues are filtered, in words."""
    layers = [(f"block {i + 1}", conv.filter) for i, conv in enumerate(net.convs)]
    if net.filtered is not None:
        layers.append(("features of the ends", net.filtered.filter))
    return [(where, layer) for where, layer in layers if isinstance(layer, SpectralMLP)]


def make_ablations(net: LLwLCNet, live: int, steps: int) -> Ablations:
    """The gates `[copies, κ, S]` of each place, for a basis with `live` of `steps` columns."""
    layers = find_spectral_layers(net)
    counts = [net.config.filters for _ in layers]
    filters = [(where, s) for (where, _), count in zip(layers, counts, strict=True) for s in range(count)]
    copies = 1 + live + len(filters)
    gates, at = [], 1 + live
    for count in counts:
        gate = torch.ones(copies, steps, count, dtype=torch.float64)
        for k in range(live):
            gate[1 + k, k] = 0
        for s in range(count):
            gate[at + s, :, s] = 0
        at += count
        gates.append(gate)
    return Ablations(gates, live, filters)


def apply_gates(net: LLwLCNet, gates: list[Tensor]) -> LLwLCNet:
    """A copy of the network, with the same weights in memory, whose filters are multiplied by the gates: the network
    itself may explain another pair in another thread.
    """
    shared = {id(tensor): tensor for tensor in (*net.parameters(), *net.buffers())}
    own = copy.deepcopy(net, shared)
    for (_, layer), gate in zip(find_spectral_layers(own), gates, strict=True):
        layer.register_forward_hook(lambda module, given, out, gate=gate: out * gate)
    return own
