"""An explanation as HTML: a fragment for notebooks, a whole page for a file. Every name is escaped."""

from __future__ import annotations

from llwlc._support.text import html_text as shown
from llwlc._support.text import shortened
from llwlc.explain._records import Reasons
from llwlc.explain._svg import as_svg
from llwlc.explain._text import format_headline, format_path, format_probability, format_score, make_tables

STYLE = """
.llwlc{font:14px/1.45 system-ui,sans-serif;max-width:64rem}
.llwlc h3{margin:1.1em 0 .3em;font-size:1em;overflow-wrap:anywhere}
.llwlc table{border-collapse:collapse;font-size:13px}
.llwlc td{padding:1px 8px 1px 0;text-align:left;vertical-align:middle;overflow-wrap:anywhere}
.llwlc td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.llwlc .bar{display:inline-block;height:9px;background:#1f6fb2}
.llwlc .bar.against{background:#c2571a}
.llwlc .dim{opacity:.7}
.llwlc svg{width:100%;max-width:28rem;height:auto}
.llwlc svg text{fill:currentColor}
"""
PAGE = """
:root{color-scheme:light dark}
body{margin:1.5rem auto;padding:0 1rem;max-width:64rem;background:Canvas;color:CanvasText}
"""


def as_fragment(reasons: Reasons, top: int) -> str:
    lines = "".join(f"<div>probability <b>{shown(format_probability(s))}</b></div>" for s in reasons.predictions)
    lines += f"<div>score <b>{shown(format_score(reasons))}</b></div>"
    parts = [
        f'<style>{STYLE}</style><div class="llwlc"><h3>{shown(format_headline(reasons))}</h3>{lines}',
        as_svg(reasons.drawing),
    ]
    drawing = reasons.drawing
    parts.append(
        f'<div class="dim">{len(drawing.nodes)} of {drawing.all_nodes:,} nodes and {len(drawing.edges)} of'
        f" {drawing.all_edges:,} edges of the enclosing subgraph; dashed: the pair; blue speaks for the link, orange"
        " against it; nodes by the first eigenvector</div>"
    )
    for title, rows in make_tables(reasons, top):
        if not rows:
            continue
        widest = max(abs(effect) for _, effect, _ in rows) or 1.0
        lines = "".join(
            f'<tr><td class="n">{effect:+.2f}</td><td><span class="bar{"" if effect > 0 else " against"}"'
            f' style="width:{90 * abs(effect) / widest:.0f}px"></span></td><td>{shown(what)} <span'
            f' class="dim">{shown(remark)}</span></td></tr>'
            for what, effect, remark in rows
        )
        parts.append(f"<h3>{shown(title)}</h3><table>{lines}</table>")
    if reasons.features:
        features = ", ".join(f"{shown(shortened(f.name))}: {f.share:+.3f}" for f in reasons.features[:top])
        parts.append(
            f"<h3>Features, and what each adds to the cosine of the raw features, {reasons.cosine:.3f}</h3>{features}"
        )
    if reasons.similar:
        rows_of_links = "".join(
            f'<tr><td>{shown(format_path((s.source, s.target)))} <span class="dim">distance {s.distance:.2f},'
            f" probability {s.probability:.3f}</span></td></tr>"
            for s in reasons.similar[:top]
        )
        parts.append(f"<h3>Existing links that the network reads most alike</h3><table>{rows_of_links}</table>")
    parts.append(f'<p class="dim">{shown(" ".join(reasons.notes))}</p></div>')
    return "".join(parts)


def as_page(reasons: Reasons, top: int) -> str:
    title = shown(f"{reasons.source} – {reasons.target}")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport"'
        ' content="width=device-width,initial-scale=1">'
        # nothing in it can run or be fetched, whatever a name says
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{PAGE}</style></head><body>{as_fragment(reasons, top)}</body></html>\n"
    )
