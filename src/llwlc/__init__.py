"""llwlc: the missing links of a graph, by Lanczos eigenbases under linear constraints.

    graph = llwlc.datasets.load("cora")
    model = llwlc.LinkPredictor().fit(graph)
    model.recommend(top=20)

Names are imported when they are first used, so that the command line answers quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llwlc import baselines as baselines
    from llwlc import constraints as constraints
    from llwlc import datasets as datasets
    from llwlc import expressivity as expressivity
    from llwlc import linalg as linalg
    from llwlc import metrics as metrics
    from llwlc import nn as nn
    from llwlc import splits as splits
    from llwlc import subgraphs as subgraphs
    from llwlc.bases import eigenbasis as eigenbasis
    from llwlc.constraints import Constraints as Constraints
    from llwlc.errors import InputError as InputError
    from llwlc.graph import Graph as Graph
    from llwlc.linalg.basis import Eigenbasis as Eigenbasis
    from llwlc.linalg.filter import spectral_filter as spectral_filter
    from llwlc.linalg.health import health as health
    from llwlc.linalg.lanczos import constrained_lanczos as constrained_lanczos
    from llwlc.linalg.projector import factorization_error as factorization_error
    from llwlc.linksplit import LinkSplit as LinkSplit
    from llwlc.nn import LLwLCConv as LLwLCConv
    from llwlc.nn import LLwLCNet as LLwLCNet
    from llwlc.pipeline import link_bases as link_bases
    from llwlc.pipeline import stream_bases as stream_bases
    from llwlc.predictor import LinkPredictor as LinkPredictor
    from llwlc.subgraphs import Subgraphs as Subgraphs

_MODULES = ("baselines", "constraints", "datasets", "expressivity", "linalg", "metrics", "nn", "splits", "subgraphs")
_HOMES = {
    "Constraints": "constraints",
    "Eigenbasis": "linalg.basis",
    "Graph": "graph",
    "InputError": "errors",
    "LLwLCConv": "nn",
    "LLwLCNet": "nn",
    "LinkPredictor": "predictor",
    "LinkSplit": "linksplit",
    "Subgraphs": "subgraphs",
    "constrained_lanczos": "linalg.lanczos",
    "eigenbasis": "bases",
    "factorization_error": "linalg.projector",
    "health": "linalg.health",
    "link_bases": "pipeline",
    "spectral_filter": "linalg.filter",
    "stream_bases": "pipeline",
}
__all__ = sorted([*_MODULES, *_HOMES])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"llwlc.{name}")
    if name in _HOMES:
        return getattr(import_module(f"llwlc.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'llwlc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
