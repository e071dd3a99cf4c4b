"""The interface answers as the library does, refuses with a sentence, and lets nobody in who should not be."""

import asyncio
import http.client
import socket
import threading
import time

import pytest
import uvicorn
from starlette.testclient import TestClient

from hostile_names import HOSTILE, hostile_model
from llwlc._serve.access import is_loopback
from llwlc._serve.app import FILES, make_app
from llwlc._serve.limits import RequestError, RequestLimits
from llwlc._serve.server import bind_socket, serve_run
from llwlc._serve.worker import Worker
from llwlc.errors import InputError

SMALL = RequestLimits(body=20_000, pairs=50, links=30, edges=100, seconds=60)


@pytest.fixture(scope="module")
def client():
    with TestClient(make_app(hostile_model(), limits=SMALL, warm=False), base_url="http://127.0.0.1:8765") as made:
        yield made


def test_scores_are_those_of_the_library(client):
    pairs = [["Person 20", "Person 21"], [HOSTILE[0], HOSTILE[4]]]
    got = client.post("/score", json={"pairs": pairs, "prior": 0.1})
    assert got.status_code == 200
    said = hostile_model().score([tuple(p) for p in pairs], prior=0.1)
    assert [s["score"] for s in got.json()["scores"]] == pytest.approx(said.score.tolist())
    assert [s["probability"] for s in got.json()["scores"]] == pytest.approx(said.probability.tolist())
    assert got.json()["scores"][1]["source"] == HOSTILE[0]


def same_links(got, want):
    """Up to the last bit, which depends on how long the list is that quantiles are taken of."""
    assert len(got) == len(want)
    for link, wanted in zip(got, want, strict=True):
        assert link == pytest.approx(vars(wanted))


def test_recommendations_and_explanations_are_those_of_the_library(client):
    got = client.get("/recommend", params={"node": "Person 20", "top": 5}).json()
    same_links(got["links"], hostile_model().recommend(node="Person 20", top=5))
    assert [link["source"] for link in got["links"]] == ["Person 20"] * 5
    whole = client.get("/recommend", params={"top": 4}).json()["links"]
    same_links(whole, hostile_model().recommend(top=4))
    params = {"u": HOSTILE[1], "v": "Person 30", "population": "candidates", "edges": 20}
    got = client.get("/explain", params=params)
    assert got.status_code == 200
    want = hostile_model().explain(HOSTILE[1], "Person 30", population="candidates", max_edges=20).as_dict()
    assert got.json()["predictions"] == list(map(dict, want["predictions"]))
    assert len(got.json()["edges"]) == 20


def test_a_search_finds_names_by_their_parts(client):
    got = client.get("/nodes", params={"search": "person 2"}).json()
    assert got["nodes"] == [f"Person {i}" for i in range(20, 30)]
    assert client.get("/nodes", params={"search": "<SCRIPT"}).json()["nodes"] == [HOSTILE[3], HOSTILE[0]][::-1]
    assert client.get("/nodes", params={"search": "nobody"}).json() == {"nodes": [], "found": 0}


def test_health_run_and_openapi(client):
    assert client.get("/health").json()["status"] == "ok"
    assert client.get("/run").json()["nodes"] == 90
    document = client.get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    assert set(document["paths"]) == {"/health", "/run", "/nodes", "/score", "/recommend", "/explain"}
    assert document["paths"]["/score"]["post"]["requestBody"]["content"]["application/json"]["schema"]["required"] == [
        "pairs"
    ]


