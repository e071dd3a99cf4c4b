"""LinkDropout: dropout that is drawn for each link, whatever its position in a batch."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from llwlc._support.counter_hash import mix

LEVELS = 1 << 16
"""Dropout rates are rounded to multiples of 1 / this number, so that 64 bits are enough for four entries."""


class LinkDropout(torch.nn.Module):
    """Dropout on rows `[B, ...]`, one for each link. If `links` holds 64 random bits for each link, what is dropped
    depends only on them, on the `site` in the network and on the position in the row: it is the same in every batch,
    process and order. Without them, as in a user's own network, it is torch's dropout."""

    def __init__(self, share: float, site: int = 0) -> None:
        super().__init__()
        self.p, self.site = share, site
        self.links: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.p:
            return x
        return F.dropout(x, self.p) if self.links is None else x * self.kept(self.links, x)

    def kept(self, links: Tensor, x: Tensor) -> Tensor:
        """The factors for x `[B, ...]`: 0 where an entry is dropped, 1 / (1 − share) elsewhere."""
        entries = x[0].numel() if len(x) else 0
        drop = round(self.p * LEVELS)
        place = mix(torch.arange(-(-entries // 4), device=links.device) + (self.site << 40))
        bits = mix(links.unsqueeze(1) ^ place).view(torch.int16)[:, :entries]
        return (bits >= drop - LEVELS // 2).to(x.dtype).mul_(LEVELS / (LEVELS - drop)).view(x.shape)

    def extra_repr(self) -> str:
        return f"p={self.p}"


def set_links(module: torch.nn.Module, links: Tensor | None) -> None:
    """Sets the random bits of the next batch's links in every dropout layer of a network."""
    for part in module.modules():
        if isinstance(part, LinkDropout):
            part.links = links


def number_sites(module: torch.nn.Module) -> None:
    """Gives every dropout layer of a network its own number, so that no two draw the same."""
    for site, part in enumerate(part for part in module.modules() if isinstance(part, LinkDropout)):
        part.site = site
