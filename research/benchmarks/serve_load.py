"""The page under load: `python research/benchmarks/serve_load.py runs/cora --clients 8 --seconds 30`, with `--fuzz
10000` under nonsense, or with `--half 1100` under attack.

Starts `llwlc serve` as a process of its own, waits until it has warmed up, and asks it over HTTP. Load: every client
searches, scores, recommends and explains what it draws; prints the number of answers, errors, the median and 95th
percentile of each kind, and the memory of the server along the way. Fuzz: requests with altered addresses, methods,
headers, JSON and sizes; counts the answers by status, and fails where one is 5xx, or the server's log holds a
traceback. Half: so many connections send half of a request and are opened again as soon as they are closed, while one
client asks; prints its answers and the size of the log, and fails where an answer failed or took more than two
seconds, or the log has more than 100 kB. The server is alive afterwards in both, or the command fails.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import numpy as np

EXPECTED = {200, 400, 401, 403, 404, 405, 408, 413, 415, 429, 431}
NASTY = [
    "",
    "<script>",
    "../../etc/passwd",
    "%00",
    "\u202e",
    "'",
    '"',
    "{{7*7}}",
    "9" * 5000,
    "-1",
    "nan",
    "NaN",
    "1e309",
    "٣",
    "\ud7ff",
    "a" * 900,
    "null",
    "0x10",
    "[]",
    "\n",
    "null\x00",
]
HEADERS = [
    "Host",
    "Origin",
    "Authorization",
    "Range",
    "Accept",
    "Sec-Fetch-Site",
    "Transfer-Encoding",
    "X-Forwarded-For",
    "Upgrade",
    "Cookie",
]
VALUES = [
    "evil.example",
    "127.0.0.1",
    "null",
    "Bearer x",
    "bytes=0-",
    "cross-site",
    "a" * 500,
    "localhost:99999",
    "[::1",
    "websocket",
]


@contextmanager
def running(run: Path):
    """The port of a server of the run, its process, and the file that its log goes to."""
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "llwlc", "serve", str(run), "--port", "0"], stderr=log, stdout=log
        )
        try:
            port = None
            while port is None:
                time.sleep(0.2)
                log.seek(0)
                said = re.search(r"http://127\.0\.0\.1:(\d+)/", log.read())
                port = None if said is None else int(said[1])
                if process.poll() is not None:
                    raise SystemExit("the server did not start")
            while ask(port, "GET", "/health")[1]["waiting"]:
                time.sleep(0.5)
            yield port, process, log
        finally:
            process.terminate()
            process.wait(30)


def ask(port: int, method: str, path: str, body: object = None, timeout: float = 120):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        headers = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def memory(process: subprocess.Popen) -> float:
    """Resident megabytes, as Linux says."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
    return int(found[1]) / 1024


def load(port: int, process: subprocess.Popen, clients: int, seconds: float) -> bool:
    """Whether all went well."""
    nodes = ask(port, "GET", "/run")[1]["nodes"]
    names = ask(port, "GET", f"/nodes?search={quote('1')}")[1]["nodes"]
    numbered = all(name.isdecimal() for name in names)
    taken: dict[str, list[float]] = {}
    errors: Counter = Counter()
    lock = threading.Lock()
    end = time.monotonic() + seconds
    sizes = [memory(process)]

    def client(seed: int) -> None:
        rng = random.Random(seed)

        def name() -> str:
            return str(rng.randrange(nodes)) if numbered else rng.choice(names)

        while time.monotonic() < end:
            kind = rng.choices(["nodes", "score", "recommend", "explain"], [4, 3, 2, 1])[0]
            a, b = name(), name()
            if a == b:
                continue
            path = {
                "nodes": f"/nodes?search={quote(a)}",
                "score": "/score",
                "recommend": f"/recommend?node={quote(a)}",
                "explain": f"/explain?u={quote(a)}&v={quote(b)}&edges=50",
            }[kind]
            begin = time.perf_counter()
            try:
                status, _ = ask(
                    port, "POST" if kind == "score" else "GET", path, {"pairs": [[a, b]]} if kind == "score" else None
                )
            except OSError as error:
                status = repr(error)
            with lock:
                taken.setdefault(kind, []).append(time.perf_counter() - begin)
                if status != 200:
                    errors[status] += 1

    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(clients)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(5)
        sizes.append(memory(process))
    print("| request | answers | median, ms | p95, ms |\n| --- | --- | --- | --- |")
    for kind, times in sorted(taken.items()):
        print(f"| {kind} | {len(times)} | {1000 * np.median(times):.0f} | {1000 * np.quantile(times, 0.95):.0f} |")
    every = np.concatenate(list(taken.values()))
    print(f"| all | {len(every)} | {1000 * np.median(every):.0f} | {1000 * np.quantile(every, 0.95):.0f} |")
    print(
        f"errors: {dict(errors) or 'none'}; memory of the server in MB every five seconds:"
        f" {', '.join(f'{s:.0f}' for s in sizes)}"
    )
    return not errors


