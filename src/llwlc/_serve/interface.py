"""The JSON interface: each endpoint a record, from which routes and the OpenAPI document are made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from starlette.requests import Request

from llwlc._predictor import LinkPredictor
from llwlc._runs.plain_summary import describe_trust
from llwlc._serve.limits import RequestError, RequestLimits
from llwlc._serve.request_parsing import (
    check_parameters,
    parse_node,
    parse_number,
    parse_pairs,
    parse_whole,
    quote_value,
    read_body,
)
from llwlc._serve.worker import Worker
from llwlc._support.version import VERSION
from llwlc.explain._population import POPULATIONS

MAX_FOUND_NODES = 20  # names that a search lists
Answer = Callable[[Request], Awaitable[dict[str, Any]]]


@dataclass(frozen=True)
class Endpoint:
    """`query` and `body`: parameters as JSON schema by name; those in `required` must be present."""

    path: str
    method: str
    about: str
    answer: Answer
    query: dict[str, dict[str, Any]] = field(default_factory=dict)
    body: dict[str, dict[str, Any]] = field(default_factory=dict)
    required: tuple[str, ...] = ()


class NodeInterface:
    """What is answered of any run: whether the server is there, and how nodes are called."""

    def __init__(self, names: Sequence[str], limits: RequestLimits) -> None:
        longest = max(map(len, names), default=0)
        # every node can be asked for
        self.limits = replace(limits, name=max(limits.name, longest))
        self.worker = Worker(limits)
        self._names = pa.array(names, pa.string())
        self._lower = pc.utf8_lower(self._names)

    @property
    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "/health", "GET", "Whether the server answers, and how many requests wait for the model.", self.health
            ),
            Endpoint(
                "/nodes",
                "GET",
                "Nodes whose name contains a text.",
                self.nodes,
                query={"search": {"type": "string"}},
                required=("search",),
            ),
        ]

    async def health(self, request: Request) -> dict[str, Any]:
        return {"status": "ok", "version": VERSION, "waiting": self.worker.waiting}

    async def nodes(self, request: Request) -> dict[str, Any]:
        given = self._query(request, ("search",))
        word = parse_node(given.get("search"), "search", self.limits).lower()
        hit = pc.match_substring(self._lower, word)
        at = pc.indices_nonzero(hit)[: 50 * MAX_FOUND_NODES].to_pylist()
        # those that begin with the text first, then the shorter ones
        names = sorted((self._names[i].as_py() for i in at), key=lambda n: (not n.lower().startswith(word), len(n), n))
        return {"nodes": names[:MAX_FOUND_NODES], "found": pc.sum(hit).as_py() or 0}

    def warm(self) -> None:
        """Starts computing what the first requests need."""

    def rows_schema(self, width: int) -> dict[str, Any]:
        """The JSON schema of pairs, or of typed links: rows of so many texts each."""
        row = {"type": "array", "items": {"type": "string"}, "minItems": width, "maxItems": width}
        return {"type": "array", "minItems": 1, "maxItems": self.limits.pairs, "items": row}

    async def _do(self, key: tuple[Any, ...], work: Callable[[], dict[str, Any]], weight: int = 1) -> dict[str, Any]:
        answer: dict[str, Any] = await self.worker.do(key, work, weight)
        return answer

    def _query(self, request: Request, names: tuple[str, ...]) -> dict[str, str]:
        parameters = request.query_params
        check_parameters(parameters, names)
        twice = next((name for name in parameters if len(parameters.getlist(name)) > 1), None)
        if twice is not None:
            raise RequestError(400, f"{quote_value(twice)} is given twice")
        return dict(parameters)


class Interface(NodeInterface):
    """The answers to requests, from a fitted run."""

    def __init__(self, model: LinkPredictor, limits: RequestLimits) -> None:
        graph = model.graph_
        names = graph.names if graph.names is not None else [str(i) for i in range(graph.num_nodes)]
        super().__init__(names, limits)
        self.model = model

    @property
    def endpoints(self) -> list[Endpoint]:
        text, share = {"type": "string"}, {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
        top = {"type": "integer", "minimum": 1, "maximum": self.limits.links}
        pairs = self.rows_schema(2)
        return [
            *super().endpoints,
            Endpoint("/run", "GET", "The run: its graph and what was measured.", self.run),
            Endpoint(
                "/score",
                "POST",
                "Scores and probabilities among random pairs.",
                self.score,
                body={"pairs": pairs, "prior": share},
                required=("pairs",),
            ),
            Endpoint(
                "/recommend",
                "GET",
                "The likeliest missing links, of one node or of the whole graph.",
                self.recommend,
                query={"node": text, "top": top},
            ),
            Endpoint(
                "/explain",
                "GET",
                "Why a pair has its score.",
                self.explain,
                query={
                    "u": text,
                    "v": text,
                    "population": {"type": "string", "enum": list(POPULATIONS)},
                    "edges": {"type": "integer", "minimum": 1, "maximum": self.limits.edges},
                },
                required=("u", "v"),
            ),
        ]

    async def run(self, request: Request) -> dict[str, Any]:
        model = self.model
        measured = model.metrics_.as_dict()
        numbers = {name: measured[name] for name in ("auc", "ap", "mrr", "hits@100") if name in measured}
        direction = model.metrics_.direction
        graph = model.graph_
        return {
            "graph": model.run_.info.graph_name,
            "nodes": graph.num_nodes,
            "links": graph.num_edges,
            "protocol": model.run_.split.protocol,
            "measured": numbers,
            "trust": describe_trust(model.fitted_),
            "directed": model.directed,
            "direction": None if direction is None else direction.sentence,
            "limits": {"pairs": self.limits.pairs, "links": self.limits.links},
        }

    async def score(self, request: Request) -> dict[str, Any]:
        given = await read_body(request, self.limits)
        check_parameters(given, ("pairs", "prior"))
        pairs = parse_pairs(given.get("pairs"), self.limits)
        prior = parse_number(given.get("prior"), "prior", 0.5, 0, 1)

        def work() -> dict[str, Any]:
            scores = self.model.score(pairs, prior=prior)
            columns = {"score": scores.score.tolist(), "probability": scores.probability.tolist()}
            if scores.direction is not None:
                columns["direction"] = scores.direction.tolist()
            return {
                "population": f"random pairs of which {100 * prior:.3g} % are links",
                "scores": [
                    {"source": a, "target": b, **{name: column[i] for name, column in columns.items()}}
                    for i, (a, b) in enumerate(pairs)
                ],
            }

        return await self._do(("score", tuple(pairs), prior), work, weight=1 + len(pairs) // 1_000)

    async def recommend(self, request: Request) -> dict[str, Any]:
        given = self._query(request, ("node", "top"))
        node = None if given.get("node") in (None, "") else parse_node(given["node"], "node", self.limits)
        top = parse_whole(given.get("top"), "top", 20, self.limits.links)

        def work() -> dict[str, Any]:
            # the longest list allowed: a shorter one is its beginning, and costs the same
            recommendations = self.model.recommend(node=node, top=self.limits.links)
            return {
                "population": f"candidates, {recommendations.condition}",
                "links": [vars(link) for link in recommendations],
            }

        answer = await self._do(("recommend", node), work)
        return answer | {"links": answer["links"][:top]}

    async def explain(self, request: Request) -> dict[str, Any]:
        given = self._query(request, ("u", "v", "population", "edges"))
        u, v = (parse_node(given.get(name), name, self.limits) for name in ("u", "v"))
        population = given.get("population") or "random"
        if population not in POPULATIONS:
            raise RequestError(400, f"population is {' or '.join(POPULATIONS)}, got {quote_value(population)}")
        edges = parse_whole(given.get("edges"), "edges", min(200, self.limits.edges), self.limits.edges)

        def work() -> dict[str, Any]:
            return self.model.explain(u, v, population=population, max_edges=edges).as_dict()

        ends = (u, v) if self.model.directed else sorted((u, v))  # without direction, both orders are one answer
        return await self._do(("explain", *ends, population, edges), work)

    def warm(self) -> None:
        """Starts computing what the first requests need: the candidates of the graph and the readouts of its links."""

        def work() -> None:
            self.model.recommend(node=self.model.graph_.name(0), top=1)
            _ = self.model.explainer_.references, self.model.explainer_.links

        self.worker.begin("warm", work)


def make_openapi(endpoints: list[Endpoint]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of the endpoints."""
    paths: dict[str, Any] = {}
    sentence = {
        "description": "A sentence that says what is wrong.",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    for point in endpoints:
        operation: dict[str, Any] = {
            "summary": point.about,
            "operationId": point.path.strip("/"),
            "responses": (
                {"200": {"description": "The answer.", "content": {"application/json": {"schema": {"type": "object"}}}}}
                | dict.fromkeys(("400", "401", "403", "408", "413", *(["415"] if point.body else []), "429"), sentence)
            ),
        }
        if point.query:
            operation["parameters"] = [
                {"name": name, "in": "query", "required": name in point.required, "schema": schema}
                for name, schema in point.query.items()
            ]
        if point.body:
            schema = {
                "type": "object",
                "properties": point.body,
                "required": list(point.required),
                "additionalProperties": False,
            }
            operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
        paths[point.path] = {point.method.lower(): operation}
    error = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
    scheme = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "llwlc",
            "version": VERSION,
            "description": "The missing links of a graph: scores, recommendations, explanations.",
        },
        "paths": paths,
        "components": {"schemas": {"Error": error}, "securitySchemes": scheme},
    }
