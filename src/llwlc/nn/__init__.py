"""The network, its layers and poolings, in the conventions of PyG."""

from typing import TYPE_CHECKING

from llwlc.support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.bases.link_batch import LinkBatch as LinkBatch
    from llwlc.nn.config import PAPER as PAPER
    from llwlc.nn.config import NetConfig as NetConfig
    from llwlc.nn.conv import LLwLCConv as LLwLCConv
    from llwlc.nn.conv import SpectralMLP as SpectralMLP
    from llwlc.nn.net import LLwLCNet as LLwLCNet
    from llwlc.nn.pooling import class_pool as class_pool
    from llwlc.nn.pooling import max_pool as max_pool
    from llwlc.nn.pooling import sort_pool as sort_pool
    from llwlc.nn.registry import READOUTS as READOUTS

_HOMES = {
    "LLwLCConv": "conv",
    "LLwLCNet": "net",
    "LinkBatch": "llwlc.bases.link_batch",
    "NetConfig": "config",
    "PAPER": "config",
    "READOUTS": "registry",
    "SpectralMLP": "conv",
    "class_pool": "pooling",
    "max_pool": "pooling",
    "sort_pool": "pooling",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
