"""BasisConfig: how a pair becomes a basis, in one record that goes from the caller to the cache and the kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypedDict, get_args

from llwlc._support.options import check_options, option
from llwlc.bases._starts import STARTS
from llwlc.constraints._registry import ConstraintFamily, VertexCount, find_families, make_family
from llwlc.errors import InputError

if TYPE_CHECKING:
    from llwlc.constraints._columns import Constraints
    from llwlc.graph._graph import Graph
    from llwlc.subgraphs._batch import Subgraphs

    ConstraintFunction = Callable[[Subgraphs], Constraints]
else:
    ConstraintFunction = Callable  # types of fields are resolved without importing torch

Laplacian = Literal["normalized", "combinatorial"]
LAPLACIANS: tuple[str, ...] = get_args(Laplacian)
DEFAULT_CAP = 10_000
"""Nodes that one hop keeps unless told otherwise. No subgraph of the citation, co-authorship or vessel graphs comes
near it (Pubmed's largest has 2030 nodes); a hub with a million neighbours would otherwise be a million rows of every
basis around it."""

MAX_HOPS = 127
"""Hops are stored in a byte; real graphs rarely have distances above a few dozen."""

MAX_COLUMNS = 4096
"""Basis vectors, and deleted vertices: each is a row of float64 as long as the subgraph; ten of each are usual."""
MAX_NODES = 2**31 - 1
MAX_DISTANCE = 21
"""Distance classes are stored in a byte."""


@dataclass(frozen=True)
class BasisConfig:
    """How a pair of nodes becomes an eigenbasis. Every field is checked when the record is made.

    >>> BasisConfig(constraints="neumann+vertex_deleted", count=4).stochastic    # deleted vertices are redrawn
    True
    >>> BasisConfig(start="qury")
    Traceback (most recent call last):
    llwlc.errors.InputError: start must be 'query', 'random' or 'constraint', got 'qury'
    """

    hops: int = option(
        2, "steps from the two ends up to which nodes belong to the subgraph around a link", least=1, most=MAX_HOPS
    )
    constraints: str | ConstraintFunction = option(
        "neumann", "linear constraints that every basis vector satisfies", values="names below, joined by +"
    )
    """Names of `constraints.FAMILIES`, or a function from subgraphs to constraints."""
    count: VertexCount = option(
        10, "number of deleted vertices, each a constraint, for vertex_deleted", least=0, most=MAX_COLUMNS
    )
    steps: int = option(10, "number of eigenvectors of a link's basis", least=1, most=MAX_COLUMNS)
    """κ."""
    start: str = option("query", "the start vector of the Lanczos recurrence", choices=STARTS, values="a name below")
    """A name of `bases._starts.STARTS`."""
    laplacian: Laplacian = option("normalized", "the Laplacian matrix whose eigenvectors are computed")
    """`"normalized"`, L = I − D^−½ A D^−½, or `"combinatorial"`, L = D − A (the paper's)."""
    max_nodes_per_hop: int | None = option(
        DEFAULT_CAP,
        "maximum number of nodes that a hop adds to the subgraph; if there are more, they are sampled at random",
        least=1,
        most=MAX_NODES,
    )
    """Those are kept that follow the pair in one random order of all nodes (`counter_hash.window`); None for all."""
    seed: int = option(0, least=-(2**63), most=2**63 - 1)
    """Seed of all random draws for a link; they identify a node by its name, so that the order of a file does not
    matter, or by its number where it has no name.
    """
    distance_cap: int = option(
        3, "distances from the ends are distinguished up to this one", least=1, most=MAX_DISTANCE
    )
    """Bases do not depend on it, but the encoded links do."""
    stored_bits: int = option(
        32,
        "bits of each number of the bases that training keeps; 16 takes little more than half the space",
        choices=(16, 32),
    )
    """In memory and in the cache. A network reads 32 in any case, and pairs that are scored are never kept."""
    redraw: bool | None = option(
        None, "whether random starts and deleted vertices are redrawn in each epoch; by default deleted vertices are"
    )
    """None: deleted vertices are redrawn (the paper's), with them the starts, and starts alone are drawn once."""

    def __post_init__(self) -> None:
        check_options(self)
        if not callable(self.constraints):
            find_families(self.constraints)
        if self.learned and (self.stochastic or sum(family.learned for family in self.families) > 1):
            raise InputError(
                f"constraints={self.constraints!r}: learned columns can be joined only with others that are fixed, and"
                " once; vertex_deleted and redraw=True draw new ones each epoch"
            )

    @property
    def families(self) -> tuple[ConstraintFamily, ...]:
        """The records of the constraints."""
        if callable(self.constraints):
            return (make_family(self.constraints, getattr(self.constraints, "__qualname__", "custom")),)
        return find_families(self.constraints)

    @property
    def learned(self) -> bool:
        """Whether some columns are the network's own, so that there is no basis without it."""
        return any(family.learned for family in self.families)

    @property
    def stochastic(self) -> bool:
        """Whether every epoch needs new bases."""
        has_draws = any(family.drawn for family in self.families)
        return has_draws if self.redraw is None else self.redraw and (has_draws or self.start == "random")

    def draws(self, graph: Graph) -> bool:
        """Whether a basis on this graph may depend on random draws.

        Args:
            graph: the graph.
        """
        capped = self.max_nodes_per_hop is not None and self.max_nodes_per_hop < graph.num_nodes
        has_draws = any(family.drawn for family in self.families)
        return self.start == "random" or has_draws or capped or bool(self.code)  # a user's own code may draw

    def columns(self, subs: Subgraphs, *, epoch: int = 0) -> Constraints:
        """The constraints of these subgraphs.

        Args:
            subs: B subgraphs with N nodes in all.
            epoch: number of the epoch; each epoch has its own draw.
        """
        return self._stacked(subs, self.families, epoch)

    def fixed_columns(self, subs: Subgraphs) -> Constraints:
        """The constraints of these subgraphs without those that are learned.

        Args:
            subs: B subgraphs with N nodes in all.
        """
        return self._stacked(subs, tuple(family for family in self.families if not family.learned), 0)

    def _stacked(self, subs: Subgraphs, families: tuple[ConstraintFamily, ...], epoch: int) -> Constraints:
        from llwlc.constraints._columns import none, stack

        options = {"count": self.count, "seed": self.seed, "epoch": epoch, "laplacian": self.laplacian}
        return stack(*(family.columns(subs, **options) for family in families)) if families else none(subs)

    @property
    def code(self) -> dict[str, str]:
        """Digests of the code of constraints and starts that are not part of this package, by kind and name."""
        records = [*(("constraint", family) for family in self.families), ("start", STARTS[self.start])]
        return {f"{kind} {record.name}": record.digest for kind, record in records if not record.builtin}


class BasisOptions(TypedDict, total=False):
    """The fields of `BasisConfig` that a basis depends on, as keyword arguments."""

    hops: int
    constraints: str | ConstraintFunction
    count: VertexCount
    steps: int
    start: str
    laplacian: Laplacian
    max_nodes_per_hop: int | None
    seed: int


def update_config(config: BasisConfig | None, options: BasisOptions) -> BasisConfig:
    """The configuration with some options changed; the defaults where there is none."""
    config = BasisConfig() if config is None else config
    return replace(config, **options) if options else config
