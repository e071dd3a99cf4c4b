"""The ASGI app: page, files and JSON interface, behind the access checks of `guard`."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from llwlc.errors import InputError
from llwlc.predict.predictor import LinkPredictor
from llwlc.serve.guard import Door, Guard
from llwlc.serve.interface import Endpoint, Interface, openapi
from llwlc.serve.limits import Limits, Refused

FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/cytoscape.js": ("cytoscape.min.js", "text/javascript; charset=utf-8"),
    "/licence": ("cytoscape.LICENSE", "text/plain; charset=utf-8"),
}
"""All files that are served; they are read once, and requests cannot name others."""
LOG = logging.getLogger("llwlc.serve")


def make_app(
    model: LinkPredictor,
    *,
    token: str | None = None,
    names: frozenset[str] = frozenset(),
    limits: Limits | None = None,
    warm: bool = True,
) -> Guard:
    """The ASGI app of a fitted run; `names`: hosts that it answers to beside localhost and bare addresses; `token`, where requests need one."""
    interface = Interface(model, limits or Limits())
    document = openapi(interface.endpoints)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if warm:
            interface.warm()
        yield
        interface.worker.stop()

    routes = [_file_route(path, name, kind) for path, (name, kind) in FILES.items()]
    routes += [_route(point) for point in interface.endpoints]
    routes.append(Route("/openapi.json", lambda request: answer(document), methods=["GET"]))
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={HTTPException: _no_such_thing},
    )
    app.router.redirect_slashes = False  # no guessing of addresses
    return Guard(app, Door(names, token, frozenset(FILES)))


def answer(data: object, status: int = 200) -> Response:
    # a lone surrogate is written as its code
    body = json.dumps(data, ensure_ascii=True, allow_nan=False)
    return Response(body, status, media_type="application/json")


def _route(point: Endpoint) -> Route:
    async def reply(request: Request) -> Response:
        try:
            return answer(await point.answer(request))
        except Refused as refused:
            again = {"Retry-After": "5"} if refused.status in (408, 429) else {}
            response = answer({"error": refused.sentence}, refused.status)
            response.headers.update(again)
            return response
        except InputError as error:
            return answer({"error": str(error).encode("utf-8", "replace").decode()}, 400)
        except Exception:
            LOG.error("%s %s: %s", request.method, point.path, traceback.format_exc())
            return answer({"error": "this server has made a mistake: its log says where"}, 500)

    return Route(point.path, reply, methods=[point.method])


def _file_route(path: str, name: str, kind: str) -> Route:
    body = files("llwlc.serve").joinpath("files", name).read_bytes()

    async def reply(request: Request) -> Response:
        return Response(body, headers={"content-type": kind})

    return Route(path, reply, methods=["GET"])


async def _no_such_thing(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    told = {
        404: "there is nothing at this address: see /openapi.json",
        405: "this address takes another method: see /openapi.json",
    }
    return answer({"error": told.get(status, "this request cannot be answered")}, status)
