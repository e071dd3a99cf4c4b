"""The report as one HTML file: styles, script and data inside, nothing fetched, nothing that a name could run."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from llwlc._predictor import LinkPredictor
from llwlc._report.links import explain_links
from llwlc._report.measurements import FALSE_POSITIVE_RATE, Bin, LinkMeasurements, measure_test_links
from llwlc._runs.model_card import (
    RANKING_COLUMNS,
    model_card,
    ranking_rows,
    result_columns,
    result_notes,
    result_rows,
)
from llwlc._runs.plain_summary import describe_expected, describe_trust
from llwlc._support import charts
from llwlc._support.files import check_parent_folder, write_text
from llwlc._support.stopwatch import stage
from llwlc._support.text import html_text
from llwlc._support.version import VERSION
from llwlc.explain._explainer import why_not_explainable
from llwlc.explain._parts import list_parts
from llwlc.ranking._recommendations import Recommendations

TOP = 100


def write_report(model: LinkPredictor, path: Path, *, top: int = TOP) -> None:
    """The report of a fitted run with its `top` likeliest missing links."""
    check_parent_folder(path)
    text = report_html(model, top=top)
    with stage("writing"):
        write_text(path, text)


def read_asset(name: str) -> str:
    return files("llwlc._report").joinpath("files", name).read_text(encoding="utf-8")


def escape_for_script(data: Any) -> str:
    """JSON that may stand inside a script element: no `<` can end it early."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def report_html(model: LinkPredictor, *, top: int = TOP) -> str:
    found = model.recommend(top=top)
    with stage("explaining"):
        names, links = explain_links(found, model)
    unexplained = why_not_explainable(model.fitted_)
    parts = [] if unexplained else [[part.name, part.about] for part in list_parts(model.explainer_.model.fitted)]
    data = {
        "names": names, "links": links, "parts": parts, "unexplained": unexplained, "directed": found.directed
    }  # fmt: skip
    script = read_asset("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action"
        " 'none'"
    )
    title = html_text(f"{model.run_.info.graph_name}: missing links")
    with stage("measuring"):
        measurements = measure_test_links(model)
    with stage("drawing"):
        body = "".join(_sections(model, measurements, found))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><title>{title}</title>'
        f"<style>{read_asset('report.css')}</style></head><body><header><h1>{title}</h1>"
        '<nav><a href="#summary">Summary</a> <a href="#links">Missing links</a> <a href="#measured">Measured</a> <a'
        ' href="#graph">Graph</a> <a'
        f' href="#card">Model card</a></nav></header><main>{body}</main>'
        f'<footer>llwlc {VERSION}</footer><script type="application/json"'
        f' id="data">{escape_for_script(data)}</script><script>{script}</script></body></html>\n'
    )


def _sections(model: LinkPredictor, measurements: LinkMeasurements, found: Recommendations) -> list[str]:
    fitted, split, graph = model.fitted_, model.run_.split, model.graph_
    parts = [_summary_section(model, found), _links_section(found)]
    history = fitted.history
    curves = {"validation, random pairs": [(float(r.epoch), r.valid_auc) for r in history]}
    if history and history[0].valid_candidates is not None:
        curves["validation, candidates"] = [(float(r.epoch), r.valid_candidates or 0.0) for r in history]
    loss = {"training loss": [(float(r.epoch), r.loss) for r in history]}
    figures = [
        _figure(charts.lines(curves, ("epoch", "AUC")), "Validation AUC by epoch"),
        _figure(charts.lines(loss, ("epoch", "loss")), "Training loss by epoch"),
        _figure(
            charts.histogram(
                {"links": measurements.links.tolist(), "non-links": measurements.non_links.tolist()}, ("score", "share")
            ),
            "Scores of test links and non-links",
        ),
        _figure(
            charts.draw_reliability_diagram(
                measurements.reliability, ("predicted probability", "observed share of links")
            ),
            "Reliability among random pairs, test links and as many non-links",
        ),
    ]
    ranking = fitted.metrics.ranking
    if ranking is not None:
        figures.append(
            _figure(
                charts.draw_reliability_diagram(
                    ranking.reliability.bins, ("predicted probability", "observed share of hidden links")
                ),
                f"Reliability of the best {100 * len(ranking.reliability.bins):,} candidates, {ranking.population}"
                " links hidden",
            )
        )
    parts.append(
        f'<section id="measured"><h2>What was measured</h2><p>{html_text(result_notes(fitted, split))}</p>'
        + ("" if fitted.metrics.direction is None else f"<p>{html_text(fitted.metrics.direction.sentence)}</p>")
        + f"{format_table(result_columns(split), result_rows(fitted, split))}"
        + ("" if ranking is None else f"<h3>Recommendations</h3>{format_table(RANKING_COLUMNS, ranking_rows(ranking))}")
        + f'<div class="figures">{"".join(figures)}</div>'
        + f"<h3>By distance between the ends</h3>{_bins(measurements.by_distance, 'distance')}"
        + f"<h3>By the smaller degree of the ends</h3>{_bins(measurements.by_degree, 'degree')}</section>"
    )
    parts.append(
        f'<section id="graph"><h2>The graph in numbers</h2>{format_table(("", ""), list_graph_rows(model))}</section>'
    )
    parts.append(
        f'<section id="card"><h2>Model card</h2><pre>{escape_lines(model_card(fitted, graph, split))}</pre></section>'
    )
    return parts


