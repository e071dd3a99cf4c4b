"""A log that nobody can fill: records of one kind are written once in a while, with a count."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

LOGGERS = ("llwlc._serve", "uvicorn.error", "asyncio")
SECONDS = 10.0


class RateLimitFilter(logging.Filter):
    """Passes one record of a kind in `seconds`; the next that passes says how many were left out. A kind is a line of
    code and a type of exception, so there are few.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        super().__init__()
        self.seconds = seconds
        self._seen: dict[tuple[object, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[0] if record.exc_info else None
        kind = (record.pathname, record.lineno, error)
        now = time.monotonic()
        last, left_out = self._seen.get(kind, (now - self.seconds, 0))
        if now - last < self.seconds:
            self._seen[kind] = last, left_out + 1
            return False
        if left_out:
            record.msg = (
                f"{record.getMessage().rstrip()} ({left_out:,} more like this in the {now - last:.0f} seconds before)"
            )
            record.args = ()
        self._seen[kind] = now, 0
        return True


@contextmanager
def limit_log() -> Iterator[None]:
    """Limits the log of the server, of its connections and of its loop."""
    limit = RateLimitFilter()
    for name in LOGGERS:
        logging.getLogger(name).addFilter(limit)
    try:
        yield
    finally:
        for name in LOGGERS:
            logging.getLogger(name).removeFilter(limit)
