"""FAMILIES: the constraint families by name, built in or a user's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from llwlc._support.registry import Record, Registry, first_line
from llwlc.errors import InputError

if TYPE_CHECKING:
    from llwlc.constraints._columns import Constraints
    from llwlc.subgraphs._batch import Subgraphs

F = TypeVar("F", bound=Callable[..., Any])
VertexCount = int | Literal["all"]
OPTIONS = ("count", "seed", "epoch", "laplacian")


@dataclass(frozen=True)
class ConstraintFamily(Record):
    """A constraint family: `target(subs, **options)` gives `Constraints`; `takes` lists those of the options `count`,
    `seed`, `epoch` and `laplacian` that it has.

    `kernel`: the columns ("boundary", "degree", "deleted") that compiled kernels compute by themselves; None where the
    function computes the columns and the kernels receive them. `learned`: the network computes the columns, from
    weights of its own; there is no function of subgraphs alone.
    """

    takes: tuple[str, ...] = ()
    kernel: tuple[str, ...] | None = None
    learned: bool = False

    @property
    def drawn(self) -> bool:
        """Whether the columns are redrawn in every epoch."""
        return "epoch" in self.takes

    def columns(self, subs: Subgraphs, **options: Any) -> Constraints:
        """The constraints of these subgraphs, with the options that this family takes."""
        from llwlc.constraints._columns import Constraints

        if self.learned:
            raise InputError(
                f"the constraint {self.name!r} is part of a fitted network and has no columns without it:"
                " nn.LearnedConstraints makes them of node states, for eigenbasis(subs, columns)"
            )
        constraints = FAMILIES.run(self, subs, **{name: options[name] for name in self.takes})
        if not isinstance(constraints, Constraints):
            raise InputError(
                f"the constraint {self.name!r} returned {type(constraints).__name__}, not Constraints: wrap its"
                " columns in constraints.custom(subs, ...)"
            )
        return constraints


FAMILIES: Registry[ConstraintFamily] = Registry("constraint")
"""The constraint families by name, built in or registered: `FAMILIES[name]`, `list(FAMILIES)`."""
_ROOM = "llwlc.constraints"
FAMILIES.add(ConstraintFamily("none", "no constraint: plain Lanczos", f"{_ROOM}._columns:none", kernel=()))
FAMILIES.add(
    ConstraintFamily(
        "neumann", "both Neumann conditions (the paper's)", f"{_ROOM}._boundary:neumann", kernel=("boundary", "degree")
    )
)
FAMILIES.add(
    ConstraintFamily(
        "neumann_boundary",
        "no flow across the border of the pair's neighbourhood",
        f"{_ROOM}._boundary:neumann_boundary",
        kernel=("boundary",),
    )
)
FAMILIES.add(
    ConstraintFamily(
        "neumann_degree",
        "mean zero, by degree, on the pair's neighbourhood",
        f"{_ROOM}._boundary:neumann_degree",
        kernel=("degree",),
    )
)
FAMILIES.add(
    ConstraintFamily(
        "neumann_vertex", "a condition for each boundary vertex (Chung's)", f"{_ROOM}._boundary:neumann_vertex"
    )
)
FAMILIES.add(
    ConstraintFamily("contraction", "f(u) = f(v): the link contracted instead of deleted", f"{_ROOM}._pair:contraction")
)
FAMILIES.add(ConstraintFamily("marking", "f(u) + f(v) = 0: the pair is marked", f"{_ROOM}._pair:marking"))
FAMILIES.add(
    ConstraintFamily(
        "learned",
        "columns that a small network computes from each node's position",
        f"{_ROOM}._columns:none",
        learned=True,
    )
)
FAMILIES.add(
    ConstraintFamily(
        "vertex_deleted",
        "subgraphs that lack one vertex, `count` of them, redrawn each epoch",
        f"{_ROOM}._deletion:vertex_deleted",
        takes=OPTIONS[:3],
        kernel=("deleted",),
    )
)
FAMILIES.add(
    ConstraintFamily(
        "components",
        "the kernel of the Laplacian, a condition for each component",
        f"{_ROOM}._components:components",
        takes=("laplacian",),
    )
)
FAMILIES.add(
    ConstraintFamily("shells", "mean zero, by degree, at each distance from the root", f"{_ROOM}._shells:shells")
)


def register(name: str, *, about: str = "") -> Callable[[F], F]:
    """Registers a function from `Subgraphs` to `Constraints` under a name; see `llwlc.constraints` for what to know
    when writing one.

    Parameters `count`, `seed`, `epoch` and `laplacian` of the function, where it has them, are filled in; one with
    `epoch` is redrawn in every epoch of training.

    Args:
        name: the name of the constraint for `link_bases`, `LinkPredictor` and the command line.
        about: one line for lists; by default the first line of the function's docstring.

    >>> import torch, llwlc
    >>> @register("mean_zero")
    ... def mean_zero(subs):
    ...     return llwlc.constraints.custom(subs, torch.ones(subs.num_nodes))
    >>> ring = llwlc.Graph.from_edges(torch.tensor([[i, (i + 1) % 10] for i in range(10)]))
    >>> subs, basis = llwlc.link_bases(ring, ring.edges[:2], constraints="mean_zero", steps=4)
    >>> llwlc.health(basis, mean_zero(subs)).ok
    True
    >>> FAMILIES.remove("mean_zero")
    """

    def decorate(function: F) -> F:
        FAMILIES.add(make_family(function, name, about))
        return function

    return decorate


def make_family(function: Callable[..., Any], name: str, about: str = "") -> ConstraintFamily:
    """A new record for a function that is not registered."""
    bound = function.keywords if isinstance(function, partial) else {}
    takes = tuple(o for o in OPTIONS if o in inspect.signature(function).parameters and o not in bound)
    return ConstraintFamily(name, about or first_line(function) or "a user's own constraint", function, takes)


def ensure_registered(function: Callable[..., Any]) -> str:
    """The name of a constraint that was given as a function; one without a name is registered under that of the
    function.
    """
    existing = next((record.name for record in FAMILIES.records() if record.load() is function), None)
    if existing is not None:
        return existing
    name = getattr(function, "__name__", "")
    if not name.isidentifier():
        raise InputError(
            "a run is kept under names: give the constraint one, @llwlc.constraints.register('name') above a function"
        )
    if name in FAMILIES:  # another function of that name, which other predictors may be using
        raise InputError(
            f"there is another constraint called {name!r}: give this one a name, constraints.register('name')(function)"
        )
    register(name)(function)
    return name


def find_families(name: str) -> tuple[ConstraintFamily, ...]:
    """The families that a string names: one, or several joined by "+", as in "neumann+vertex_deleted".

    >>> [family.name for family in find_families("neumann + vertex_deleted")]
    ['neumann', 'vertex_deleted']
    """
    if not isinstance(name, str):
        raise InputError(f"constraints are given by name ({FAMILIES.list()}), got {type(name).__name__}")
    parts = [part.strip() for part in name.split("+")]
    for part in parts:
        if part not in FAMILIES:
            raise InputError(
                f'constraints: unknown name {part!r}; choose from {", ".join(FAMILIES)}, join some by "+", or register'
                " your own (llwlc.constraints.register, on the command line --plugin FILE)"
            )
    return tuple(FAMILIES[part] for part in parts)


def by_name(
    subs: Subgraphs,
    name: str,
    *,
    count: VertexCount = 10,
    seed: int = 0,
    epoch: int = 0,
    laplacian: Literal["normalized", "combinatorial"] = "normalized",
) -> Constraints:
    """The constraints that a string names.

    Args:
        subs: B subgraphs with N nodes in all.
        name: one of `FAMILIES`, or several joined by "+", as in "neumann+vertex_deleted".
        count: vertex-deleted columns, or "all".
        seed: seed of the random draws.
        epoch: number of the epoch; each epoch has its own draw.
        laplacian: the Laplacian of the basis, on which "components" depends.

    Returns:
        `Constraints` with columns `[N, k]`.

    >>> import torch, llwlc
    >>> ring = llwlc.Graph.from_edges(torch.tensor([[i, (i + 1) % 10] for i in range(10)]))
    >>> by_name(llwlc.subgraphs.extract(ring, ring.edges), "neumann+vertex_deleted", count=2)
    Constraints(4 columns [neumann_boundary, neumann_degree, vertex_deleted_0, vertex_deleted_1], 10 graphs)
    """
    from llwlc.constraints._columns import stack

    options = {"count": count, "seed": seed, "epoch": epoch, "laplacian": laplacian}
    return stack(*(family.columns(subs, **options) for family in find_families(name)))
