"""LinkDropout: dropout whose draws belong to the links of a batch, not to their places in it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from llwlc.support.counter import mix

LEVELS = 1 << 16
"""Shares are kept in steps of one in so many: 64 bits then serve four entries."""


class LinkDropout(torch.nn.Module):
    """torch's dropout on rows `[B, ...]`, one a link. Where `links` holds the 64 bits of each link, what is dropped follows from them, the `site` in the network and the place in the row
    alone: the same in whatever batch, process or order the link comes. Without them, as in a network of somebody's own, it is torch's."""

    def __init__(self, share: float, site: int = 0) -> None:
        super().__init__()
        self.p, self.site = share, site
        self.links: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.p:
            return x
        return F.dropout(x, self.p) if self.links is None else x * self.kept(self.links, x)

    def kept(self, links: Tensor, x: Tensor) -> Tensor:
        """What x `[B, ...]` is multiplied with: 0 where an entry is dropped, 1 / (1 − share) elsewhere."""
        entries = x[0].numel() if len(x) else 0
        drop = round(self.p * LEVELS)
        place = mix(torch.arange(-(-entries // 4), device=links.device) + (self.site << 40))
        bits = mix(links.unsqueeze(1) ^ place).view(torch.int16)[:, :entries]
        return (bits >= drop - LEVELS // 2).to(x.dtype).mul_(LEVELS / (LEVELS - drop)).view(x.shape)

    def extra_repr(self) -> str:
        return f"p={self.p}"


def set_links(module: torch.nn.Module, links: Tensor | None) -> None:
    """Tells every dropout of a network which links the next batch has."""
    for part in module.modules():
        if isinstance(part, LinkDropout):
            part.links = links


def number_sites(module: torch.nn.Module) -> None:
    """A number of its own for every dropout of a network: no two draw alike."""
    for site, part in enumerate(part for part in module.modules() if isinstance(part, LinkDropout)):
        part.site = site
