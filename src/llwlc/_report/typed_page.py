"""The report of a run of typed links as one HTML file: what was measured, the likeliest missing links with their
evidence, and the graph in numbers. It runs no script and fetches nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from llwlc._report.page import format_table, read_asset
from llwlc._support.files import check_parent_folder, write_text
from llwlc._support.text import html_text
from llwlc._support.version import VERSION
from llwlc.relations._explanation import NOTE, describe_population
from llwlc.relations._predictor import RelationPredictor, TypedLink


def write_typed_report(model: RelationPredictor, path: Path, *, top: int) -> None:
    """The report of a fitted predictor of typed links, with its `top` likeliest missing links of any type."""
    check_parent_folder(path)
    write_text(path, typed_report_html(model, top=top))


def typed_report_html(model: RelationPredictor, *, top: int) -> str:
    triples = model.triples_
    links = model.recommend(top=top)
    title = html_text(f"{len(triples):,} links of {len(triples.types):,} types: missing links")
    metrics = [(name.upper() if name == "mrr" else name, f"{100 * x:.2f}") for name, x in model.metrics_.items()]
    numbers = [
        ("nodes", f"{triples.num_nodes:,}"),
        ("types", f"{len(triples.types):,}"),
        ("links", f"{len(triples):,}"),
        ("nodes have types", "no" if model.node_types_ is None else f"{len(set(model.node_types_)):,} of them"),
        ("epochs", f"{model.epoch_:,}, chosen on a tenth of the links"),
    ]
    body = (
        f'<section id="links"><h2>The {len(links):,} likeliest missing links of any type</h2>'
        f"<p>Probabilities hold {html_text(describe_population(0.5))}.</p>{_links(model, links)}"
        f"<p>{html_text(NOTE)}</p></section>"
        '<section id="measured"><h2>What was measured</h2><p>A hidden tenth of the links, the node at either end'
        " predicted among all nodes (filtered ranks, ties counting half, in percent); then the factors were trained on"
        f" all links.</p>{format_table(('', ''), metrics)}</section>"
        f'<section id="graph"><h2>The graph in numbers</h2>{format_table(("", ""), numbers)}'
        f"<h3>By type</h3>{format_table(TYPE_COLUMNS, list_types(model))}</section>"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri"
        " 'none'; form-action 'none'\">"
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><title>{title}</title>'
        f"<style>{read_asset('report.css')}</style></head><body><header><h1>{title}</h1></header><main>{body}</main>"
        f"<footer>llwlc {VERSION}</footer></body></html>\n"
    )


TYPE_COLUMNS = ("type", "links", "sources", "targets", "linked share of the pairs")


def list_types(model: RelationPredictor) -> list[tuple[str, ...]]:
    """For each type: its known links, their sources and targets, and the share of these pairs that are linked."""
    rows: list[tuple[str, ...]] = []
    for kind, name in enumerate(model.triples_.types):
        known = model.triples_.rows[model.triples_.rows[:, 1] == kind]
        starts, ends = len(np.unique(known[:, 0])), len(np.unique(known[:, 2]))
        share = len(known) / max(starts * ends, 1)
        rows.append((name, f"{len(known):,}", f"{starts:,}", f"{ends:,}", f"{100 * share:.1f} %"))
    return rows


def _links(model: RelationPredictor, links: Sequence[TypedLink]) -> str:
    rows = []
    for number, link in enumerate(links, 1):
        asked = model.triples_.find([link[:3]])[0].tolist()
        patterns = model.evidence_.patterns(*asked)[:1]
        why = [
            f"{', '.join(p.steps)}: "
            + (f"{p.linked:,} of {p.pairs:,} such pairs are linked" if p.pairs else "no other pair is joined so")
            for p in patterns
        ]
        rows.append((str(number), *link[:3], f"{link.probability:.3f}", *(why or ["no path of one or two links"])))
    return format_table(("#", "source", "type", "target", "probability", "strongest pattern"), rows)
