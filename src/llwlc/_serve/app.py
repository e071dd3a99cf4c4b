"""The ASGI app: page, files and JSON interface, behind the access checks of `access`."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from llwlc._predictor import LinkPredictor
from llwlc._serve.access import AccessMiddleware, AccessPolicy
from llwlc._serve.interface import Endpoint, Interface, NodeInterface, make_openapi
from llwlc._serve.limits import RequestError, RequestLimits
from llwlc._serve.typed_interface import TypedInterface
from llwlc.errors import LLwLCError
from llwlc.relations._predictor import RelationPredictor

FILES: dict[str, tuple[str, str]] = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/cytoscape.js": ("cytoscape.min.js", "text/javascript; charset=utf-8"),
    "/licence": ("cytoscape.LICENSE", "text/plain; charset=utf-8"),
}
"""All files that are served; they are read once, and requests cannot name others."""
TYPED_FILES = FILES | {
    "/": ("typed.html", "text/html; charset=utf-8"),
    "/page.js": ("typed.js", "text/javascript; charset=utf-8"),
}
"""Those of a run of typed links."""
LOG = logging.getLogger("llwlc._serve")


def make_app(
    model: LinkPredictor | RelationPredictor,
    *,
    token: str | None = None,
    names: frozenset[str] = frozenset(),
    limits: RequestLimits | None = None,
    warm: bool = True,
) -> AccessMiddleware:
    """The ASGI app of a fitted run; `names`: hosts that it answers to besides those of loopback; `token`, where
    requests need one.
    """
    limits = limits or RequestLimits()
    interface: NodeInterface
    if isinstance(model, RelationPredictor):
        interface, pages = TypedInterface(model, limits), TYPED_FILES
    else:
        interface, pages = Interface(model, limits), FILES
    document = make_openapi(interface.endpoints)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if warm:
            interface.warm()
        yield
        interface.worker.stop()

    routes = [_file_route(path, name, kind) for path, (name, kind) in pages.items()]
    routes += [_route(point) for point in interface.endpoints]
    routes.append(Route("/openapi.json", lambda request: make_response(document), methods=["GET"]))
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={HTTPException: _no_such_thing},
    )
    app.router.redirect_slashes = False  # no guessing of addresses
    return AccessMiddleware(app, AccessPolicy(names, token, frozenset(FILES)))


def make_response(data: object, status: int = 200) -> Response:
    # a lone surrogate is written as its code
    body = json.dumps(data, ensure_ascii=True, allow_nan=False)
    return Response(body, status, media_type="application/json")


def _route(point: Endpoint) -> Route:
    async def reply(request: Request) -> Response:
        try:
            return make_response(await point.answer(request))
        except RequestError as refused:
            response = make_response({"error": refused.sentence}, refused.status)
            if refused.status in (408, 429):
                response.headers["Retry-After"] = "5"
            if refused.status in (408, 413):
                response.headers["Connection"] = "close"  # an endless body is not read on
            return response
        except LLwLCError as error:
            return make_response({"error": str(error).encode("utf-8", "replace").decode()}, 400)
        except Exception:
            LOG.exception("%s %s", request.method, point.path)
            return make_response({"error": "this server has made a mistake: its log says where"}, 500)

    return Route(point.path, reply, methods=[point.method])


def _file_route(path: str, name: str, kind: str) -> Route:
    body = files("llwlc._serve").joinpath("files", name).read_bytes()

    async def reply(request: Request) -> Response:
        return Response(body, headers={"content-type": kind})

    return Route(path, reply, methods=["GET"])


async def _no_such_thing(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    messages = {
        404: "there is nothing at this address: see /openapi.json",
        405: "this address takes another method: see /openapi.json",
    }
    response = make_response({"error": messages.get(status, "this request cannot be answered")}, status)
    allowed = (getattr(error, "headers", None) or {}).get("Allow")
    if allowed is not None:  # which methods the address takes
        response.headers["Allow"] = ", ".join(sorted(allowed.split(", ")))
    return response
