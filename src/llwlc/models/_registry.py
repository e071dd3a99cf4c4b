"""MODELS: everything that is fitted on a split and scores pairs, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from llwlc._support.registry import Record, Registry
from llwlc.errors import InputError
from llwlc.heuristics._registry import HEURISTICS, WALK_HEURISTICS

if TYPE_CHECKING:
    from llwlc.models._base import LinkModel

T = TypeVar("T", bound=type)


@dataclass(frozen=True)
class ModelRecord(Record):
    """A model: `target(*args, **options)` makes a `LinkModel`. `title`: its name in tables; `trained`: whether it
    learns anything; `planned`: whether a time budget decides what it leaves out.
    """

    title: str = ""
    args: tuple[str, ...] = ()
    trained: bool = True
    planned: bool = False

    def make(self, **options: Any) -> LinkModel:
        """The model with these options, not fitted."""
        try:
            model: LinkModel = self.load()(*self.args, **options)
        except TypeError as error:
            if not options:
                raise
            wrong = next((name for name in options if f"{name!r}" in str(error)), next(iter(options)))
            raise InputError(f"{self.name} takes no option {wrong!r}: see llwlc fit --help-all") from error
        return model


MODELS: Registry[ModelRecord] = Registry("model")
"""All models, ours first: `MODELS[name].make(**options)`, `list(MODELS)`."""
MODELS.add(
    ModelRecord(
        "llwlc",
        "our network on constrained eigenbases, alone (--preset)",
        "llwlc.models._llwlc.model:LLwLC",
        "llwlc",
        planned=True,
    )
)
MODELS.add(
    ModelRecord(
        "blend",
        "our network, the stack, the global model and heuristics: a blend, or the best of them",
        "llwlc.models._blend:Blend",
        "blend",
        planned=True,
    )
)
MODELS.add(
    ModelRecord(
        "auto", "the same with baselines, as far as time allows", "llwlc.models._blend:Auto", "auto", planned=True
    )
)
MODELS.add(
    ModelRecord(
        "global",
        "learned filters on the eigenvectors of the whole graph, paths and walks",
        "llwlc.models._global:GlobalModel",
        "global",
    )
)
for _heuristic in (*HEURISTICS.records(), *WALK_HEURISTICS.records()):
    MODELS.add(
        ModelRecord(
            _heuristic.name,
            _heuristic.about,
            "llwlc.models._heuristic:HeuristicModel",
            _heuristic.title,
            (_heuristic.name,),
            trained=False,
        )
    )
MODELS.add(
    ModelRecord(
        "stack",
        "trees on statistics of pairs, and of their ends",
        "llwlc.models._stack.model:Stack",
        "topological stack",
    )
)
for _name, _network, _title, _about in (
    ("mlp", "MLP", "MLP", "an MLP on features, no messages"),
    ("gcn", "GCN", "GCN", "GCN, an MLP on the product of the ends"),
    ("sage", "SAGE", "SAGE", "GraphSAGE, an MLP on the product of the ends"),
    ("gae", "GAE", "GAE", "the tuned graph autoencoder, linear propagation"),
    ("seal", "SEAL", "SEAL", "DGCNN on enclosing subgraphs"),
    ("lanczosnet", "LanczosNet", "LanczosNet", "powers and spectral filters on enclosing subgraphs, no constraints"),
    ("buddy", "BUDDY", "BUDDY", "sketched counts and propagated features"),
    ("neognn", "NeoGNN", "Neo-GNN", "GCN beside learned weights of the nodes that two neighbourhoods share"),
    ("nbfnet", "NBFNet", "NBFNet", "a learned Bellman–Ford iteration from each end to the other"),
    ("surelplus", "SURELPlus", "SUREL+", "the sets of nodes that walks from both ends reach, joined"),
    ("ncn", "NCN", "NCN", "the rows of common neighbours, summed"),
    ("ncnc", "NCNC", "NCNC", "NCN that completes common neighbours"),
    ("ocn", "OCN", "OCN", "common neighbours and those of second order, orthogonal and normalised"),
):
    MODELS.add(
        ModelRecord(_name, _about, "llwlc.models._baseline:Baseline", _title, (f"llwlc.models._{_name}:{_network}",))
    )


def make(name: str, **options: Any) -> LinkModel:
    """The model of this name, not fitted.

    Args:
        name: one of `names()`.
        **options: its options: of a preset, or of a baseline's recipe.

    >>> make("katz").title, make("llwlc", preset="paper").preset.basis.start
    ('Katz', 'random')
    """
    return MODELS[name].make(**options)


def names() -> tuple[str, ...]:
    """The names of all models, ours first, then the heuristics.

    >>> names()[0], names()[-2:]
    ('llwlc', ('ncnc', 'ocn'))
    """
    return tuple(MODELS)


def register(name: str, *, about: str = "", title: str = "") -> Callable[[T], T]:
    """Registers a `LinkModel` of your own, above its class: it then works in `LinkPredictor(model=name)`, and on the
    command line by `--plugin FILE --model NAME`.

    Args:
        name: the name to call it by.
        about: one line about it; by default the first of its docstring.
        title: its name in tables; by default its name.

    >>> from llwlc.models import HeuristicModel
    >>> @register("wedges", about="common neighbours by another name")
    ... class Wedges(HeuristicModel):
    ...     def __init__(self, name="common-neighbors"):
    ...         super().__init__(name)
    >>> make("wedges").name, make("wedges").title
    ('wedges', 'common neighbours')
    >>> MODELS.remove("wedges")
    """

    def add(model: T) -> T:
        what = about or (model.__doc__ or "").strip().partition("\n")[0]
        MODELS.add(ModelRecord(name, what, model, title or name))
        model.name = name  # type: ignore[attr-defined]
        if title:
            model.title = title  # type: ignore[attr-defined]
        return model

    return add


def register_unnamed(model: LinkModel) -> None:
    """Registers the class of a model under its own name where its name is not that of its own record: a run names its
    model, and a subclass is not its parent.
    """
    own = type(model)
    if model.name in MODELS and MODELS[model.name].load() is own:
        return
    register(own.__name__)(own)
    if model.name != own.__name__:
        raise InputError(
            f"{own.__name__} calls itself {model.name!r}, which is another model: leave its name to its class, or"
            " register it under one"
        )
