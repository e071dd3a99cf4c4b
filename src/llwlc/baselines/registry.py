"""METHODS: methods that are fitted on a split and score pairs, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from llwlc.heuristics.registry import HEURISTICS, WALKS
from llwlc.support.registry import Record, Registry

if TYPE_CHECKING:
    from torch import Tensor

    from llwlc.graph.graph import Graph
    from llwlc.splits.linksplit import LinkSplit


class Scorer(Protocol):
    """A fitted method."""

    def score(self, pairs: Tensor, graph: Graph | None = None) -> Tensor:
        """Scores `[m]` of pairs `[m, 2]`, larger is likelier; on another graph of the same nodes, where one is given."""


@dataclass(frozen=True)
class Method(Record):
    """A method to compare with: `target(method, graph, split, seed=..., **options)` gives a fitted `Scorer`.

    `title`: its name in tables. `network(recipe, shape, seed)`: the `Network` of a trained method. `sorts`: whether its readout keeps a number of rows that
    depends on the sizes of the subgraphs.
    """

    title: str = ""
    network: str = ""
    sorts: bool = False

    @property
    def trained(self) -> bool:
        return bool(self.network)

    def fit(self, graph: Graph, split: LinkSplit, *, seed: int = 0, **options: Any) -> Scorer:
        """Fits the method on the split's training links alone. Trained methods take the options of `llwlc.baselines.fitting.fit`."""
        fitted: Scorer = self.load()(self, graph, split, seed=seed, **options)
        return fitted


METHODS: Registry[Method] = Registry("method")
"""All methods to compare with, untrained ones first: `METHODS[name]`, `list(METHODS)`."""
for _heuristic in (*HEURISTICS.records(), *WALKS.records()):
    METHODS.add(Method(_heuristic.name, _heuristic.about, "llwlc.baselines.untrained:fit", _heuristic.title))

_ROOM, _FIT = "llwlc.baselines", "llwlc.baselines.fitting:fit"
METHODS.add(Method("mlp", "an MLP on features, no messages", _FIT, "MLP", f"{_ROOM}.mlp:MLP"))
METHODS.add(Method("gcn", "GCN, an MLP on the product of the ends", _FIT, "GCN", f"{_ROOM}.gcn:GCN"))
METHODS.add(Method("sage", "GraphSAGE, an MLP on the product of the ends", _FIT, "SAGE", f"{_ROOM}.sage:SAGE"))
METHODS.add(Method("gae", "the tuned graph autoencoder, linear propagation", _FIT, "GAE", f"{_ROOM}.gae:GAE"))
METHODS.add(Method("seal", "DGCNN on enclosing subgraphs", _FIT, "SEAL", f"{_ROOM}.seal:SEAL", sorts=True))
METHODS.add(
    Method(
        "lanczosnet",
        "powers and spectral filters on enclosing subgraphs, no constraints",
        _FIT,
        "LanczosNet",
        f"{_ROOM}.lanczosnet:LanczosNet",
        sorts=True,
    )
)
METHODS.add(Method("buddy", "sketched counts and propagated features", _FIT, "BUDDY", f"{_ROOM}.buddy:BUDDY"))
METHODS.add(Method("ncn", "the rows of common neighbours, summed", _FIT, "NCN", f"{_ROOM}.ncn:NCN"))
METHODS.add(Method("ncnc", "NCN that completes common neighbours", _FIT, "NCNC", f"{_ROOM}.ncnc:NCNC"))


def get(name: str) -> Method:
    """The method of this name: `get(name).fit(graph, split, seed=0)` gives an object that scores pairs.

    Args:
        name: one of `names()`.

    >>> get("seal").title, get("katz").trained
    ('SEAL', False)
    """
    return METHODS[name]


def names() -> tuple[str, ...]:
    """The names of all methods, untrained ones first.

    >>> names()[-2:]
    ('ncn', 'ncnc')
    """
    return tuple(METHODS)
