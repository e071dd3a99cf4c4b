"""READOUTS: how the rows of a subgraph become one vector, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from llwlc._support.registry import Record, Registry, first_line

C = TypeVar("C", bound=Callable[..., Any])


@dataclass(frozen=True)
class Readout(Record):
    """A readout: `target(channels, config)` gives a module with `out_channels` whose `forward(x, batch)` turns rows
    `[N, channels]` of a `LinkBatch` into `[B, out_channels]`, whatever the order of nodes.

    `uniform`: it also takes batches padded to one width, which a CUDA graph needs. `sized`: it reads
    `config.sort_rows`, which training sets to the 60th percentile of the subgraphs' sizes.
    """

    uniform: bool = False
    sized: bool = False

    def build(self, channels: int, config: Any) -> Any:
        """The module for rows of this width in a network of this `NetConfig`."""
        return self.load()(channels, config)


READOUTS: Registry[Readout] = Registry("readout")
"""The readouts by name, built in or registered: `READOUTS[name]`, `list(READOUTS)`."""
READOUTS.add(
    Readout(
        "class", "mean and number of the nodes of each distance class", "llwlc.nn._readouts:class_readout", uniform=True
    )
)
READOUTS.add(
    Readout(
        "sort", "sorted rows through DGCNN's convolutions (the paper's)", "llwlc.nn._readouts:sort_readout", sized=True
    )
)
READOUTS.add(
    Readout(
        "dgcnn",
        "sorted rows through DGCNN's convolutions, flattened (SEAL's)",
        "llwlc.nn._readouts:dgcnn_readout",
        sized=True,
    )
)


def register(name: str, *, about: str = "") -> Callable[[C], C]:
    """Registers a class, or a function that builds a module, as a readout: called with `(channels, config)`, it gives a
    module with `out_channels` whose `forward(x, batch)` turns rows `[N, channels]` of a `LinkBatch` into
    `[B, out_channels]`, whatever the order of nodes.

    Args:
        name: the name of the readout for `NetConfig(pooling=name)`, `LinkPredictor` and the command line.
        about: one line for lists; by default the first line of the docstring.

    >>> import torch
    >>> @register("sum")
    ... class SumReadout(torch.nn.Module):
    ...     def __init__(self, channels, config):
    ...         super().__init__()
    ...         self.out_channels = channels
    ...     def forward(self, x, batch):
    ...         ptr = batch.basis.ptr
    ...         return torch.stack([x[a:b].sum(0) for a, b in zip(ptr[:-1], ptr[1:])])
    >>> READOUTS["sum"].build(8, config=None).out_channels
    8
    >>> READOUTS.remove("sum")
    """

    def decorate(build: C) -> C:
        READOUTS.add(Readout(name, about or first_line(build) or "a user's own readout", build))
        return build

    return decorate
