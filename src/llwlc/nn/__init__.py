"""The network, in PyG's manner."""

from llwlc.nn.batch import LinkBatch
from llwlc.nn.conv import LLwLCConv, SpectralMLP
from llwlc.nn.net import PAPER, LLwLCNet, NetConfig
from llwlc.nn.pool import class_pool, max_pool, sort_pool

__all__ = [
    "PAPER",
    "LLwLCConv",
    "LLwLCNet",
    "LinkBatch",
    "NetConfig",
    "SpectralMLP",
    "class_pool",
    "max_pool",
    "sort_pool",
]
