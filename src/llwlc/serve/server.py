"""`serve_run`: the app on a socket; on loopback by default, elsewhere with a token."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Callable, Sequence

from llwlc.errors import InputError
from llwlc.predict.predictor import LinkPredictor


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bound_socket(host: str, port: int) -> socket.socket:
    """A listening socket on the address; raises an error that says what is wrong with it."""
    made = None
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(128)  # a client that reads the address can connect at once
    except OSError as error:
        if made is not None:
            made.close()
        raise InputError(
            f"{host}, port {port} cannot be used ({error.strerror or error}): choose another --port or --host"
        ) from error
    return made


def serve_run(
    model: LinkPredictor,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    names: Sequence[str] = (),
    say: Callable[[str], None] = print,
) -> None:
    """Serves until it is interrupted. Where other machines can reach it, it requires a token, which is part of the printed address."""
    try:
        import uvicorn

        from llwlc.serve.app import make_app
    except ImportError as error:
        raise InputError("the page needs starlette and uvicorn: pip install 'llwlc[serve]'") from error
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    listening = bound_socket(host, port)
    app = make_app(model, token=token, names=frozenset(name.lower() for name in names))
    shown = f"[{host}]" if ":" in host else host
    where = f"http://{shown}:{listening.getsockname()[1]}/"
    say(
        f"{model.run.info.graph_name} is served at {where}{'' if token is None else '#token=' + token} (Ctrl-C ends it)"
    )
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_keep_alive=10,
        h11_max_incomplete_event_size=64 * 1024,
    )
    uvicorn.Server(config).run(sockets=[listening])