@pytest.mark.parametrize(
    ("path", "body", "status", "sentence"),
    [
        ("/score", {"pairs": [["Person 20", "Persn 21"]]}, 400, "no node 'Persn 21'"),
        ("/score", {"pairs": [["Person 20", "Person 20"]]}, 400, "with itself"),
        ("/score", {"pairs": [["Person 20"]]}, 400, "pair 1 is not a list of two nodes"),
        ("/score", {"pairs": [["a", {"b": 1}]]}, 400, "pair 1 is the name of a node"),
        ("/score", {"pairs": [[10**30, "b"]]}, 400, "pair 1 is the name of a node"),
        ("/score", {"pairs": []}, 400, "pairs is a list of pairs"),
        ("/score", {"pairs": [["Person 20", "Person 21"]] * 51}, 413, "may have 50 pairs"),
        ("/score", {"pairs": [["Person 20", "x" * 1001]]}, 413, "longer than 1000"),
        ("/score", {"pairs": [["Person 20", "Person 21"]], "prior": 1}, 400, "prior is a number above 0 and below 1"),
        ("/score", {"pairs": [["Person 20", "Person 21"]], "prior": [1]}, 400, "prior is a number"),
        ("/score", {"pairs": [["Person 20", "Person 21"]], "file": "/etc/passwd"}, 400, "'file' is not known here"),
        ("/score", {"pairs": [["x" * 30_000, "b"]]}, 413, "20,000 bytes"),
        ("/score", [1], 400, "send a JSON object"),
    ],
)  # fmt: skip
def test_a_bad_body_gets_a_sentence(client, path, body, status, sentence):
    got = client.post(path, json=body)
    assert got.status_code == status
    assert sentence in got.json()["error"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[" * 19_000, 400),
        (b'{"pairs": [["\\ud800", "b"]]}', 400),
        (b'{"pairs": [["a", "b"]], "prior": NaN}', 400),
    ],
)
def test_a_body_that_is_not_json_is_refused_in_a_sentence(client, body, status):
    got = client.post("/score", content=body, headers={"content-type": "application/json"})
    assert got.status_code == status
    assert got.json()["error"]


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/recommend?node=nobody", 400, "no node 'nobody'"),
        ("/recommend?top=0", 400, "from 1 to 30"),
        ("/recommend?top=99999999999", 400, "from 1 to 30"),
        ("/recommend?top=31", 413, "at most 30"),
        ("/recommend?top=²", 400, "whole number"),
        ("/recommend?top=1&top=2", 400, "given twice"),
        ("/explain?u=Person 20", 400, "v is the name of a node"),
        ("/explain?u=Person 20&v=Person 20", 400, "got 'Person 20' twice"),
        ("/explain?u=Person 20&v=Person 21&population=all", 400, "random or candidates"),
        ("/explain?u=Person 20&v=Person 21&path=../../etc/passwd", 400, "not known here"),
        ("/../../etc/passwd", 404, "nothing at this address"),
        ("/files/page.html", 404, "nothing at this address"),
        ("/score", 405, "another method"),
    ],
)
def test_a_bad_question_gets_a_sentence(client, path, status, sentence):
    got = client.get(path)
    assert got.status_code == status
    assert sentence in got.json()["error"]


