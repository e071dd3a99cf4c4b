"""Access checks: Host, Origin and token are checked before anything else, and every answer forbids the browser what the
page does not need.

A page of another site cannot read or use this server: its Origin differs, and a host name that it points here (DNS
rebinding) is not accepted.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

HOST = re.compile(r"(\[[0-9A-Fa-f:.]*\]|[^\[\]#?%]*)(:\d*)?")
"""A name, or an address in brackets without a zone, and a port: `urlsplit` passes over what stands behind a bracket,
over an empty query and over an empty fragment.
"""
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = [
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


@dataclass(frozen=True)
class AccessPolicy:
    """`names`: host names and addresses that are accepted besides those of loopback; `token`, where one is needed;
    `open_paths`: paths that need none, since they hold no data of the run.
    """

    names: frozenset[str] = frozenset()
    token: str | None = None
    open_paths: frozenset[str] = frozenset()

    def refusal(self, path: str, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        """The status and the reason of a refusal; None where the request is accepted."""
        host = headers.get(b"host", b"").decode("latin-1")
        name = _name_of(host)
        if name is None or not (is_loopback(name) or normalize_host(name) in self.names):
            # the name or address of another machine here is DNS rebinding, unless it was stated
            return 403, "this server is not called by that name or address: start it with --name and the one to use"
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1") not in (f"http://{host}", f"https://{host}"):
            return 403, "requests of pages of other sites are not answered"
        if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin") and path not in self.open_paths:
            return 403, "requests of pages of other sites are not answered"
        if self.token is not None and path not in self.open_paths:
            authorization = headers.get(b"authorization", b"")
            if not hmac.compare_digest(authorization, b"Bearer " + self.token.encode()):
                return (
                    401,
                    (
                        "a token is needed: send it as Authorization: Bearer TOKEN, or open the address that llwlc"
                        " serve printed"
                    ),
                )
        return None


class AccessMiddleware:
    """An ASGI app behind the checks of a `AccessPolicy`."""

    def __init__(self, app: App, door: AccessPolicy) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *SECURITY_HEADERS]
            await send(message)

        refusal = self.door.refusal(scope["path"], dict(scope["headers"]))
        if refusal is None:
            await self.app(scope, receive, guarded)
            return
        status, sentence = refusal
        body = json.dumps({"error": sentence}).encode()
        start = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await guarded({"type": "http.response.start", "status": status, "headers": start})
        await guarded({"type": "http.response.body", "body": body})


def _name_of(host: str) -> str | None:
    if not HOST.fullmatch(host):
        return None
    try:
        parts = urlsplit(f"//{host}")
        parts.port  # noqa: B018  # a port that is not a number is refused here
    except ValueError:
        return None
    return None if parts.username is not None or parts.path or parts.query or parts.fragment else parts.hostname


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


def normalize_host(name: str) -> str:
    """The one way to write a host name or an address.

    >>> normalize_host("Graphs.Example"), normalize_host("FE80:0::1"), normalize_host("[::1]")
    ('graphs.example', 'fe80::1', '::1')
    """
    bare = name.strip("[]").lower()
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        return bare
