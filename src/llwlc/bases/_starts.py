"""STARTS: start blocks of the recurrence, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from llwlc._support.registry import Record, Registry, first_line

if TYPE_CHECKING:
    from torch import Tensor

    from llwlc.linalg._operator import Operator
    from llwlc.subgraphs._batch import Subgraphs

F = TypeVar("F", bound=Callable[..., Any])


class StartInputs(NamedTuple):
    """The inputs of a start, which gives a block `[N, b]`.

    >>> import torch, llwlc
    >>> subs = llwlc.subgraphs.extract(llwlc.Graph.from_edges([[0, 1], [1, 2]]), torch.tensor([[0, 2]]))
    >>> inputs = StartInputs(subs, torch.zeros(3, 0), operator=lambda: None, seed=0, epoch=0)
    >>> STARTS["query"].load()(inputs).shape    # e_u and e_v of a subgraph of three nodes
    torch.Size([3, 2])
    """

    subs: Subgraphs
    """The subgraphs, N nodes in all."""
    columns: Tensor
    """The constraint columns `[N, k]`."""
    operator: Callable[[], Operator]
    """A function that makes the Laplacian, for a start that needs it."""
    seed: int
    """The seed of random draws."""
    epoch: int
    """The epoch of training, for a start that is redrawn in each."""


@dataclass(frozen=True)
class Start(Record):
    """A start: `target(inputs)` gives a block `[N, b]` in float64, before projection.

    `kernel`: whether compiled kernels make it themselves; otherwise the block is passed to them.
    """

    kernel: bool = False


STARTS: Registry[Start] = Registry("start")
_HERE = "llwlc.bases._start_blocks"
STARTS.add(
    Start(
        "query",
        "the two ends, e_u and e_v: independent of node order, exact at the ends",
        f"{_HERE}:query",
        kernel=True,
    )
)
STARTS.add(
    Start("random", "a standard normal vector, drawn for the link (the paper's)", f"{_HERE}:random", kernel=True)
)
STARTS.add(
    Start(
        "constraint", "P L C 1: the Laplacian applied to the sum of the constraints", f"{_HERE}:constraint", kernel=True
    )
)


def register(name: str, *, about: str = "") -> Callable[[F], F]:
    """Registers a function from `StartInputs` to a block `[N, b]` as a start.

    Args:
        name: the name of the start for `link_bases`, `LinkPredictor` and the command line.
        about: one line for lists; by default the first line of the function's docstring.

    >>> import torch, llwlc
    >>> @register("degrees")
    ... def degrees(inputs):
    ...     return inputs.subs.degree.double()
    >>> ring = llwlc.Graph.from_edges(torch.tensor([[i, (i + 1) % 10] for i in range(10)]))
    >>> llwlc.link_bases(ring, ring.edges[:2], start="degrees", steps=4)[1].values.shape
    torch.Size([2, 4])
    >>> STARTS.remove("degrees")
    """

    def decorate(function: F) -> F:
        STARTS.add(Start(name, about or first_line(function) or "a user's own start", function))
        return function

    return decorate
