"""Charts: as SVG text, in the colours of the page they stand in or as a file of their own, and as matplotlib figures
(extra `plots`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from llwlc._support.text import html_text
from llwlc.errors import MissingDependencyError

WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM, TOP = 440, 240, 46, 16, 34, 22
COLOURS = ("var(--a)", "var(--b)", "var(--c)")
"""Of the page; `to_svg_file` has its own in their place."""
IN_A_FILE = {"var(--a)": "#1f6fb2", "var(--b)": "#c2571a", "var(--c)": "#6f7680", "currentColor": "#333333"}
Points = Sequence[tuple[float, float]]


def choose_ticks(low: float, high: float, whole: bool = False) -> list[float]:
    """Round numbers within bounds, three to six of them where there is room; `whole` ones count something.

    >>> choose_ticks(0, 0.911), choose_ticks(1, 12, whole=True)
    ([0.0, 0.2, 0.4, 0.6, 0.8], [2.0, 4.0, 6.0, 8.0, 10.0, 12.0])
    """
    unit = 10.0 ** math.floor(math.log10((high - low) / 2))
    steps = [max(unit * times, 1.0) if whole else unit * times for times in (0.5, 1, 2, 5)]
    step = next((s for s in steps if (high - low) / s <= 6), steps[-1])
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(step * k, 12) for k in range(first, last + 1)]


def _axis(low: float, high: float) -> tuple[float, float]:
    """The ends of an axis; values that differ by rounding alone lie on a line, since there are no ticks between
    them.
    """
    size = max(abs(low), abs(high), 1e-9)
    return (low, high) if high - low > 1e-9 * size else (low, low + max(size, 1.0))


class Frame:
    """Axes from data to pixels, with ticks at round numbers."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], titles: tuple[str, str]) -> None:
        self.x0, self.x1 = _axis(*x)
        self.y0, self.y1 = _axis(*y)
        self.titles = titles

    def x(self, value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (value - self.x0) / (self.x1 - self.x0), 1)

    def y(self, value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * (value - self.y0) / (self.y1 - self.y0), 1)

    def svg(self, inside: str, names: Sequence[str] = (), heading: str = "") -> str:
        ticks = [
            f'<text x="{self.x(value)}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{value:g}</text>'
            for value in choose_ticks(self.x0, self.x1, whole=self.titles[0] == "epoch")
        ]
        ticks += [
            f'<text x="{LEFT - 6}" y="{self.y(value) + 4}" text-anchor="end">{value:g}</text>'
            for value in choose_ticks(self.y0, self.y1)
        ]
        # above the lines, not over them; by a style, since the page's own rule for text would win over an attribute
        legend = "   ".join(
            f'<tspan style="fill:{COLOURS[i]}">{html_text(name)}</tspan>' for i, name in enumerate(names)
        ) or html_text(heading)
        about = html_text(f"{self.titles[1]} by {self.titles[0]}")
        return (
            f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{about}"><path d="M{LEFT}'
            f' {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="currentColor"'
            f' opacity="0.5"/>{inside}{"".join(ticks)}<text x="{WIDTH - RIGHT}" y="12" text-anchor="end"'
            f' xml:space="preserve">{legend}</text><text x="4" y="12">{html_text(self.titles[1])}</text><text'
            f' x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 4}" text-anchor="middle">{html_text(self.titles[0])}</text></svg>'
        )


def lines(series: Mapping[str, Points], titles: tuple[str, str]) -> str:
    """One line for each name."""
    points = [point for line in series.values() for point in line]
    if not points:
        return ""
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    frame = Frame((min(xs), max(xs)), (min(ys), max(ys)), titles)
    inside = ""
    for i, line in enumerate(series.values()):
        path = " ".join(f"{frame.x(x)},{frame.y(y)}" for x, y in line)
        inside += f'<polyline points="{path}" fill="none" stroke="{COLOURS[i]}" stroke-width="2"/>'
    return frame.svg(inside, list(series))


def histogram(series: Mapping[str, Sequence[float]], titles: tuple[str, str], bins: int = 40) -> str:
    """Shares of each series in equal bins, one over the other."""
    values = [v for line in series.values() for v in line]
    if not values:
        return ""
    low, high = min(values), max(values)
    width = (high - low) / bins or 1.0
    shares = []
    for line in series.values():
        counts = [0] * bins
        for v in line:
            counts[min(int((v - low) / width), bins - 1)] += 1
        shares.append([c / max(len(line), 1) for c in counts])
    frame = Frame((low, low + width * bins), (0, max(max(s) for s in shares)), titles)
    inside = ""
    for i, counts_of in enumerate(shares):
        for k, share in enumerate(counts_of):
            if share:
                x, y = frame.x(low + k * width), frame.y(share)
                inside += (
                    f'<rect x="{x}" y="{y}" width="{max(frame.x(low + (k + 1) * width) - x - 0.5, 0.5):.1f}"'
                    f' height="{frame.y(0) - y:.1f}" fill="{COLOURS[i]}" opacity="0.55"/>'
                )
    return frame.svg(inside, list(series))


def draw_reliability_diagram(
    bins: Points, titles: tuple[str, str], *, names: Sequence[str] = (), heading: str = ""
) -> str:
    """A point for each bin of predicted probabilities, by the observed share; on the dashed line they agree. `names`:
    of the points, shown on hovering.
    """
    if not bins and not heading:
        return ""
    top = min(1.05 * max([0.05, *(value for pair in bins for value in pair)]), 1.0)
    frame = Frame((0, top), (0, top), titles)
    inside = (
        f'<line x1="{frame.x(0)}" y1="{frame.y(0)}" x2="{frame.x(top)}" y2="{frame.y(top)}" stroke="currentColor"'
        ' opacity="0.5" stroke-dasharray="4"/>'
    )
    for i, (predicted, observed) in enumerate(bins):
        about = f"{names[i]}: " if names else ""
        about += f"predicted {100 * predicted:.1f} %, observed {100 * observed:.1f} %"
        inside += (
            f'<circle cx="{frame.x(predicted)}" cy="{frame.y(observed)}" r="4.5" fill="{COLOURS[0]}"'
            f' opacity="0.85"><title>{html_text(about)}</title></circle>'
        )
    return frame.svg(inside, heading=heading)


def to_svg_file(svg: str) -> str:
    """The chart as an SVG file: with a namespace, a size, a white ground and colours of its own."""
    for name, colour in IN_A_FILE.items():
        svg = svg.replace(name, colour)
    head, _, rest = svg.partition(">")
    about = (
        f'xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="11"'
    )
    return f'{head} {about}><rect width="100%" height="100%" fill="white"/>{rest}\n'


def new_figure(width: float = 5.5, height: float = 3.6) -> tuple[Any, Any]:
    """A matplotlib figure outside pyplot's global state, and its axes."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError(
            "pictures need matplotlib: pip install 'llwlc[plots]'", name="matplotlib"
        ) from error
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()
