"""Checks of the contents of a request."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from typing import Any

from starlette.requests import ClientDisconnect, Request

from llwlc._serve.limits import RequestError, RequestLimits

BODY_SECONDS = 10.0
OVERSIZE_FACTOR = 20


async def read_body(request: Request, limits: RequestLimits) -> dict[str, Any]:
    """The JSON object that a request holds."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestError(415, "send JSON, with the header Content-Type: application/json")
    raw, size = bytearray(), 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                size += len(chunk)
                # a body that is too large is read for a while and dropped: a client that is still sending would not see
                # the answer
                if size > OVERSIZE_FACTOR * limits.body:
                    break
                raw += chunk if size <= limits.body else b""
    except TimeoutError:
        raise RequestError(408, f"the request did not arrive within {BODY_SECONDS:g} seconds: send it again") from None
    except ClientDisconnect:
        raise RequestError(400, "the request ended before it was whole") from None
    if size > limits.body:
        raise RequestError(413, f"a request may have {limits.body:,} bytes: send fewer pairs at once")
    try:
        data = json.loads(bytes(raw).decode("utf-8"))
    except (ValueError, RecursionError):
        raise RequestError(400, "the request is not valid JSON") from None
    if not isinstance(data, dict):
        raise RequestError(400, 'send a JSON object, as in {"pairs": [["Ada", "Bob"]]}')
    return data


def check_parameters(parameters: Mapping[str, Any], names: tuple[str, ...]) -> None:
    other = sorted(set(parameters) - set(names))
    if other:
        raise RequestError(400, f"{quote_value(other[0])} is not known here: there are {', '.join(names)}")


def quote_value(value: object) -> str:
    """A value for use in a message, short and encodable."""
    if isinstance(value, int) and abs(value) >= 10**18:  # Python refuses to print very long numbers
        return "a huge number"
    return repr(str(value)[:60].encode("utf-8", "replace").decode())


def parse_node(value: Any, what: str, limits: RequestLimits) -> str:
    """A node as a text; numbers are names too."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
        return str(value)
    if not isinstance(value, str) or not value:
        raise RequestError(
            400,
            f"{what} is the name of a node, got"
            f" {quote_value(value) if isinstance(value, str) else type(value).__name__}",
        )
    if len(value) > limits.name:
        raise RequestError(413, f"{what} is longer than {limits.name} characters, which no node's name is")
    if not value.isprintable():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise RequestError(400, f"{what} is not valid text: send UTF-8") from None
    return value


def parse_pairs(value: Any, limits: RequestLimits) -> list[tuple[str, str]]:
    if not isinstance(value, list) or not value:
        raise RequestError(400, 'pairs is a list of pairs, as in [["Ada", "Bob"], ["Ada", "Cleo"]]')
    if len(value) > limits.pairs:
        raise RequestError(
            413,
            f"a request may have {limits.pairs:,} pairs, got {len(value):,}: send them in parts, or use llwlc score",
        )
    pairs = []
    for at, pair in enumerate(value, 1):
        if not isinstance(pair, list) or len(pair) != 2:
            raise RequestError(400, f"pair {at} is not a list of two nodes")
        a, b = (parse_node(end, f"pair {at}", limits) for end in pair)
        if a == b:
            raise RequestError(400, f"pair {at} joins {quote_value(a)} with itself: a link needs two nodes")
        pairs.append((a, b))
    return pairs


def parse_triples(value: Any, limits: RequestLimits) -> list[tuple[str, str, str]]:
    example = '[["Ada", "knows", "Bob"]]'
    if not isinstance(value, list) or not value:
        raise RequestError(400, f"triples is a list of source, type and target, as in {example}")
    if len(value) > limits.pairs:
        raise RequestError(
            413,
            f"a request may have {limits.pairs:,} triples, got {len(value):,}: send them in parts, or use llwlc score",
        )
    triples = []
    for at, triple in enumerate(value, 1):
        if not isinstance(triple, list) or len(triple) != 3:
            raise RequestError(400, f"triple {at} is not a list of source, type and target")
        source, kind, target = (parse_node(part, f"triple {at}", limits) for part in triple)
        triples.append((source, kind, target))
    return triples


def parse_number(value: Any, what: str, default: float, low: float, high: float) -> float:
    """A number strictly between two bounds."""
    if value is None or value == "":
        return default
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not low < number < high:
        raise RequestError(400, f"{what} is a number above {low:g} and below {high:g}, got {quote_value(value)}")
    return number


def parse_whole(value: Any, what: str, default: int, most: int) -> int:
    """A whole number from 1 to `most`."""
    if value is None or value == "":
        return default
    small = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9
    text = str(value) if small or isinstance(value, str) else ""
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= 1):
        raise RequestError(400, f"{what} is a whole number from 1 to {most:,}, got {quote_value(value)}")
    if int(text) > most:
        raise RequestError(413, f"{what} is at most {most:,}, got {int(text):,}")
    return int(text)
