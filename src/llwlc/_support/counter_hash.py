"""Random draws that belong to a link: a counter hash instead of a generator's state.

A draw is a function of (seed, epoch, min and max of the pair, node) alone, so it never depends on the batch, its order,
the device or the backend; nor on how nodes are numbered, where the numbers passed in stand for names
(`Graph.identity`). The mixing function is splitmix64's finaliser; torch has no unsigned 64-bit arithmetic, so it is
written on int64, whose multiplication wraps around and whose right shift is masked to a logical one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor

GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
MIX_1 = 0xBF58476D1CE4E5B9 - (1 << 64)
MIX_2 = 0x94D049BB133111EB - (1 << 64)

START_STREAM, DELETION_STREAM, CAP_STREAM, DROPOUT_STREAM, FOLD_STREAM, WALK_STREAM = 0, 2, 3, 4, 5, 6
"""The streams of `draw`: start vectors, deleted vertices, the nodes that a capped hop keeps, what dropout drops, folds
of links, random walks. No stream serves two purposes.
"""


def _shift(x: Tensor, bits: int) -> Tensor:
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def mix(x: Tensor) -> Tensor:
    """splitmix64 on int64: a bijection that scrambles every bit.

    >>> import torch
    >>> mix(torch.tensor([0, 1])).tolist()
    [-2152535657050944081, -7995527694508729151]
    """
    x = x + GOLDEN
    x = (x ^ _shift(x, 30)) * MIX_1
    x = (x ^ _shift(x, 27)) * MIX_2
    return x ^ _shift(x, 31)


def draw(seed: int, epoch: int, low: Tensor, high: Tensor, node: Tensor, stream: int = 0) -> Tensor:
    """The 64 bits of (seed, epoch, pair, node); `stream` keeps apart draws for different purposes."""
    return mix(_pair(_key(seed, epoch, stream, node.device), low, high) ^ node)


def window(seed: int, low: Tensor, high: Tensor, node: Tensor, stream: int) -> Tensor:
    """64 bits of (seed, pair, node) for taking the nodes with the lowest of them: how far the node's own bits are
    beyond the pair's, on the circle of 2⁶⁴ numbers.

    So a pair takes the nodes that follow it. All pairs see the nodes in one order, in which long rows can be kept: a
    pair then finds those that it takes without a look at the others.
    """
    h = _key(seed, 0, stream, node.device)
    return mix(h ^ node) - _pair(h, low, high)


def _key(seed: int, epoch: int, stream: int, device: torch.device) -> Tensor:
    import torch  # not above: kernels are compiled without it

    h = mix(torch.tensor([seed, epoch, stream], device=device))
    return mix(mix(h[0] ^ h[1] * 3) ^ h[2] * 5)


def _pair(key: Tensor, low: Tensor, high: Tensor) -> Tensor:
    return mix(mix(key ^ low) ^ high)


def uniform(bits: Tensor) -> Tensor:
    """The bits as a float64 in (0, 1)."""
    return (_shift(bits, 11).double() + 0.5) * 2.0**-53


def normal(bits: Tensor) -> Tensor:
    """The bits as a standard normal float64, by Box and Muller from two uniforms.

    >>> import torch
    >>> z = normal(mix(torch.arange(100_000)))
    >>> abs(z.mean().item()) < 0.01 and abs(z.std().item() - 1) < 0.01
    True
    """
    radius = (-2 * uniform(bits).log()).sqrt()
    return radius * (2 * math.pi * uniform(mix(bits))).cos()
