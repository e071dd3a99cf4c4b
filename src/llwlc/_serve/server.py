"""`serve_run`: the app on a socket; on loopback by default, elsewhere with a token."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Sequence

import uvicorn

from llwlc._predictor import LinkPredictor
from llwlc._serve.access import AccessMiddleware, is_loopback, normalize_host
from llwlc._serve.app import make_app
from llwlc._serve.connections import HEAD_SECONDS, make_connection_class
from llwlc._serve.log_filter import limit_log
from llwlc.errors import InputError
from llwlc.relations._predictor import RelationPredictor

QUEUE = 1024
"""Connections that the system keeps until they are accepted; a client beyond them tries again only after a second."""


def bind_socket(host: str, port: int) -> socket.socket:
    """A listening socket on the address; raises an error that says what is wrong with it."""
    listener = None
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(QUEUE)  # a client that reads the address can connect at once
    except OSError as error:
        if listener is not None:
            listener.close()
        raise InputError(
            f"{host}, port {port} cannot be used ({error.strerror or error}): choose another --port or --host"
        ) from error
    return listener


def make_server(
    app: AccessMiddleware, *, most: int | None = None, head_seconds: float = HEAD_SECONDS
) -> uvicorn.Server:
    """A server of the app, with bounds on its connections.

    Args:
        app: What `make_app` returned.
        most: How many connections may be open at once; by default 256, or a quarter of the files that this process may
            open.
        head_seconds: How long the line and the headers of a request may take to arrive.
    """
    connection = make_connection_class(most, head_seconds)
    config = uvicorn.Config(
        app,
        http=connection,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_keep_alive=10,
        h11_max_incomplete_event_size=256 * 1024,  # two names of 10,000 characters, as an address writes them
        # accepted at once: a fraction of those that may be open, so that each is read before newer ones displace it
        backlog=max(1, connection.most // 8),
    )
    return _Server(config)


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(QUEUE)  # the loop has set it to its backlog


def serve_run(
    model: LinkPredictor | RelationPredictor,
    *,
    name: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8765,
    names: Sequence[str] = (),
    require_token: bool = False,
    say: Callable[[str], None] = print,
) -> None:
    """Serves until it is interrupted. Where other machines can reach it, it requires a token, which is part of the
    printed address.

    Args:
        model: A fitted predictor, of links or of typed links.
        name: What the run is called where its address is printed; by default as its graph.
        host: Address to listen on.
        port: 0 for any that is free.
        names: Host names and addresses that the server is called by, besides `host` and those of loopback.
        require_token: Whether a token is required on loopback too, where other users of this machine could ask.
        say: Receives the address, with the token.
    """
    token = secrets.token_urlsafe(24) if require_token or not is_loopback(host) else None
    listening = bind_socket(host, port)
    app = make_app(model, token=token, names=frozenset(map(normalize_host, (host, *names))))
    called = host
    if host in ("0.0.0.0", "::"):  # every address of this machine, and itself none
        if names:
            called = normalize_host(names[0])
        else:
            say(f"{host} is not an address that other machines can reach: give one with --name, as in --name 192.0.2.7")
    shown = f"[{called}]" if ":" in called else called
    where = f"http://{shown}:{listening.getsockname()[1]}/"
    secret = "" if token is None else f"#token={token}"
    say(f"{name or called_graph(model)} is served at {where}{secret} (Ctrl-C ends it)")
    with limit_log():
        make_server(app).run(sockets=[listening])


def called_graph(model: LinkPredictor | RelationPredictor) -> str:
    return "the run" if isinstance(model, RelationPredictor) else model.run_.info.graph_name