def make_malformed_request(rng: random.Random) -> tuple[str, str, bytes | None, dict[str, str]]:
    """One request that a client may send by mistake or on purpose."""
    paths = [
        "/",
        "/run",
        "/health",
        "/nodes",
        "/score",
        "/recommend",
        "/explain",
        "/openapi.json",
        "/page.js",
        "/etc/passwd",
        "/%2e%2e/",
        "//",
        "/score/",
    ]
    path = rng.choice(paths)
    keys = ["search", "node", "top", "u", "v", "population", "edges", "prior", "file", "", "__proto__"]

    def word() -> str:
        return rng.choice(
            [*NASTY, str(rng.randrange(4000)), "".join(chr(rng.randrange(1, 0x300)) for _ in range(rng.randrange(12)))]
        )

    if rng.random() < 0.7:
        path += "?" + "&".join(
            f"{quote(rng.choice(keys))}={quote(word(), errors='replace')}" for _ in range(rng.randrange(4))
        )
    method = rng.choices(
        ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE"], [8, 8, 1, 1, 1, 1, 1, 1]
    )[0]
    body = None
    if method == "POST" or rng.random() < 0.1:

        def value(depth: int = 0):
            kinds = [
                word,
                lambda: rng.randrange(-5, 4000),
                lambda: 10 ** rng.randrange(400),
                rng.random,
                lambda: None,
                lambda: True,
            ]
            if depth < 3:
                kinds += [
                    lambda: [value(depth + 1) for _ in range(rng.randrange(4))],
                    lambda: {word(): value(depth + 1)},
                ]
            return rng.choice(kinds)()

        whole = {
            "pairs": [
                [str(rng.randrange(2000)), rng.choice([str(rng.randrange(2000)), value()])]
                for _ in range(rng.randrange(1, 5))
            ],
            "prior": rng.choice([0.5, value()]),
        }
        data = rng.choice([whole, whole, value(), {"pairs": value()}])
        body = json.dumps(data, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
        if rng.random() < 0.3:
            cut = bytearray(body)
            for _ in range(rng.randrange(1, 6)):
                cut[rng.randrange(len(cut))] = rng.randrange(256)
            body = bytes(cut)
        if rng.random() < 0.01:
            body = b'{"pairs": [' + b" " * 1_100_000 + b"]}"
        if rng.random() < 0.02:
            body = b"[" * 100_000
    headers = {"Content-Type": rng.choice(["application/json", "application/json; charset=utf-8", "text/plain", ""])}
    if rng.random() < 0.2:
        headers[rng.choice(HEADERS)] = rng.choice(VALUES)
    return method, path, body, headers


def fuzz(port: int, process: subprocess.Popen, log, count: int, seed: int) -> bool:
    rng, seen, bad = random.Random(seed), Counter(), []
    for at in range(count):
        method, path, body, headers = make_malformed_request(rng)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            response.read()
            status: object = response.status
        except (OSError, http.client.HTTPException, ValueError) as error:
            # the server hangs up on what is no HTTP; Python's client refuses to send some of it
            status = type(error).__name__
        finally:
            connection.close()
        seen[status] += 1
        if isinstance(status, int) and status not in EXPECTED:
            bad.append((at, method, path[:100], status))
    log.seek(0)
    text = log.read()
    alive = ask(port, "GET", "/health")[0] == 200
    print(f"{count} requests, by status: {dict(sorted(seen.items(), key=str))}; memory {memory(process):.0f} MB")
    for case in bad[:10]:
        print("unexpected:", case)
    if "Traceback" in text:
        print("the log holds a traceback:\n" + text[-3000:])
    return alive and not bad and "Traceback" not in text


def send_half_requests(port: int, log, count: int, seconds: float) -> bool:
    """Whether a client was answered in time while others sent half of a request each."""
    end, opened = time.monotonic() + seconds, 0
    taken: list[float] = []
    errors: Counter = Counter()

    def attack() -> None:
        nonlocal opened
        held: list[socket.socket] = []
        while time.monotonic() < end:
            held = [each for each in held if not _closed(each)]
            for _ in range(count - len(held)):
                try:
                    each = socket.create_connection(("127.0.0.1", port), timeout=2)
                    each.sendall(b"GET /run HTTP/1.1\r\nHost: 127.0.0.1\r\nX-")
                    each.setblocking(False)
                    held.append(each)
                    opened += 1
                except OSError:
                    break
            time.sleep(0.05)
        for each in held:
            each.close()

    attacker = threading.Thread(target=attack)
    attacker.start()
    time.sleep(1)
    while time.monotonic() < end:
        begin = time.perf_counter()
        try:
            status, _ = ask(port, "GET", "/run", timeout=5)
        except OSError as error:
            status = type(error).__name__
        taken.append(time.perf_counter() - begin)
        if status != 200:
            errors[status] += 1
        time.sleep(0.1)
    attacker.join()
    size = log.seek(0, 2)
    print(
        f"{count} connections held half-sent, {opened} opened in {seconds:g} s; the client: {len(taken)} requests,"
        f" errors {dict(errors) or 'none'}, median {1000 * np.median(taken):.0f} ms, slowest {1000 * max(taken):.0f}"
        f" ms; log {size} bytes"
    )
    return not errors and max(taken) < 2 and size < 100_000


def _closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder that llwlc fit wrote")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--fuzz", type=int, default=0, help="send so many requests of nonsense instead")
    parser.add_argument("--half", type=int, default=0, help="hold so many half-sent requests instead")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with running(given.run) as (port, process, log):
        if given.fuzz:
            well = fuzz(port, process, log, given.fuzz, given.seed)
        elif given.half:
            well = send_half_requests(port, log, given.half, given.seconds)
        else:
            well = load(port, process, given.clients, given.seconds)
        well = well and process.poll() is None
    if not well:
        raise SystemExit("something went wrong: see above")


if __name__ == "__main__":
    main()
