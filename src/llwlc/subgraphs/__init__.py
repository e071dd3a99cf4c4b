"""Enclosing subgraphs of a batch of node pairs, ragged, with the target link removed."""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.subgraphs._batch import Subgraphs as Subgraphs
    from llwlc.subgraphs._batch import concat as concat
    from llwlc.subgraphs._batch import symmetric_weight as symmetric_weight
    from llwlc.subgraphs._extraction import extract as extract
    from llwlc.subgraphs._extraction import stream as stream
    from llwlc.subgraphs._labels import distance_classes as distance_classes
    from llwlc.subgraphs._labels import distance_encoding as distance_encoding
    from llwlc.subgraphs._labels import drnl as drnl

_HOMES = {
    "Subgraphs": "_batch",
    "concat": "_batch",
    "distance_classes": "_labels",
    "distance_encoding": "_labels",
    "drnl": "_labels",
    "extract": "_extraction",
    "stream": "_extraction",
    "symmetric_weight": "_batch",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
