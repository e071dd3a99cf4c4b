"""Workers on Ray: actors that open their files by path, and compute shards one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from llwlc.errors import EngineError, LLwLCError, MissingDependencyError

RETRIES = 3
"""How often a shard is tried again after its worker's process was lost; lost workers are always started again."""
OBJECT_STORE_BYTES = 100 << 20
"""Bytes of Ray's object store: small, since shards are files and only their numbers are sent."""


@dataclass(frozen=True)
class Cluster:
    """Where the workers run: on the running cluster at `address`, or on one that is started here and ends with the
    command. `workers`: the most workers; None for one per processor.
    """

    address: str | None = None
    workers: int | None = None


def run_over_shards(cluster: Cluster, worker: type, task: object, method: str, shards: Sequence[int]) -> Iterator[Any]:
    """Calls `worker(given).method(shard)` for every shard, and yields the results in any order.

    `task` is pickled with the constructor, so that Ray still has it when it restarts a lost worker (arguments in the
    object store may be lost, ray#53727): it should be small, paths and numbers.
    """
    if not shards:
        return
    with _connected(cluster) as ray:
        from ray.util import ActorPool

        # one processor for each actor, and no other task requests one: actors on all processors block nothing
        there = max(1, int(ray.cluster_resources().get("CPU", 1)))
        count = min(cluster.workers or there, there, len(shards))
        remote = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=RETRIES)(worker)
        actors = [remote.remote(task) for _ in range(count)]
        try:
            pool = ActorPool(actors)
            yield from pool.map_unordered(lambda actor, shard: getattr(actor, method).remote(shard), shards)
        except ray.exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, LLwLCError):
                raise type(cause)(str(cause)) from error
            raise
        except ray.exceptions.RayActorError as error:
            raise EngineError(
                f"a worker was lost {RETRIES + 1} times on one shard, perhaps because memory ran out: give each more,"
                " then run the same again"
            ) from error
        finally:
            for actor in actors:
                ray.kill(actor)


@contextmanager
def _connected(cluster: Cluster) -> Iterator[Any]:
    try:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        import ray
    except ImportError:
        raise MissingDependencyError("--engine ray needs Ray: pip install 'llwlc[ray]'", name="ray") from None
    if ray.is_initialized():  # in a program that uses Ray already
        yield ray
        return
    try:
        if cluster.address is not None:
            ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        else:
            ray.init(
                num_cpus=os.cpu_count(),
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                log_to_driver=False,
                logging_level="ERROR",
            )
    except (ConnectionError, ValueError, RuntimeError) as error:
        where = "here" if cluster.address is None else f"at {cluster.address}"
        raise EngineError(
            f"Ray cannot be reached {where} ({str(error).splitlines()[0][:200]}): check --address, or leave it out"
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()
