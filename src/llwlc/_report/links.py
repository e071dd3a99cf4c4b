"""The missing links of a report with their subgraphs and reasons, small enough that hundreds fit into one file."""

from __future__ import annotations

from typing import Any

from llwlc._predictor import LinkPredictor
from llwlc._runs.direction_reasons import explain_direction
from llwlc._support.progress import track
from llwlc.explain._explainer import why_not_explainable
from llwlc.explain._records import DirectionReasons, Reasons, Removal
from llwlc.graph._pair_file import resolve_pairs
from llwlc.ranking._recommendations import Recommendation, Recommendations

EDGES, NODES, ROWS = 60, 36, 6
"""Edges that are removed one by one for each link, nodes that are drawn, rows of each table."""


def explain_links(recommendations: Recommendations, model: LinkPredictor) -> tuple[list[str], list[dict[str, Any]]]:
    """The names of all nodes that occur, and the links, best first, which call nodes by their place among the names;
    without reasons where the model's scores cannot be explained."""
    names: dict[str, int] = {}
    if why_not_explainable(model.fitted_):
        about = f"among candidates, {recommendations.condition}"
        links = [
            _describe_link(link, names)
            | {"predictions": [[about, round(link.probability, 4)]]}
            | _describe_direction(_direction_of(link, model))
            for link in recommendations
        ]
        return list(names), links
    links = []
    for link in track(list(recommendations), "explaining links"):
        reasons = model.explain(link.source, link.target, population="candidates", max_edges=EDGES)
        links.append(
            _describe_link(link, names) | _describe_reasons(reasons, names) | _describe_direction(reasons.direction)
        )
    return list(names), links


def _direction_of(link: Recommendation, model: LinkPredictor) -> DirectionReasons | None:
    return explain_direction(model.run_, resolve_pairs([(link.source, link.target)], model.graph_)[0])


def _describe_direction(direction: DirectionReasons | None) -> dict[str, Any]:
    """Nothing, where the run is not directed."""
    if direction is None:
        return {}
    parts = [[part.name, round(part.effect, 2), part.about] for part in direction.parts[:ROWS]]
    chances = [round(chance, 4) for chance in (direction.forward, direction.backward, direction.both)]
    return {"way": round(direction.forward, 9), "direction": {"probabilities": chances, "parts": parts}}


def _describe_link(link: Recommendation, names: dict[str, int]) -> dict[str, Any]:
    return {
        "u": names.setdefault(link.source, len(names)),
        "v": names.setdefault(link.target, len(names)),
        "p": [round(p, 4) for p in (link.probability, link.probability_low, link.probability_high)],
        "cn": link.common_neighbors,
        "d": link.distance,
    }


def _describe_reasons(reasons: Reasons, names: dict[str, int]) -> dict[str, Any]:
    def number(name: str) -> int:
        return names.setdefault(name, len(names))

    def removals(effects: tuple[Removal, ...]) -> list[Any]:
        largest = sorted(
            sorted(effects, key=lambda r: (-abs(r.lost), r.nodes))[:ROWS], key=lambda r: (-r.lost, r.nodes)
        )
        return [[[number(n) for n in r.nodes], round(r.lost, 2), round(r.probability, 3)] for r in largest]

    drawing = reasons.drawing
    nodes = drawing.nodes[:NODES]
    return {
        "predictions": [[s.about, round(s.probability, 4)] for s in reasons.predictions],
        "reference": round(reasons.reference, 2),
        "logOdds": round(reasons.predictions[0].log_odds, 2),
        "parts": [round(p.effect, 2) for p in reasons.parts],
        "edges": removals(reasons.edges),
        "common": removals(reasons.common_neighbors),
        "paths": removals(reasons.paths),
        "tried": [len(reasons.edges), reasons.num_subgraph_edges],
        "nodes": [[number(n.name), round(500 * n.x), round(500 * n.y)] for n in nodes],
        "lines": [
            [a, b] if lost is None else [a, b, round(lost, 2)]
            for a, b, lost in drawing.edges
            if a < len(nodes) and b < len(nodes)
        ],
        "shown": [len(nodes), drawing.all_nodes],
        "values": [round(e.value, 3) for e in reasons.eigenvectors],
        # in hundredths of the largest entry: a colour tells no more
        "vectors": [_scaled([n.vectors[k] for n in nodes]) for k in range(len(reasons.eigenvectors))],
    }


def _scaled(entries: list[float]) -> list[int]:
    largest = max(map(abs, entries), default=0.0) or 1.0
    return [round(99 * entry / largest) for entry in entries]
