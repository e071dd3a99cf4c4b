"""Links of several types: read from a table with a column of types, predicted for one type or any."""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.relations._explanation import TypedExplanation as TypedExplanation
    from llwlc.relations._predictor import RelationPredictor as RelationPredictor
    from llwlc.relations._predictor import TypedLink as TypedLink
    from llwlc.relations._triples import Triples as Triples
    from llwlc.relations._triples import read_triples as read_triples

_HOMES = {
    "RelationPredictor": "_predictor",
    "Triples": "_triples",
    "TypedExplanation": "_explanation",
    "TypedLink": "_predictor",
    "read_triples": "_triples",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
