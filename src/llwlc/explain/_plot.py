"""An explanation's subgraph as a matplotlib figure."""

from __future__ import annotations

from typing import Any

from llwlc._support.charts import new_figure
from llwlc._support.text import escape_controls, shortened
from llwlc.errors import InputError
from llwlc.explain._records import Reasons
from llwlc.explain._svg import edge_colour


def plot_drawing(reasons: Reasons, eigenvector: int) -> Any:
    """The figure; `eigenvector` is an index of `found.eigenvectors`."""
    if not 0 <= eigenvector < max(len(reasons.eigenvectors), 1):
        raise InputError(f"eigenvector is 0 to {len(reasons.eigenvectors) - 1}, got {eigenvector}")
    drawing = reasons.drawing
    figure, axes = new_figure(5.5, 5)
    most = max((abs(lost) for _, _, lost in drawing.edges if lost is not None), default=0.0)
    for a, b, lost in drawing.edges:
        ends = [drawing.nodes[i] for i in (a, b)]
        width = 0.6 + (2.4 * abs(lost) / most if lost and most else 0)
        axes.plot([n.x for n in ends], [n.y for n in ends], color=edge_colour(lost, most), linewidth=width, zorder=1)
    pair = drawing.nodes[:2]
    axes.plot([n.x for n in pair], [n.y for n in pair], color="#b3261e", linestyle="--", zorder=2)
    entries = [n.vectors[eigenvector] if n.vectors else 0.0 for n in drawing.nodes]
    largest = max(map(abs, entries), default=0.0) or 1.0
    dots = axes.scatter(
        [n.x for n in drawing.nodes],
        [n.y for n in drawing.nodes],
        c=entries,
        s=[120 if i < 2 else 40 for i in range(len(entries))],
        cmap="PuOr",
        vmin=-largest,
        vmax=largest,
        edgecolors="#444",
        zorder=3,
    )
    for node in pair:
        axes.annotate(
            escape_controls(shortened(node.name, 24)).replace("$", r"\$"), (node.x, node.y + 0.06), ha="center"
        )
    value = f", λ = {reasons.eigenvectors[eigenvector].value:.3f}" if reasons.eigenvectors else ""
    figure.colorbar(dots, ax=axes, label=f"eigenvector {eigenvector}{value}", shrink=0.8)
    axes.set_axis_off()
    return figure
