"""The JSON interface of a run of typed links."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from llwlc._serve.interface import Endpoint, NodeInterface
from llwlc._serve.limits import RequestLimits
from llwlc._serve.request_parsing import (
    check_parameters,
    parse_node,
    parse_number,
    parse_triples,
    parse_whole,
    read_body,
)
from llwlc.relations._explanation import describe_population
from llwlc.relations._predictor import RelationPredictor


class TypedInterface(NodeInterface):
    """The answers to requests, from a fitted predictor of typed links."""

    def __init__(self, model: RelationPredictor, limits: RequestLimits) -> None:
        longest = max((*model.triples_.names, *model.triples_.types), key=len)
        super().__init__(model.triples_.names, limits)
        self.model = model
        self.limits = type(limits)(**vars(self.limits) | {"name": max(self.limits.name, len(longest))})

    @property
    def endpoints(self) -> list[Endpoint]:
        text, share = {"type": "string"}, {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
        top = {"type": "integer", "minimum": 1, "maximum": self.limits.links}
        triples = self.rows_schema(3)
        return [
            *super().endpoints,
            Endpoint("/run", "GET", "The run: its graph, its types and what was measured.", self.run),
            Endpoint(
                "/score",
                "POST",
                "Scores and probabilities of typed links: source, type, target.",
                self.score,
                body={"triples": triples, "prior": share},
                required=("triples",),
            ),
            Endpoint(
                "/recommend",
                "GET",
                "The likeliest missing links: of one type or any, of one node or all.",
                self.recommend,
                query={"node": text, "type": text, "top": top},
            ),
            Endpoint(
                "/explain",
                "GET",
                "Why a typed link has its score; without a type, that of the likeliest type.",
                self.explain,
                query={"u": text, "v": text, "type": text},
                required=("u", "v"),
            ),
        ]

    async def run(self, request: Request) -> dict[str, Any]:
        triples = self.model.triples_
        return {
            "nodes": triples.num_nodes,
            "links": len(triples),
            "types": list(triples.types),
            "measured": dict(self.model.metrics_),
            "limits": {"pairs": self.limits.pairs, "links": self.limits.links},
        }

    async def score(self, request: Request) -> dict[str, Any]:
        given = await read_body(request, self.limits)
        check_parameters(given, ("triples", "prior"))
        triples = parse_triples(given.get("triples"), self.limits)
        prior = parse_number(given.get("prior"), "prior", 0.5, 0, 1)

        def work() -> dict[str, Any]:
            links = self.model.score(triples, prior=prior)
            return {"population": describe_population(prior), "scores": [link._asdict() for link in links]}

        return await self._do(("score", tuple(triples), prior), work, weight=1 + len(triples) // 1_000)

    async def recommend(self, request: Request) -> dict[str, Any]:
        given = self._query(request, ("node", "type", "top"))
        node, kind = (self._optional(given, name) for name in ("node", "type"))
        top = parse_whole(given.get("top"), "top", 20, self.limits.links)

        def work() -> dict[str, Any]:
            links = self.model.recommend(kind, top=self.limits.links, node=node)
            return {"population": describe_population(0.5), "links": [link._asdict() for link in links]}

        answer = await self._do(("recommend", node, kind), work)
        return answer | {"links": answer["links"][:top]}

    async def explain(self, request: Request) -> dict[str, Any]:
        given = self._query(request, ("u", "v", "type"))
        u, v = (parse_node(given.get(name), name, self.limits) for name in ("u", "v"))
        kind = self._optional(given, "type")
        return await self._do(("explain", u, v, kind), lambda: self.model.explain(u, v, kind).as_dict())

    def _optional(self, given: dict[str, str], name: str) -> str | None:
        return None if given.get(name) in (None, "") else parse_node(given[name], name, self.limits)