def test_the_door_is_closed_to_other_sites_and_other_names(client):
    assert client.get("/run", headers={"host": "evil.example"}).status_code == 403
    assert client.get("/run", headers={"host": "127.0.0.1.evil.example"}).status_code == 403
    assert client.get("/run", headers={"host": "user@127.0.0.1"}).status_code == 403
    assert client.get("/run", headers={"host": ""}).status_code == 403
    assert client.get("/run", headers={"host": "localhost:8765"}).status_code == 200
    assert client.get("/run", headers={"host": "[::1]:8765"}).status_code == 200
    assert client.get("/run", headers={"origin": "http://evil.example"}).status_code == 403
    assert client.get("/run", headers={"origin": "null"}).status_code == 403
    assert client.get("/run", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert client.get("/run", headers={"origin": "http://127.0.0.1:8765"}).status_code == 200
    form = client.post("/score", content=b'{"pairs": [["a", "b"]]}', headers={"content-type": "text/plain"})
    assert form.status_code == 415
    with TestClient(make_app(hostile_model(), names=frozenset(["graphs.example"]), warm=False)) as named:
        assert named.get("/run", headers={"host": "graphs.example"}).status_code == 200


def test_a_token_is_asked_of_everything_that_knows_the_run():
    with TestClient(make_app(hostile_model(), token="secret", warm=False), base_url="http://127.0.0.1") as client:
        for path in ("/run", "/health", "/nodes?search=a", "/recommend", "/openapi.json", "/nothing"):
            assert client.get(path).status_code == 401, path
            assert client.get(path, headers={"authorization": "Bearer secre"}).status_code == 401, path
        assert client.get("/run", headers={"authorization": "Bearer secret"}).status_code == 200
        for path in FILES:
            got = client.get(path)
            assert got.status_code == 200
            assert "circles" not in got.text


def test_every_answer_has_the_policy_and_only_whole_files_are_given(client):
    for path in (*FILES, "/run", "/nothing"):
        got = client.get(path)
        assert "default-src 'none'" in got.headers["content-security-policy"]
        assert "unsafe" not in got.headers["content-security-policy"]
        assert got.headers["x-content-type-options"] == "nosniff"
    assert "MIT" in client.get("/licence").text or "Permission is hereby granted" in client.get("/licence").text


def test_too_long_is_408_too_many_429_and_what_was_computed_is_kept():
    begun, release, calls = threading.Event(), threading.Event(), []

    def slow():
        calls.append(1)
        begun.set()
        release.wait(20)
        return {"done": True}

    async def scene():
        worker = Worker(RequestLimits(seconds=0.2, waiting=2))
        with pytest.raises(RequestError) as late:
            await worker.do("a", slow)
        assert late.value.status == 408
        with pytest.raises(RequestError) as again:  # joins the same work
            await worker.do("a", slow)
        assert again.value.status == 408
        waiting = asyncio.create_task(worker.do("b", slow))
        await asyncio.sleep(0.1)
        joined = asyncio.create_task(worker.do("b", slow))
        with pytest.raises(RequestError) as full:
            await worker.do("c", slow)
        assert full.value.status == 429
        for task in (waiting, joined):  # given up on by the first, so over for the second too
            with pytest.raises(RequestError) as over:
                await task
            assert over.value.status == 408
        release.set()
        for _ in range(100):
            await asyncio.sleep(0.02)
            if not worker.waiting:
                break
        assert await worker.do("a", slow) == {"done": True}
        assert len(calls) == 1  # b was given up on before it began
        worker.stop()

    asyncio.run(scene())


def test_the_server_listens_on_loopback_by_default():
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("example.org")
    taken = bind_socket("127.0.0.1", 0)
    taken.listen()
    with pytest.raises(InputError, match="choose another --port"):
        serve_run(hostile_model(), port=taken.getsockname()[1])
    taken.close()
    with pytest.raises(InputError, match="choose another --port or --host"):
        bind_socket("256.1.1.1", 0)


def test_a_body_that_never_ends_is_408_and_one_too_large_413_and_neither_is_read_on(monkeypatch):
    monkeypatch.setattr("llwlc._serve.request_parsing.BODY_SECONDS", 1.0)
    listening = bind_socket("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(make_app(hostile_model(), warm=False), log_level="critical", ws="none"))
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    with socket.create_connection(listening.getsockname(), timeout=60) as half:
        half.sendall(
            b"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        )
        assert half.recv(100).startswith(b"HTTP/1.1 408")
    monkeypatch.setattr("llwlc._serve.request_parsing.BODY_SECONDS", 600.0)  # now sizes alone decide
    large = http.client.HTTPConnection(*listening.getsockname(), timeout=60)
    large.request("POST", "/score", b'{"pairs": [' + b" " * 1_500_000 + b"]}", {"Content-Type": "application/json"})
    assert large.getresponse().status == 413
    large.close()
    with socket.create_connection(listening.getsockname(), timeout=60) as endless:
        endless.sendall(
            b"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        with pytest.raises(ConnectionError):
            endless.sendall((b"10000\r\n" + b" " * 65536 + b"\r\n") * 4000)  # 250 MB
    server.should_exit = True
    thread.join(120)
    assert not thread.is_alive()


def test_large_answers_are_not_kept_by_the_hundred():
    async def rounds() -> list[int]:
        worker, held = Worker(RequestLimits()), []
        for at in range(60):
            await worker.do(at, lambda: "an answer", weight=11)
            await asyncio.sleep(0.01)
            held.append(len(worker._kept))
        worker.stop()
        return held

    held = asyncio.run(rounds())
    assert max(held) == 200 // 11
    assert held[-1] == 200 // 11


def test_requests_for_the_same_work_are_not_waited_for_without_end():
    release = threading.Event()

    async def scene():
        worker = Worker(RequestLimits(requests=3))
        waiting = [asyncio.create_task(worker.do("a", lambda: release.wait(20))) for _ in range(3)]
        await asyncio.sleep(0.1)
        with pytest.raises(RequestError) as full:
            await worker.do("a", release.wait)
        assert full.value.status == 429
        release.set()
        assert await asyncio.gather(*waiting) == [True] * 3
        assert await worker.do("a", release.wait)  # kept, and none waits any more
        assert await worker.do("b", release.wait)
        worker.stop()

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("host", "asked", "tokens"), [("127.0.0.1", False, 0), ("127.0.0.1", True, 1), ("0.0.0.0", False, 1)]
)
def test_a_token_is_drawn_where_others_can_ask_or_where_one_is_required(monkeypatch, host, asked, tokens):
    served, said = [], []
    monkeypatch.setattr("uvicorn.Server.run", lambda server, sockets: (served.append(server), sockets[0].close()))
    serve_run(hostile_model(), host=host, port=0, names=["192.0.2.7"], require_token=asked, say=said.append)
    (server,), (address,) = served, said
    assert address.count("#token=") == tokens
    assert ("http://192.0.2.7:" in address) == (host == "0.0.0.0")  # 0.0.0.0 is no address to call
    assert (server.config.app.door.token is not None) == bool(tokens)
    assert server.config.app.door.names == {host, "192.0.2.7"}
