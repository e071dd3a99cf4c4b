"""llwlc: the missing links of a graph, by Lanczos eigenbases under linear constraints.

    graph = llwlc.datasets.load("cora")
    model = llwlc.LinkPredictor().fit(graph)
    model.recommend(top=20)

Names are imported when they are first used, so that the command line answers quickly.
"""

from __future__ import annotations

from llwlc._support.lazy import lazy
from llwlc._support.version import VERSION as __version__

TYPE_CHECKING = False  # not imported from typing: the command line can guard against Ctrl-C only after this module
if TYPE_CHECKING:
    from llwlc import bases as bases
    from llwlc import constraints as constraints
    from llwlc import datasets as datasets
    from llwlc import errors as errors
    from llwlc import explain as explain
    from llwlc import graph as graph
    from llwlc import heuristics as heuristics
    from llwlc import linalg as linalg
    from llwlc import metrics as metrics
    from llwlc import models as models
    from llwlc import nn as nn
    from llwlc import ranking as ranking
    from llwlc import relations as relations
    from llwlc import splits as splits
    from llwlc import subgraphs as subgraphs
    from llwlc import training as training
    from llwlc import transforms as transforms
    from llwlc._fitting.fit_metrics import FitMetrics as FitMetrics
    from llwlc._io.database import Query as Query
    from llwlc._predictor import LinkPredictor as LinkPredictor
    from llwlc._predictor import predict_missing_links as predict_missing_links
    from llwlc._support.progress import show_progress as show_progress
    from llwlc._tuning.report import Trial as Trial
    from llwlc._tuning.report import Tuning as Tuning
    from llwlc.bases._config import BasisConfig as BasisConfig
    from llwlc.bases._eigenbasis import eigenbasis as eigenbasis
    from llwlc.bases._link_bases import link_bases as link_bases
    from llwlc.bases._link_bases import stream_bases as stream_bases
    from llwlc.constraints._columns import Constraints as Constraints
    from llwlc.errors import DatasetError as DatasetError
    from llwlc.errors import EngineError as EngineError
    from llwlc.errors import InputError as InputError
    from llwlc.errors import LLwLCError as LLwLCError
    from llwlc.errors import MissingDependencyError as MissingDependencyError
    from llwlc.errors import NotFittedError as NotFittedError
    from llwlc.errors import RunFolderError as RunFolderError
    from llwlc.errors import StorageError as StorageError
    from llwlc.graph._graph import Graph as Graph
    from llwlc.linalg._basis import Eigenbasis as Eigenbasis
    from llwlc.linalg._eigsh import constrained_eigsh as constrained_eigsh
    from llwlc.linalg._filter import spectral_filter as spectral_filter
    from llwlc.linalg._health import health as health
    from llwlc.linalg._lanczos import constrained_lanczos as constrained_lanczos
    from llwlc.linalg._projector import factorization_error as factorization_error
    from llwlc.nn._conv import LLwLCConv as LLwLCConv
    from llwlc.nn._net import LLwLCNet as LLwLCNet
    from llwlc.splits._linksplit import LinkSplit as LinkSplit
    from llwlc.subgraphs._batch import Subgraphs as Subgraphs


_MODULES = (
    "bases",
    "constraints",
    "datasets",
    "errors",
    "explain",
    "graph",
    "heuristics",
    "linalg",
    "metrics",
    "models",
    "nn",
    "ranking",
    "relations",
    "splits",
    "subgraphs",
    "training",
    "transforms",
)
_ERRORS = (
    "DatasetError",
    "EngineError",
    "InputError",
    "LLwLCError",
    "MissingDependencyError",
    "NotFittedError",
    "RunFolderError",
    "StorageError",
)
_HOMES = {
    **dict.fromkeys(_MODULES, ""),
    **dict.fromkeys(_ERRORS, "errors"),
    "BasisConfig": "bases._config",
    "Constraints": "constraints._columns",
    "Eigenbasis": "linalg._basis",
    "FitMetrics": "_fitting.fit_metrics",
    "Graph": "graph._graph",
    "LLwLCConv": "nn._conv",
    "LLwLCNet": "nn._net",
    "LinkPredictor": "_predictor",
    "LinkSplit": "splits._linksplit",
    "Query": "_io.database",
    "Subgraphs": "subgraphs._batch",
    "Trial": "_tuning.report",
    "Tuning": "_tuning.report",
    "constrained_eigsh": "linalg._eigsh",
    "constrained_lanczos": "linalg._lanczos",
    "eigenbasis": "bases._eigenbasis",
    "factorization_error": "linalg._projector",
    "health": "linalg._health",
    "link_bases": "bases._link_bases",
    "predict_missing_links": "_predictor",
    "show_progress": "_support.progress",
    "spectral_filter": "linalg._filter",
    "stream_bases": "bases._link_bases",
}
__all__ = [*sorted(_HOMES), "__version__"]
__getattr__, __dir__ = lazy(__name__, _HOMES)
