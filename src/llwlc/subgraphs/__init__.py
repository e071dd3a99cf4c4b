"""Enclosing subgraphs of a batch of node pairs, ragged, with the target link removed."""

from typing import TYPE_CHECKING

from llwlc.support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.subgraphs.batch import Subgraphs as Subgraphs
    from llwlc.subgraphs.batch import concat as concat
    from llwlc.subgraphs.batch import symmetric_weight as symmetric_weight
    from llwlc.subgraphs.extraction import extract as extract
    from llwlc.subgraphs.extraction import stream as stream
    from llwlc.subgraphs.labels import distance_classes as distance_classes
    from llwlc.subgraphs.labels import distance_encoding as distance_encoding
    from llwlc.subgraphs.labels import drnl as drnl

_HOMES = {
    "Subgraphs": "batch",
    "concat": "batch",
    "distance_classes": "labels",
    "distance_encoding": "labels",
    "drnl": "labels",
    "extract": "extraction",
    "stream": "extraction",
    "symmetric_weight": "batch",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
