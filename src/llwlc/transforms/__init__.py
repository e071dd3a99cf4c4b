"""Constrained eigenbases for anybody's PyG model: a transform like those of `torch_geometric.transforms`."""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.transforms._constrained_basis import AddConstrainedBasis as AddConstrainedBasis

_HOMES = {"AddConstrainedBasis": "_constrained_basis"}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
