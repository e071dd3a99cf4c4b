"""STARTS: start blocks of the recurrence, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from llwlc.support.registry import Record, Registry, first_line

if TYPE_CHECKING:
    from torch import Tensor

    from llwlc.linalg.operator import Operator
    from llwlc.subgraphs.batch import Subgraphs

F = TypeVar("F", bound=Callable[..., Any])


class StartInputs(NamedTuple):
    """The inputs of a start: the subgraphs, the constraint columns `[N, k]`, the Laplacian (a function that makes it), seed and epoch of random draws."""

    subs: Subgraphs
    columns: Tensor
    operator: Callable[[], Operator]
    seed: int
    epoch: int


@dataclass(frozen=True)
class Start(Record):
    """A start: `target(inputs)` gives a block `[N, b]` in float64, before projection.

    `kernel`: whether compiled kernels make it themselves; otherwise the block is passed to them.
    """

    kernel: bool = False


STARTS: Registry[Start] = Registry("start")
_HERE = "llwlc.bases.start_blocks"
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
    """Registers a function from `StartInputs` to a block `[N, b]` as a start."""

    def decorate(function: F) -> F:
        STARTS.add(Start(name, about or first_line(function) or "a user's own start", function))
        return function

    return decorate
