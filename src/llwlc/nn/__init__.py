"""The network, in PyG's manner."""

from llwlc.nn.batch import LinkBatch
from llwlc.nn.conv import LLwLCConv, SpectralMLP
from llwlc.nn.net import PRESETS, LLwLCNet, NetConfig, preset
from llwlc.nn.pool import class_pool, max_pool, sort_pool

__all__ = [
    "PRESETS",
    "LLwLCConv",
    "LLwLCNet",
    "LinkBatch",
    "NetConfig",
    "SpectralMLP",
    "class_pool",
    "max_pool",
    "preset",
    "sort_pool",
]
