"""The network, its layers and poolings, in the conventions of PyG."""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.bases._link_batch import LinkBatch as LinkBatch
    from llwlc.nn._config import PAPER as PAPER
    from llwlc.nn._config import NetConfig as NetConfig
    from llwlc.nn._conv import LLwLCConv as LLwLCConv
    from llwlc.nn._conv import SpectralMLP as SpectralMLP
    from llwlc.nn._global_filters import GlobalFilters as GlobalFilters
    from llwlc.nn._global_filters import GlobalNet as GlobalNet
    from llwlc.nn._learned_constraints import LearnedConstraints as LearnedConstraints
    from llwlc.nn._net import LLwLCNet as LLwLCNet
    from llwlc.nn._pooling import class_pool as class_pool
    from llwlc.nn._pooling import max_pool as max_pool
    from llwlc.nn._pooling import sort_pool as sort_pool
    from llwlc.nn._registry import READOUTS as READOUTS
    from llwlc.nn._registry import register as register

_HOMES = {
    "GlobalFilters": "_global_filters",
    "GlobalNet": "_global_filters",
    "LLwLCConv": "_conv",
    "LLwLCNet": "_net",
    "LearnedConstraints": "_learned_constraints",
    "LinkBatch": "llwlc.bases._link_batch",
    "NetConfig": "_config",
    "PAPER": "_config",
    "READOUTS": "_registry",
    "SpectralMLP": "_conv",
    "class_pool": "_pooling",
    "max_pool": "_pooling",
    "register": "_registry",
    "sort_pool": "_pooling",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
