"""One worker thread for all requests that need the model, with a short queue, a time limit and a cache of results."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from llwlc._serve.limits import RequestError, RequestLimits

MAX_CACHED_RESULTS = 200
"""Weight of all results that are kept together: about 100 MB."""


class Worker:
    """A thread of its own: the model is used by one request at a time, while the server goes on answering others.

    A request that times out (408) is cancelled while it waits; once it runs it is finished, since every request is
    bounded, and its result is cached for the next one.
    """

    def __init__(self, limits: RequestLimits) -> None:
        self.limits = limits
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="llwlc-model")
        self._kept: OrderedDict[Hashable, tuple[int, Any]] = OrderedDict()
        self._running: dict[Hashable, Future[Any]] = {}
        self._requests = 0

    @property
    def waiting(self) -> int:
        return len(self._running)

    async def do(self, key: Hashable, work: Callable[[], Any], weight: int = 1) -> Any:
        """The result of the work, kept under its key; the same work is never done twice at once. `weight`: of the
        result, 1 for about half a megabyte.
        """
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key][1]
        job = self._running.get(key)
        if self._requests >= self.limits.requests or (job is None and len(self._running) >= self.limits.waiting):
            raise RequestError(429, "too many requests are waiting for the model already: try again in a moment")
        if job is None:
            job = self.begin(key, work, weight)
        late = RequestError(
            408, f"this took longer than {self.limits.seconds:g} seconds: ask for less, or once more in a moment"
        )
        self._requests += 1
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(job)), self.limits.seconds)
        except TimeoutError:
            job.cancel()
            raise late from None
        except asyncio.CancelledError:
            if job.cancelled():  # by another request for the same work, which timed out
                raise late from None
            raise
        finally:
            self._requests -= 1

    def begin(self, key: Hashable, work: Callable[[], Any], weight: int = 1) -> Future[Any]:
        """Queues the work, inside a running loop."""
        job = self._pool.submit(copy_context().run, work)
        self._running[key] = job
        loop = asyncio.get_running_loop()
        job.add_done_callback(lambda done: self._finish(loop, key, weight, done))
        return job

    def _finish(self, loop: asyncio.AbstractEventLoop, key: Hashable, weight: int, done: Future[Any]) -> None:
        def keep() -> None:
            self._running.pop(key, None)
            if not done.cancelled() and done.exception() is None:
                self._kept[key] = weight, done.result()
                while sum(each for each, _ in self._kept.values()) > MAX_CACHED_RESULTS:
                    self._kept.popitem(last=False)

        if not loop.is_closed():
            loop.call_soon_threadsafe(keep)

    def stop(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
