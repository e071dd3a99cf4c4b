"""Readout of the two ends."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import LayerNorm, Linear
from torch.nn import functional as F

from llwlc._support.ragged import pad
from llwlc.bases._link_batch import LinkBatch
from llwlc.linalg._differentiable import has_gradients
from llwlc.linalg._filter import filter_at
from llwlc.nn._config import NetConfig
from llwlc.nn._conv import SpectralMLP
from llwlc.nn._link_dropout import LinkDropout


def combine_symmetrically(a: Tensor, b: Tensor) -> Tensor:
    """Product and absolute difference of two rows, which are symmetric in them."""
    return torch.cat([a * b, (a - b).abs()], 1)


class FilteredEnds(torch.nn.Module):
    """Compact features at u and v after S learned filters: a graph convolution at the two ends, without their link.

    Rows u and v of V f(R) Vᵀ X, computed on κ rows per graph; exact for polynomial filters up to degree ⌊κ/2⌋ − 1 with
    a query start.
    """

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        filters, channels = config.filters, config.filtered_channels
        self.dropout = LinkDropout(0.5 if config.dropout is None else config.dropout)
        self.feature_dropout = LinkDropout(0.5 if config.feature_dropout is None else config.feature_dropout)
        self.cosines = config.cosines
        self.filter = SpectralMLP(filters, hidden_channels=config.filter_hidden)
        self.mix = Linear((filters + 1) * config.feature_channels, channels)
        self.norm = LayerNorm(channels)
        self.out_channels = 2 * channels
        self.out_channels += (filters + 1) * (filters + 2) // 2 if self.cosines else 0

    def forward(self, batch: LinkBatch, features: Tensor) -> Tensor:
        return self.read(*self.rows(batch, features))

    def read(self, a: Tensor, b: Tensor) -> Tensor:
        """The outputs of `rows`, mixed and compared, `[B, out_channels]`."""
        out: Tensor = self.dropout(self.mixed(a, b))
        return torch.cat([out, cosines(a, b)], 1) if self.cosines else out

    def mixed(self, a: Tensor, b: Tensor) -> Tensor:
        """The outputs of `rows`, mixed, in a form that is symmetric in them."""
        return combine_symmetrically(self.norm(self.mix(a.flatten(1))), self.norm(self.mix(b.flatten(1))))

    def rows(self, batch: LinkBatch, features: Tensor) -> tuple[Tensor, ...]:
        """The features of the ends, the smaller id first, S times filtered and once as they are, `[B, S + 1, F]`
        each.
        """
        basis = batch.basis
        if has_gradients(basis):
            return self._with_gradients(batch, features)
        spectrum = basis.padded.transpose(1, 2) @ pad(features[batch.node], basis.slots)
        return self.filtered(self.filter(basis), spectrum, *self.sources(batch, features))

    def sources(self, batch: LinkBatch, features: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Of each end, the row of V `[B, κ]` and the features `[B, F]`."""
        # in one order of the ends, since a matrix product and that of the transposes may round differently
        return [(batch.basis.vectors[end], features[batch.node[end]]) for end in self.ends(batch)]

    def ends(self, batch: LinkBatch) -> tuple[Tensor, Tensor]:
        """The rows of the two ends `[B]`, the smaller id first."""
        first = batch.node[batch.u] <= batch.node[batch.v]
        return torch.where(first, batch.u, batch.v), torch.where(first, batch.v, batch.u)

    def _with_gradients(self, batch: LinkBatch, features: Tensor) -> tuple[Tensor, ...]:
        """`rows` on a basis whose L or C want gradients."""
        ends = self.ends(batch)
        f, filters = self.filter.by_graph(batch.basis), self.filter.num_filters
        filtered = filter_at(batch.basis, f, features[batch.node], torch.stack(ends, 1), filters)
        keep: Tensor = self.feature_dropout(features.new_ones(len(filtered), 1, features.shape[1]))
        own = [features[batch.node[end]].unsqueeze(1) for end in ends]
        return tuple(torch.cat([filtered[:, i], own[i]], 1) * keep for i in range(2))

    def filtered(self, gain: Tensor, spectrum: Tensor, *sources: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
        """`rows` from the filters at the eigenvalues `[B, κ, S]`, the spectrum VᵀX `[B, κ, F]` of the features of all
        nodes, and the `sources`.
        """
        gain = gain.transpose(1, 2)
        # whole channels of a link are dropped, the same at both ends: with independent dropout of one half, three
        # products in four would vanish
        ones = spectrum.new_ones(len(spectrum), 1, spectrum.shape[2])
        keep: Tensor = self.feature_dropout(ones)

        def at(row: Tensor, own: Tensor) -> Tensor:
            return torch.cat([(gain * row.unsqueeze(1)) @ spectrum, own.unsqueeze(1)], 1) * keep

        return tuple(at(*source) for source in sources)


def cosines(a: Tensor, b: Tensor) -> Tensor:
    """Cosines between all rows of a and all rows of b, `[B, S, F]` each, symmetric in a and b: `[B, S (S + 1) / 2]`."""
    table = F.normalize(a, dim=2, eps=1e-6) @ F.normalize(b, dim=2, eps=1e-6).transpose(1, 2)
    row, col = torch.triu_indices(*table.shape[1:], device=a.device)
    return (table + table.transpose(1, 2))[:, row, col] / 2