def escape_lines(text: str) -> str:
    return "\n".join(html_text(line) for line in text.splitlines())


def list_graph_rows(model: LinkPredictor) -> list[tuple[str, str]]:
    """What a graph is like, in a table of two columns."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = model.graph_
    n, degree = graph.num_nodes, graph.degree.numpy()
    data = np.ones(len(graph.indices), dtype=np.int8)
    matrix = csr_array((data, graph.indices.numpy(), graph.indptr.numpy()), shape=(n, n))
    count, label = connected_components(matrix, directed=False)
    largest = int(np.bincount(label).max()) if n else 0
    rows = [
        ("nodes", f"{n:,}"),
        ("links", f"{graph.num_edges:,}"),
        ("links per node, mean, median and most", f"{degree.mean():.2f}, {np.median(degree):.0f}, {degree.max():,}"),
        ("nodes without a link", f"{int((degree == 0).sum()):,}"),
        ("components, nodes of the largest", f"{count:,}, {largest:,}"),
        ("density", f"{2 * graph.num_edges / max(n * (n - 1), 1):.3g}"),
    ]
    if graph.x is not None:
        rows.append(("features per node", f"{graph.x.shape[1]:,}"))
    if graph.weight is not None:
        rows.append(("links have weights", "yes"))
    if graph.forward is not None:
        both = len(graph.arcs) - graph.num_edges
        rows.append(("links one way, both ways", f"{graph.num_edges - both:,}, {both:,}"))
    return rows


def _summary_section(model: LinkPredictor, found: Recommendations) -> str:
    """What the report says to a reader who does not know the field, with its date."""
    graph = model.graph_
    about = (
        f"{model.run_.info.graph_name} has {graph.num_nodes:,} nodes joined by {graph.num_edges:,} known links. This"
        f" report lists the {len(found):,} pairs without a link that are most likely to be links missing from the data."
        " Each is a suggestion to check, not a fact."
    )
    sign = "–" if graph.forward is None else "→"
    first = [f"{link.source} {sign} {link.target} ({link.probability:.2f})" for link in found[:3]]
    sentences = [about, describe_trust(model.fitted_)]
    if first:
        shown = f"The first, with their probabilities: {', '.join(first)}."
        sentences.insert(1, f"{shown} {describe_expected(found)}")
    paragraphs = "".join(f"<p>{html_text(sentence)}</p>" for sentence in sentences)
    return f'<section id="summary"><h2>Summary, {date.today().isoformat()}</h2>{paragraphs}</section>'


def _links_section(found: Recommendations) -> str:
    share, low, high = (100 * value for value in found.expected)
    way = column = ""
    if found.directed:
        way = (
            "\nA link points from source to target, and its probability is that of the link and of its direction. The"
            "\ncolumn direction is the probability that a link of these two nodes, if there is one, points this way."
        )
        column = '<th><button data-key="way">direction</button></th>'
    return f"""<section id="links"><h2>The {len(found):,} likeliest missing links</h2>
<p>Probability among candidates, {found.condition}: {share:.0f} % of these are expected to be missing links
({low:.0f} to {high:.0f} % in nine cases of ten).{way}</p>
<div class="tools"><label>Search <input id="search" type="search" placeholder="a name"></label>
<label>Probability at least <input id="least" type="number" min="0" max="1" step="0.01" value="0"></label>
<label>Ends <select id="kind"><option value="">all</option><option value="share">share a neighbour</option>
<option value="apart">share none</option></select></label>
<span id="count" role="status"></span></div>
<div class="split"><div class="scroll"><table id="table"><thead><tr><th><button data-key="rank">#</button></th>
<th><button data-key="u">source</button></th><th><button data-key="v">target</button></th>
<th><button data-key="p">probability</button></th><th>90 % range</th>
<th><button data-key="cn" title="common neighbours">common</button></th>
<th><button data-key="d">distance</button></th>{column}</tr></thead><tbody></tbody></table></div>
<aside id="detail" tabindex="-1" aria-live="polite">
<p>Choose a link to see its surroundings and its reasons.</p></aside></div></section>"""


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{html_text(caption)}</figcaption></figure>" if svg else ""


def format_table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = "" if not any(columns) else f"<tr>{''.join(f'<th>{html_text(c)}</th>' for c in columns)}</tr>"
    lines = "".join(f"<tr>{''.join(f'<td>{html_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table class="numbers">{head}{lines}</table></div>'


def _bins(bins: tuple[Bin, ...], what: str) -> str:
    columns = (
        what,
        "test links",
        f"found at {100 * FALSE_POSITIVE_RATE:.0f} % false positives",
        "non-links",
        "of them wrongly above",
    )
    return format_table(
        columns,
        [
            (
                b.name,
                f"{b.links:,}",
                f"{100 * b.found:.1f} %",
                f"{b.non_links:,}",
                f"{100 * b.false_positive_rate:.1f} %" if b.non_links else "–",
            )
            for b in bins
        ],
    )
