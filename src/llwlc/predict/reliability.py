"""The reliability picture of a run: predicted probabilities of its best candidates against shares of hidden links."""

from __future__ import annotations

from llwlc.training.list_quality import RankingReport

SIDE, EDGE = 320, 50


def reliability_picture(report: RankingReport) -> str:
    """An SVG: a point for each hundred of the best thousand candidates; on the dashed line, predicted and observed shares agree."""
    bins = report.reliability.bins
    top = max([0.05, *(value for pair in bins for value in pair)])
    top = next(limit for limit in (0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0) if top <= limit)

    def x(share: float) -> float:
        return EDGE + SIDE * share / top

    def y(share: float) -> float:
        return EDGE + SIDE * (1 - share / top)

    ticks = [top * i / 5 for i in range(6)]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE + 2 * EDGE}" height="{SIDE + 2 * EDGE}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<line x1="{x(0)}" y1="{y(0)}" x2="{x(top)}" y2="{y(top)}" stroke="#999" stroke-dasharray="4"/>',
        f'<rect x="{EDGE}" y="{EDGE}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#333"/>',
    ]
    for tick in ticks:
        label = f"{100 * tick:.0f}"
        parts.append(f'<text x="{x(tick):.1f}" y="{EDGE + SIDE + 18}" text-anchor="middle">{label}</text>')
        parts.append(f'<text x="{EDGE - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{label}</text>')
    for rank, (predicted, true) in enumerate(bins):
        about = f"best {100 * rank + 1} to {100 * (rank + 1)}: predicted {100 * predicted:.1f} %, observed {100 * true:.1f} %"
        parts.append(
            f'<circle cx="{x(predicted):.1f}" cy="{y(true):.1f}" r="5" fill="#1f77b4" fill-opacity="0.8"><title>{about}</title></circle>'
        )
    parts += [
        f'<text x="{EDGE + SIDE / 2}" y="{SIDE + 2 * EDGE - 10}" text-anchor="middle">predicted probability, %</text>',
        f'<text x="14" y="{EDGE + SIDE / 2}" text-anchor="middle" transform="rotate(-90 14 {EDGE + SIDE / 2})">hidden links, %</text>',
        f'<text x="{EDGE + SIDE / 2}" y="24" text-anchor="middle">the best {100 * len(bins):,} candidates, {report.population} links</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
