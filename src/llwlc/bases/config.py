"""BasisConfig: how a pair becomes a basis, in one record that goes from the caller to the cache and the kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypedDict

from llwlc.bases.starts import STARTS
from llwlc.constraints.registry import Count, Family, families, family_of
from llwlc.errors import InputError
from llwlc.support.bounds import require_whole

if TYPE_CHECKING:
    from torch import Tensor

    from llwlc.constraints.columns import Constraints
    from llwlc.graph.graph import Graph
    from llwlc.subgraphs.batch import Subgraphs

Laplacian = Literal["normalized", "combinatorial"]
LAPLACIANS = ("normalized", "combinatorial")
DrawBy = Literal["name", "number"]
CapBy = Literal["window", "pair"]
DEFAULT_CAP = 10_000
"""Nodes that one hop keeps unless told otherwise. No subgraph of the citation, co-authorship or vessel graphs comes near it (Pubmed's
largest has 2030 nodes); a hub with a million neighbours would otherwise be a million rows of every basis around it."""

MOST_HOPS = 127
"""Hops are stored in a byte; real graphs rarely have distances above a few dozen."""

MOST_COLUMNS = 4096
"""Basis vectors, and deleted vertices: each is a row of float64 as long as the subgraph; ten of each are usual."""
MOST_NODES = 2**31 - 1
MOST_DISTANCE = 21
"""Distance classes are stored in a byte."""


@dataclass(frozen=True)
class BasisConfig:
    """How a pair of nodes becomes an eigenbasis. Every field is checked when the record is made.

    >>> BasisConfig(constraints="neumann+vertex_deleted", count=4).stochastic    # deleted vertices are redrawn each epoch
    True
    >>> BasisConfig(start="qury")
    Traceback (most recent call last):
    llwlc.errors.InputError: start must be 'query', 'random' or 'constraint', got 'qury'
    """

    hops: int = 2
    """Nodes within so many steps of either end belong to the enclosing subgraph."""
    constraints: str | Callable[[Subgraphs], Constraints] = "neumann"
    """A name of `constraints.FAMILIES`, several joined by "+", or a function from subgraphs to constraints."""
    count: Count = field(default=10, metadata={"absent": 10})
    """Vertex-deleted columns, or "all"."""
    steps: int = 10
    """κ, the number of basis vectors."""
    start: str = "query"
    """Where the recurrence begins: a name of `bases.starts.STARTS`."""
    laplacian: Laplacian = "normalized"
    """`"normalized"`, L = I − D^−½ A D^−½, or `"combinatorial"`, L = D − A (the paper's)."""
    max_nodes_per_hop: int | None = DEFAULT_CAP
    """Nodes that one hop keeps, drawn by the pair; None for all."""
    seed: int = 0
    """Seed of all random draws for a link."""
    draw_by: DrawBy = field(default="name", metadata={"absent": "number"})
    """What random draws identify a node by: "name", which does not depend on the order of a file (its number where it has no name), or "number", as in
    runs from before this option."""
    cap_by: CapBy = field(default="window", metadata={"absent": "pair"})
    """How the nodes of a capped hop are drawn: "window", those that follow the pair in one order of all nodes, so that a hub costs no more than its cap; or "pair", in an order of the
    pair's own, as in runs from before this option: each pair looks at all links of a hub."""
    distance_cap: int = 3
    """Distances from the ends are told apart up to here. Bases do not depend on it, but the encoded links do."""

    stored_bits: int = field(default=32, metadata={"absent": 32})
    """Bits of an entry of the basis vectors that are kept for training, in memory and in the cache: 32, or 16 where there is too little room. A network reads 32 in any case, and pairs that
    are scored are never kept."""
    redraw: bool | None = field(default=None, metadata={"absent": None})
    """Whether each epoch of training draws its random starts and deleted vertices anew; None: deleted vertices are redrawn (the paper's), with them the starts, and starts alone are
    drawn once."""

    def __post_init__(self) -> None:
        require_whole("hops", self.hops, least=1, most=MOST_HOPS)
        require_whole("steps", self.steps, least=1, most=MOST_COLUMNS)
        require_whole("seed", self.seed, least=-(2**63), most=2**63 - 1)
        if self.max_nodes_per_hop is not None:
            require_whole(
                "max_nodes_per_hop", self.max_nodes_per_hop, least=1, most=MOST_NODES, other=" (or None for no cap)"
            )
        if self.count != "all":
            require_whole("count", self.count, least=0, most=MOST_COLUMNS, other=', or "all"')
        if not isinstance(self.start, str) or self.start not in STARTS:
            raise InputError(f"start must be {STARTS.list(quoted=True)}, got {self.start!r}")
        if self.laplacian not in LAPLACIANS:
            raise InputError(f"laplacian must be 'normalized' or 'combinatorial', got {self.laplacian!r}")
        if self.draw_by not in ("name", "number"):
            raise InputError(f"draw_by must be 'name' or 'number', got {self.draw_by!r}")
        if self.cap_by not in ("window", "pair"):
            raise InputError(f"cap_by must be 'window' or 'pair', got {self.cap_by!r}")
        require_whole("stored_bits", self.stored_bits, least=16, most=32)
        if self.stored_bits not in (16, 32):
            raise InputError(f"stored_bits must be 16 or 32, got {self.stored_bits!r}")
        require_whole("distance_cap", self.distance_cap, least=1, most=MOST_DISTANCE)
        if not callable(self.constraints):
            families(self.constraints)

    @property
    def families(self) -> tuple[Family, ...]:
        """The records of the constraints."""
        if callable(self.constraints):
            return (family_of(self.constraints, getattr(self.constraints, "__qualname__", "custom")),)
        return families(self.constraints)

    @property
    def stochastic(self) -> bool:
        """Whether every epoch needs new bases."""
        drawn = any(family.drawn for family in self.families)
        return drawn if self.redraw is None else self.redraw and (drawn or self.start == "random")

    @property
    def windowed(self) -> bool:
        """Whether a capped hop is drawn by `counter.window`, else by `counter.draw`."""
        return self.cap_by == "window"

    def drawn_by(self, graph: Graph) -> Tensor | None:
        """The number by which random draws identify each node of a graph, `[n]`; None for the node's own number.

        Args:
            graph: the graph.
        """
        return graph.identity if self.draw_by == "name" else None

    def draws(self, graph: Graph) -> bool:
        """Whether a basis on this graph may depend on random draws.

        Args:
            graph: the graph.
        """
        capped = self.max_nodes_per_hop is not None and self.max_nodes_per_hop < graph.num_nodes
        drawn = any(family.drawn for family in self.families)
        return self.start == "random" or drawn or capped or bool(self.code)  # a user's own code may draw

    def columns(self, subs: Subgraphs, *, epoch: int = 0) -> Constraints:
        """The constraints of these subgraphs.

        Args:
            subs: B subgraphs with N nodes in all.
            epoch: number of the epoch; each epoch has its own draw.
        """
        from llwlc.constraints.columns import stack

        options = {"count": self.count, "seed": self.seed, "epoch": epoch}
        return stack(*(family.columns(subs, **options) for family in self.families))

    @property
    def code(self) -> dict[str, str]:
        """Digests of the code of constraints and starts that are no part of this package, by kind and name."""
        records = [*(("constraint", family) for family in self.families), ("start", STARTS[self.start])]
        return {f"{kind} {record.name}": record.digest for kind, record in records if not record.builtin}


class BasisOptions(TypedDict, total=False):
    """The fields of `BasisConfig` that a basis depends on, as keyword arguments."""

    hops: int
    constraints: str | Callable[[Subgraphs], Constraints]
    count: Count
    steps: int
    start: str
    laplacian: Laplacian
    max_nodes_per_hop: int | None
    seed: int
    draw_by: DrawBy
    cap_by: CapBy


def basis_config(config: BasisConfig | None, options: BasisOptions) -> BasisConfig:
    """The configuration with some options changed; the defaults where there is none."""
    config = BasisConfig() if config is None else config
    return replace(config, **options) if options else config
