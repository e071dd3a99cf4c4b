"""An explanation as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llwlc.explain.records import Reasons, Removal, Said
from llwlc.support.text import shortened

BAR = 20


def as_text(found: Reasons, top: int) -> str:
    """The text, with names as they are: pass it through `support.text.visible` before printing it."""
    return "\n".join(_lines(found, top)) + "\n"


def headline(found: Reasons) -> str:
    kind = "a link of the graph, looked at as if it were not there" if found.linked else "no link of the graph"
    return f"{found.source} – {found.target}: {kind}"


def probability_line(said: Said) -> str:
    """The chance with the population that it is about."""
    spread = "" if said.low is None or said.high is None else f" ({said.low:.3f} to {said.high:.3f})"
    return f"{said.probability:.3f}{spread} {said.about}"


def way(nodes: Sequence[str]) -> str:
    """Nodes in a row of a table, where a name of hundreds of letters would hide the others; the headline has whole names."""
    return " – ".join(map(shortened, nodes))


def sections(found: Reasons, top: int) -> Iterator[tuple[str, list[tuple[str, float, str]]]]:
    """Tables of (what, effect in log-odds, remark), under their titles; the largest effects of each."""
    yield (
        f"What adds up to the score, from an average random pair ({found.reference:+.2f}) to this one ({found.said[0].log_odds:+.2f})",
        [(part.name, part.effect, part.about) for part in found.parts],
    )
    yield "Edges, and what is lost without each", _removals(found.edges, top)
    yield "Common neighbours, and what is lost without both of their edges", _removals(found.common_neighbors, top)
    yield "Whole paths, and what is lost without all of their edges", _removals(found.paths, top)
    yield (
        "Eigenvectors of the constrained Laplacian, and what is lost without each",
        [
            (
                f"λ = {e.value:.3f}",
                e.lost,
                f"{e.at_source:+.3f} at {shortened(found.source)}, {e.at_target:+.3f} at {shortened(found.target)}",
            )
            for e in sorted(found.eigenvectors, key=lambda e: (-abs(e.lost), e.index))[:top]
        ],
    )
    yield (
        "Filters, and what is lost without each",
        [
            (f"{f.where}, filter {f.index + 1}", f.lost, "")
            for f in sorted(found.filters, key=lambda f: (-abs(f.lost), f.where, f.index))[:top]
        ],
    )


def _removals(found: Sequence[Removal], top: int) -> list[tuple[str, float, str]]:
    """The removals that matter most, in either direction; sorted from for to against."""
    chosen = sorted(found, key=lambda r: (-abs(r.lost), r.nodes))[:top]
    return [
        (way(r.nodes), r.lost, f"leaves {r.probability:.3f}") for r in sorted(chosen, key=lambda r: (-r.lost, r.nodes))
    ]


def _lines(found: Reasons, top: int) -> Iterator[str]:
    yield headline(found)
    yield ""
    for said in found.said:
        yield f"  probability {probability_line(said)}"
    for title, rows in sections(found, top):
        if not rows:
            continue
        yield ""
        yield title
        widest = max(abs(effect) for _, effect, _ in rows) or 1.0
        for what, effect, remark in rows:
            bar = ("+" if effect > 0 else "−") * round(BAR * abs(effect) / widest)
            yield f"  {effect:+7.2f} {bar:<{BAR}} {what}{'  (' + remark + ')' if remark else ''}"
    if found.features:
        yield ""
        yield f"Features, and what each adds to the cosine of the raw features, {found.cosine:.3f}"
        yield "  " + ", ".join(f"{shortened(f.name)}: {f.share:+.3f}" for f in found.features[:top])
    if found.similar:
        yield ""
        yield "Existing links that the network reads most alike"
        for link in found.similar[:top]:
            yield f"  {way((link.source, link.target))}  (distance {link.distance:.2f}, probability {link.probability:.3f})"
    yield ""
    yield from found.notes
