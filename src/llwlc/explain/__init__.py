"""Why a pair has its score: parts of the readout, eigenvectors, filters, edges, common neighbours, paths, features and
similar links.

Use it by `LinkPredictor.explain`.
"""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.explain._explanation import Explanation as Explanation

_HOMES = {
    "Explanation": "_explanation",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
