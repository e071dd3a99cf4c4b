"""llwlc: the missing links of a graph, by Lanczos eigenbases under linear constraints.

    graph = llwlc.datasets.load("cora")
    model = llwlc.LinkPredictor().fit(graph)
    model.recommend(top=20)

Names are imported when they are first used, so that the command line answers quickly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llwlc.support.lazy import lazy
from llwlc.support.version import VERSION as __version__

if TYPE_CHECKING:
    from llwlc import baselines as baselines
    from llwlc import constraints as constraints
    from llwlc import datasets as datasets
    from llwlc import expressivity as expressivity
    from llwlc import heuristics as heuristics
    from llwlc import linalg as linalg
    from llwlc import metrics as metrics
    from llwlc import nn as nn
    from llwlc import splits as splits
    from llwlc import subgraphs as subgraphs
    from llwlc.bases.config import BasisConfig as BasisConfig
    from llwlc.bases.eigenbasis import eigenbasis as eigenbasis
    from llwlc.bases.link_bases import link_bases as link_bases
    from llwlc.bases.link_bases import stream_bases as stream_bases
    from llwlc.constraints.columns import Constraints as Constraints
    from llwlc.errors import InputError as InputError
    from llwlc.graph.graph import Graph as Graph
    from llwlc.linalg.basis import Eigenbasis as Eigenbasis
    from llwlc.linalg.filter import spectral_filter as spectral_filter
    from llwlc.linalg.health import health as health
    from llwlc.linalg.lanczos import constrained_lanczos as constrained_lanczos
    from llwlc.linalg.projector import factorization_error as factorization_error
    from llwlc.nn.conv import LLwLCConv as LLwLCConv
    from llwlc.nn.net import LLwLCNet as LLwLCNet
    from llwlc.predict.predictor import LinkPredictor as LinkPredictor
    from llwlc.splits.linksplit import LinkSplit as LinkSplit
    from llwlc.subgraphs.batch import Subgraphs as Subgraphs


_MODULES = (
    "baselines",
    "constraints",
    "datasets",
    "expressivity",
    "heuristics",
    "linalg",
    "metrics",
    "nn",
    "splits",
    "subgraphs",
)
_HOMES = {
    **dict.fromkeys(_MODULES, ""),
    "BasisConfig": "bases.config",
    "Constraints": "constraints.columns",
    "Eigenbasis": "linalg.basis",
    "Graph": "graph.graph",
    "InputError": "errors",
    "LLwLCConv": "nn.conv",
    "LLwLCNet": "nn.net",
    "LinkPredictor": "predict.predictor",
    "LinkSplit": "splits.linksplit",
    "Subgraphs": "subgraphs.batch",
    "constrained_lanczos": "linalg.lanczos",
    "eigenbasis": "bases.eigenbasis",
    "factorization_error": "linalg.projector",
    "health": "linalg.health",
    "link_bases": "bases.link_bases",
    "spectral_filter": "linalg.filter",
    "stream_bases": "bases.link_bases",
}
__all__ = [*sorted(_HOMES), "__version__"]
__getattr__, __dir__ = lazy(__name__, _HOMES)
