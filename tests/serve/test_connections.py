"""Clients that are slow on purpose stop no other client, and fill no log."""

import http.client
import logging
import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress

from starlette.testclient import TestClient

from hostile_names import hostile_model
from llwlc._serve.app import make_app
from llwlc._serve.log_filter import RateLimitFilter
from llwlc._serve.server import bind_socket, make_server

HALF = b"GET /run HTTP/1.1\r\nHost: 127.0.0.1\r\nX-"
HALF_BODY = b"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"


@contextmanager
def running(**bounds):
    """The address of a server with these bounds."""
    listening = bind_socket("127.0.0.1", 0)
    server = make_server(make_app(hostile_model(), warm=False), **bounds)
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield listening.getsockname()
    server.should_exit = server.force_exit = True
    thread.join(120)
    assert not thread.is_alive()


def asked(address, path: str = "/health") -> int:
    client = http.client.HTTPConnection(*address, timeout=60)
    client.request("GET", path)
    status = client.getresponse().status
    client.close()
    return status


def closed_within(connection: socket.socket, seconds: float) -> bool:
    connection.settimeout(seconds)
    try:
        return connection.recv(100) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def test_requests_that_are_half_sent_stop_no_other_client():
    # heads may take longer than clients wait: what is answered was not held up until the others ran out of time
    with running(most=20, head_seconds=600) as address, ExitStack() as held:
        for half in (HALF, HALF_BODY):
            others = []
            for _ in range(60):
                other = held.enter_context(socket.create_connection(address, timeout=60))
                other.sendall(half)
                others.append(other)
            assert [asked(address) for _ in range(20)] == [200] * 20
            # the oldest went, not the newest
            assert all(closed_within(other, 60) for other in others[:40])


def test_a_head_that_does_not_arrive_is_given_up_however_it_trickles():
    begun = time.monotonic()
    with (
        running(head_seconds=0.7) as address,
        socket.create_connection(address, timeout=60) as slow,
        suppress(ConnectionError),
    ):
        slow.sendall(HALF)
        while not closed_within(slow, 0.1):
            assert time.monotonic() - begun < 120
            slow.sendall(b"a")
    assert time.monotonic() - begun > 0.5


def test_the_head_of_a_second_request_is_limited_too():
    with running(head_seconds=3) as address, socket.create_connection(address, timeout=60) as slow:
        slow.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        said = b""
        while not said.endswith(b"}"):
            said += slow.recv(4096)
        assert said.startswith(b"HTTP/1.1 200")
        time.sleep(3.5)  # between requests a browser may wait longer
        slow.sendall(HALF)
        assert closed_within(slow, 60)


def test_errors_of_one_kind_are_a_line_with_a_count(caplog, monkeypatch):
    logger, limit = logging.getLogger("llwlc._serve"), RateLimitFilter(seconds=10)
    logger.addFilter(limit)
    try:
        for now in (100.0, 111.0):
            monkeypatch.setattr("llwlc._serve.log_filter.time.monotonic", lambda now=now: now)
            for at in range(500):
                logger.error("mistake %d", at)
        logger.error("another")
    finally:
        monkeypatch.undo()
        logger.removeFilter(limit)
    said = [record.getMessage() for record in caplog.records]
    assert said[0] == "mistake 0"
    assert said[1].startswith("mistake 0 (499 more like this in the ")
    assert said[2:] == ["another"]


def test_only_stated_addresses_and_those_of_loopback_are_hosts():
    """The address of another interface, or of anything else that a name was pointed at, is one that nobody stated."""
    with TestClient(make_app(hostile_model(), names=frozenset(["192.0.2.7", "fe80::1"]), warm=False)) as client:
        for host in ("127.0.0.1:8765", "127.1.2.3", "localhost", "[::1]:8765", "192.0.2.7:1", "[FE80:0::1]:1"):
            assert client.get("/run", headers={"host": host}).status_code == 200, host
        for host in ("192.0.2.8", "10.0.0.1", "0.0.0.0", "[::2]", "169.254.169.254", "192.0.2.7.evil.example"):
            assert client.get("/run", headers={"host": host}).status_code == 403, host
        for host in (
            "[::1].evil.example",
            "[::1]evil",
            "evil[::1]",
            "127.0.0.1#",
            "127.0.0.1?",
            "localhost?",
            "[::1%lo]",
            "[::1%25lo]",
            "localhost:x",
            "127.0.0.1:1:2",
            "2130706433",
        ):
            assert client.get("/run", headers={"host": host}).status_code == 403, host


def test_another_method_is_405_and_says_which_are_allowed():
    with TestClient(make_app(hostile_model(), warm=False), base_url="http://127.0.0.1") as client:
        assert client.get("/score").headers["allow"] == "POST"
        assert client.delete("/run").headers["allow"] == "GET, HEAD"
        paths = client.get("/openapi.json").json()["paths"]
    assert [path for path in paths for told in paths[path].values() if "415" in told["responses"]] == ["/score"]
