"""Candidates, the likeliest missing link first: shortlist, ranking, calibration, and how good such lists are."""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.ranking._list_quality import ListQuality as ListQuality
    from llwlc.ranking._list_quality import RankingReport as RankingReport
    from llwlc.ranking._recommendations import Recommendation as Recommendation
    from llwlc.ranking._recommendations import Recommendations as Recommendations
    from llwlc.ranking._scored_table import ScoredTable as ScoredTable
    from llwlc.ranking._scored_table import Scores as Scores

_HOMES = {
    "ListQuality": "_list_quality",
    "RankingReport": "_list_quality",
    "Recommendation": "_recommendations",
    "Recommendations": "_recommendations",
    "ScoredTable": "_scored_table",
    "Scores": "_scored_table",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
