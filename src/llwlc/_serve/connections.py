"""Connections of the server: how many may be open, and how long a client may take.

When too many connections are open, the one that has waited longest for its client is closed: for the rest of a request,
for the next one, or for an answer to be read. A request that the server works on is never ended, and a client that
sends its request at once is answered, however many others are slow.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 256
HEAD_SECONDS = 10.0
"""In which the line and the headers of a request must arrive."""
READ_SECONDS = 60.0
"""In which a client must read what fills the buffer of its connection."""


class Connection(H11Protocol):
    """A connection that counts: `most` of its class are open at once."""

    most: ClassVar[int] = MAX_CONNECTIONS
    head_seconds: ClassVar[float] = HEAD_SECONDS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.since = self.loop.time()  # when it began to wait for its client
        self._late: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._watch_head()
        if len(self.connections) > self.most:
            # at least this one waits
            waiting = [each for each in self.connections if isinstance(each, Connection) and each.waits]
            min(waiting, key=lambda each: each.since).drop()

    @property
    def waits(self) -> bool:
        """Whether the server waits for the client, not the client for the server."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused

    def drop(self) -> None:
        """Closes the connection at once and stops counting it."""
        self.connections.discard(self)
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_head()

    def on_response_complete(self) -> None:
        self.since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(READ_SECONDS, self.drop)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._unread)

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._late)
        _cancel(self._unread)
        super().connection_lost(exc)

    def _watch_head(self) -> None:
        """Starts the clock when the head of a request is incomplete; further bytes of it do not restart the
        clock.
        """
        if self.conn.their_state is not h11.IDLE:
            _cancel(self._late)
            self._late = None
        elif self._late is None:
            self._late = self.loop.call_later(self.head_seconds, self.drop)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def make_connection_class(most: int | None = None, head_seconds: float = HEAD_SECONDS) -> type[Connection]:
    """The class of a server's connections.

    Args:
        most: How many may be open at once; by default 256, or a quarter of the files that this process may open.
        head_seconds: How long the head of a request may take.
    """
    values: dict[str, Any] = {"most": _affordable() if most is None else most, "head_seconds": head_seconds}
    return type("ServerConnection", (Connection,), values)


def _affordable() -> int:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MAX_CONNECTIONS
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_CONNECTIONS if files == resource.RLIM_INFINITY else max(4, min(MAX_CONNECTIONS, files // 4))
