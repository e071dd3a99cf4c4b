"""The reliability picture of a run: predicted probabilities of its best candidates against shares of hidden links."""

from __future__ import annotations

from llwlc._support.charts import draw_reliability_diagram, to_svg_file
from llwlc.ranking._list_quality import RankingReport


def draw_reliability(report: RankingReport) -> str:
    """An SVG file: a point for each hundred of the best thousand candidates."""
    bins = report.reliability.bins
    names = [f"best {100 * rank + 1} to {100 * (rank + 1)}" for rank in range(len(bins))]
    heading = f"the best {100 * len(bins):,} candidates, {report.population} links"
    return to_svg_file(
        draw_reliability_diagram(bins, ("predicted probability", "share of hidden links"), names=names, heading=heading)
    )
