"""The enclosing subgraph as an SVG picture: the pair marked, edges coloured by what they contribute, nodes by an
eigenvector.
"""

from __future__ import annotations

from llwlc._support.text import html_text, shortened
from llwlc.explain._records import Drawing

SIDE = 420
FOR, AGAINST, PLAIN = "#1f6fb2", "#c2571a", "#9aa0a6"
"""Colours of edges that speak for the link, against it, and that hardly matter; distinguishable without red and
green.
"""


def edge_colour(lost: float | None, most: float) -> str:
    if lost is None or abs(lost) < 0.05 * most:
        return PLAIN
    return FOR if lost > 0 else AGAINST


def node_colour(value: float, most: float) -> str:
    """From orange over white to blue, by the sign and size of an entry."""
    share = max(-1.0, min(1.0, value / most)) if most else 0.0
    full = (31, 111, 178) if share > 0 else (194, 87, 26)
    red, green, blue = (round(255 + (c - 255) * abs(share)) for c in full)
    return f"#{red:02x}{green:02x}{blue:02x}"


def as_svg(drawing: Drawing, *, eigenvector: int = 0, labels: int = 14) -> str:
    """Names of the two ends and of the first nodes stand beside them, all others show on hovering."""

    def x(value: float) -> float:
        return round(SIDE / 2 * (1 + 0.88 * value), 1)

    nodes = drawing.nodes
    most = max((abs(lost) for _, _, lost in drawing.edges if lost is not None), default=0.0)
    entries = [n.vectors[eigenvector] if eigenvector < len(n.vectors) else 0.0 for n in nodes]
    largest = max(map(abs, entries), default=0.0)
    parts = [f'<svg class="llwlc-graph" viewBox="0 0 {SIDE} {SIDE}" role="img" aria-label="the enclosing subgraph">']
    ordered = sorted(drawing.edges, key=lambda e: abs(e[2] or 0.0))  # the largest effects are drawn on top
    for a, b, lost in ordered:
        width = 0.8 + (3.2 * abs(lost) / most if lost and most else 0)
        about = f"{nodes[a].name} – {nodes[b].name}: {'not tried' if lost is None else f'{lost:+.2f}'}"
        parts.append(
            f'<line x1="{x(nodes[a].x)}" y1="{x(nodes[a].y)}" x2="{x(nodes[b].x)}" y2="{x(nodes[b].y)}" '
            f'stroke="{edge_colour(lost, most)}" stroke-width="{width:.1f}"><title>{html_text(about)}</title></line>'
        )
    u, v = nodes[:2]
    parts.append(
        f'<line x1="{x(u.x)}" y1="{x(u.y)}" x2="{x(v.x)}" y2="{x(v.y)}" stroke="#b3261e" stroke-width="2.5"'
        ' stroke-dasharray="7 5"><title>the predicted link</title></line>'
    )
    for i, node in enumerate(nodes):
        end = i < 2
        parts.append(
            f'<circle cx="{x(node.x)}" cy="{x(node.y)}" r="{9 if end else 5}" fill="{node_colour(entries[i], largest)}"'
            f' stroke="{"#b3261e" if end else "#444"}"'
            f' stroke-width="{3 if end else 1}"><title>{html_text(node.name)}</title></circle>'
        )
        if end or (i < labels and len(nodes) <= 40):
            parts.append(
                f'<text x="{x(node.x)}" y="{x(node.y) - (13 if end else 8)}" text-anchor="middle"'
                f' font-size="{13 if end else 9}">{html_text(shortened(node.name, 24))}</text>'
            )
    parts.append("</svg>")
    return "".join(parts)
