"""An explanation as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llwlc._support.text import shortened
from llwlc.explain._records import DirectionReasons, Prediction, Reasons, Removal

BAR = 20


def as_text(reasons: Reasons, top: int, *, spectrum: bool = True) -> str:
    """The text, with names as they are: pass it through `_support.text.escape_controls` before printing it."""
    return "\n".join(_lines(reasons, top, spectrum)) + "\n"


def format_headline(reasons: Reasons) -> str:
    kind = "linked in the graph, explained as if it were not" if reasons.linked else "not linked in the graph"
    return f"{reasons.source} – {reasons.target}: {kind}"


def format_probability(prediction: Prediction) -> str:
    """The chance with the population that it is about."""
    spread = (
        "" if prediction.low is None or prediction.high is None else f" ({prediction.low:.3f} to {prediction.high:.3f})"
    )
    return f"{prediction.probability:.3f}{spread} {prediction.about}"


def format_score(reasons: Reasons) -> str:
    """The number of the column `score`, the same whichever population is explained."""
    return f"{reasons.predictions[0].score:.3f} (log-odds among random pairs of which half are links)"


def format_path(nodes: Sequence[str]) -> str:
    """Nodes in a row of a table, where a name of hundreds of letters would hide the others; the headline has whole
    names.
    """
    return " – ".join(map(shortened, nodes))


def make_tables(
    reasons: Reasons, top: int, spectrum: bool = True
) -> Iterator[tuple[str, list[tuple[str, float, str]]]]:
    """Tables of (what, effect in log-odds, remark), under their titles; the largest effects of each."""
    yield (
        (
            f"What adds up to the log-odds, from an average random pair ({reasons.reference:+.2f}) to this one"
            f" ({reasons.predictions[0].log_odds:+.2f})"
        ),
        [(part.name, part.effect, part.about) for part in reasons.parts],
    )
    if reasons.direction is not None:
        parts = reasons.direction.parts[:top]
        yield format_direction(reasons.direction), [(part.name, part.effect, part.about) for part in parts]
    yield "Edges, and what is lost without each", _removals(reasons.edges, top)
    yield "Common neighbours, and what is lost without both of their edges", _removals(reasons.common_neighbors, top)
    yield "Whole paths, and what is lost without all of their edges", _removals(reasons.paths, top)
    if not spectrum:
        return
    yield (
        "Eigenvectors of the constrained Laplacian, and what is lost without each",
        [
            (
                f"λ = {e.value:.3f}",
                e.lost,
                f"{e.at_source:+.3f} at {shortened(reasons.source)}, {e.at_target:+.3f} at {shortened(reasons.target)}",
            )
            for e in sorted(reasons.eigenvectors, key=lambda e: (-abs(e.lost), e.index))[:top]
        ],
    )
    yield (
        "Filters, and what is lost without each",
        [
            (f"{f.where}, filter {f.index + 1}", f.lost, "")
            for f in sorted(reasons.filters, key=lambda f: (-abs(f.lost), f.where, f.index))[:top]
        ],
    )


def _removals(removals: Sequence[Removal], top: int) -> list[tuple[str, float, str]]:
    """The removals that matter most, in either direction; sorted from for to against."""
    largest = sorted(removals, key=lambda r: (-abs(r.lost), r.nodes))[:top]
    return [
        (format_path(r.nodes), r.lost, f"leaves {r.probability:.3f}")
        for r in sorted(largest, key=lambda r: (-r.lost, r.nodes))
    ]


def _lines(reasons: Reasons, top: int, spectrum: bool) -> Iterator[str]:
    yield format_headline(reasons)
    yield ""
    for prediction in reasons.predictions:
        yield f"  probability {format_probability(prediction)}"
    yield f"  score {format_score(reasons)}"
    for title, rows in make_tables(reasons, top, spectrum):
        if not rows:
            continue
        yield ""
        yield title
        widest = max(abs(effect) for _, effect, _ in rows) or 1.0
        for what, effect, remark in rows:
            bar = ("+" if effect > 0 else "−") * round(BAR * abs(effect) / widest)
            yield f"  {effect:+7.2f} {bar:<{BAR}} {what}{'  (' + remark + ')' if remark else ''}"
    if reasons.features:
        yield ""
        yield f"Features, and what each adds to the cosine of the raw features, {reasons.cosine:.3f}"
        yield "  " + ", ".join(f"{shortened(f.name)}: {f.share:+.3f}" for f in reasons.features[:top])
    if reasons.similar:
        yield ""
        yield "Existing links that the network reads most alike"
        for link in reasons.similar[:top]:
            yield (
                f"  {format_path((link.source, link.target))}  (distance {link.distance:.2f}, probability"
                f" {link.probability:.3f})"
            )
    yield ""
    yield from reasons.notes


def format_direction(direction: DirectionReasons) -> str:
    """Which way the link points, in a line; its table has the log-odds of the first way against the second."""
    source, target = shortened(direction.source), shortened(direction.target)
    return (
        f"Direction, if there is a link: {source} → {target} {direction.forward:.3f}, {target} → {source}"
        f" {direction.backward:.3f} (both {direction.both:.3f})"
    )
