"""Memory that is used again: never while somebody still looks at it, and never more of it than agreed."""

import gc
import threading

import networkx as nx
import numpy as np
import pytest
import torch

from kernel_cases import graph_of, some_pairs
from llwlc import link_bases
from llwlc._kernels.numba import buffer_pool

LARGE = 1 << 20


@pytest.fixture(autouse=True)
def _fresh_pool(monkeypatch):
    monkeypatch.setattr(buffer_pool, "_buffers", [])


def address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def test_used_again_once_nobody_looks():
    first = buffer_pool.empty(LARGE, np.float32)
    at = address(first)
    del first
    again = buffer_pool.empty(LARGE + 1000, np.int32)  # a little more, another type: the spare is for that
    assert address(again) == at
    assert again.dtype == np.int32
    assert len(again) == LARGE + 1000


@pytest.mark.parametrize(
    "look",
    [lambda a: a[5:9], lambda a: a.reshape(2, -1)[1], torch.from_numpy, lambda a: torch.from_numpy(a)[3:4].view(1, 1)],
)
def test_not_used_again_while_a_view_lives(look):
    first = buffer_pool.empty(LARGE, np.float32)
    at, view = address(first), look(first)
    del first
    gc.collect()
    other = buffer_pool.empty(LARGE, np.float32)
    assert address(other) != at
    del view
    assert address(buffer_pool.empty(LARGE, np.float32)) == at


def test_small_arrays_and_misfits_are_plain():
    assert buffer_pool.empty(10, np.float64).base is None
    assert not buffer_pool._buffers
    buffer_pool.empty(LARGE, np.float32)
    buffer_pool.empty(LARGE // 4, np.float32)  # would hold back four times as much as it needs
    assert len(buffer_pool._buffers) == 2


def test_the_pool_is_limited(monkeypatch):
    monkeypatch.setattr(buffer_pool, "BYTES", 8 * LARGE)
    for doubled in range(6):
        buffer_pool.empty(
            LARGE << doubled, np.uint8
        )  # each too large for the buffers before it, the last ones for the pool
        assert sum(map(len, buffer_pool._buffers)) <= 8 * LARGE
    held = [buffer_pool.empty(LARGE // 8, np.uint8) for _ in range(100)]
    assert len(buffer_pool._buffers) == buffer_pool.MOST
    for number, array in enumerate(held):
        array[:] = number
    assert all((array == number).all() for number, array in enumerate(held))


def test_who_would_have_to_wait_goes_without():
    with buffer_pool._lock:
        assert len(buffer_pool.empty(LARGE, np.float32)) == LARGE
    assert not buffer_pool._buffers


def test_without_counted_references_nothing_is_kept(monkeypatch):
    monkeypatch.setattr(buffer_pool, "_counts_references", lambda: False)
    buffer_pool.empty(LARGE, np.float32)
    assert not buffer_pool._buffers


def test_threads_never_share():
    seen, wrong = threading.Barrier(4), []

    def work(mine: int) -> None:
        for _ in range(200):
            array = buffer_pool.empty(LARGE // 8, np.int64)
            array[:] = mine
            if not (array == mine).all():
                wrong.append(mine)
        seen.wait()

    workers = [threading.Thread(target=work, args=(mine,)) for mine in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_earlier_results_stay_as_they_are():
    """Batches that are held, dropped and held again, of other sizes and with dead columns in between."""
    graph = graph_of(nx.gnm_random_graph(400, 1600, seed=1))
    stars = graph_of(nx.star_graph(300))
    pairs = some_pairs(graph, 300)
    subs, basis = link_bases(graph, pairs, backend="numba")
    copies = [x.clone() for x in (subs.node, subs.row, subs.dist_u, basis.vectors)]
    for size in (300, 150, 260):
        link_bases(graph, pairs[:size], backend="numba", steps=7)
        around, dead = link_bases(stars, some_pairs(stars, 60), backend="numba")
        columns = ~dead.mask[around.graph]
        assert columns.any()
        assert (dead.vectors[columns] == 0).all()
    for kept, copy in zip((subs.node, subs.row, subs.dist_u, basis.vectors), copies, strict=True):
        assert torch.equal(kept, copy)
