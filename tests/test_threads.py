"""One fitted predictor, several threads: what `score`, `recommend` and `explain` say does not depend on who else
asks.
"""

import copy
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numba
import pytest
import torch
from threadpoolctl import threadpool_info

from llwlc._predictor import LinkPredictor
from llwlc._support.compiler import cache_dir, compiled
from llwlc._support.threads import use_one_blas_thread, use_one_thread
from people import QUICK, people

THREADS = 4


@pytest.fixture(autouse=True)
def many_switches() -> Iterator[None]:
    """Python changes threads a hundred times as often as usual, so that a race shows within seconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    yield
    sys.setswitchinterval(before)


@cache
def fitted(**parameters: Any) -> LinkPredictor:
    options = QUICK if "model" not in parameters else {"epochs": 2} if parameters["model"] != "katz" else {}
    return LinkPredictor(cache=None, minutes=None, device="cpu", **parameters, **options).fit(people())


def from_threads(jobs: list[Callable[[], Any]]) -> list[Any]:
    """The results of the jobs, by several threads that begin together; an error is raised here."""
    begin = threading.Barrier(THREADS)

    def some(first: int) -> list[Any]:
        begin.wait()
        return [job() for job in jobs[first::THREADS]]

    with ThreadPoolExecutor(THREADS) as pool:
        parts = [pool.submit(some, first) for first in range(THREADS)]
        found = [part.result() for part in parts]
    return [found[i % THREADS][i // THREADS] for i in range(len(jobs))]


@pytest.mark.parametrize("preset", ["anchored", "paper"])
def test_explanations_from_four_threads_are_those_from_one(preset):
    model = fitted(preset=preset)
    split = model.run_.split
    pairs = [
        (model.graph_.name(a), model.graph_.name(b))
        for a, b in [*split.test_pos.tolist()[:6], *split.test_neg.tolist()[:6]]
    ]
    jobs = [
        lambda pair=pair, population=population: model.explain(*pair, population=population)
        for pair in pairs
        for population in ("random", "candidates")
    ]
    alone = [job() for job in jobs]
    assert from_threads(jobs * 2) == alone * 2


def test_explaining_leaves_the_network_as_it_was(monkeypatch):
    """What is silenced for one pair is silent in a copy: the shared network never has a hook that another thread would
    meet.
    """
    model = fitted(preset="anchored")
    net = model.explainer_.scorer.net
    own: list[bool] = []
    forward = type(net).readout

    def readout(self, *given):
        own.append(self is net and any(part._forward_hooks for part in self.modules()))
        return forward(self, *given)

    monkeypatch.setattr(type(net), "readout", readout)
    model.explain("Person 00", "Person 41")
    assert own
    assert not any(own)


@pytest.mark.parametrize("parameters", [{"preset": "anchored"}, {"model": "gcn"}, {"model": "katz"}], ids=str)
def test_scores_on_several_graphs_from_four_threads_are_those_from_one(parameters):
    """What a model keeps of the graph that it scored on last is no other thread's."""
    model = fitted(**parameters).model_
    graph = fitted(**parameters).graph_
    graphs = [graph.with_edges(graph.edges[torch.arange(graph.num_edges) % 7 != k]) for k in range(THREADS)]
    pairs = torch.combinations(torch.arange(0, 90, 9))
    alone = [model.score(each, pairs) for each in graphs]
    assert len({tuple(each.tolist()) for each in alone}) == THREADS
    for _ in range(6):
        fresh = copy.deepcopy(model)  # keeps nothing yet
        jobs = [lambda each=each, fresh=fresh: fresh.score(each, pairs) for each in graphs]
        for k, found in enumerate(from_threads(jobs * 3)):
            assert torch.equal(found, alone[k % THREADS])


def test_lists_for_several_requests_from_four_threads_are_those_from_one():
    """Candidates are kept of the last request; no thread gets those of another one's."""
    model = fitted(preset="anchored")
    asked = [{"budget": 3}, {"budget": 30}, {"sources": 5}, {"sources": 40, "node": None}, {"node": "Person 07"}]
    direct = [lambda options=options: model.recommend(top=8, **options) for options in asked]
    alone = [job() for job in direct]
    rounds = 8
    jobs = [direct[(k + k // THREADS) % len(asked)] for k in range(rounds * THREADS)]
    wanted = [alone[(k + k // THREADS) % len(asked)] for k in range(rounds * THREADS)]
    assert from_threads(jobs) == wanted


def test_the_first_questions_after_loading_may_come_at_once(tmp_path):
    fitted(preset="anchored").save(tmp_path / "run")
    pair, pairs = ("Person 00", "Person 41"), torch.tensor([[0, 41], [3, 5]])

    def answers(model: LinkPredictor) -> list[Callable[[], Any]]:
        return [
            lambda: model.score(pairs).score.tolist(),
            lambda: model.recommend(top=3),
            lambda: model.explain(*pair),
            lambda: model.explain(*pair, population="candidates"),
        ]

    alone = [job() for job in answers(LinkPredictor.load(tmp_path / "run", device="cpu", cache=None))]
    for _ in range(3):
        assert from_threads(answers(LinkPredictor.load(tmp_path / "run", device="cpu", cache=None))) == alone


def test_threads_of_torch_are_given_back_when_blocks_overlap():
    """A thread that begins while another one has torch on one thread would else take that for the setting, and leave it
    behind.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    inside, go = threading.Event(), threading.Event()

    def hold() -> int:
        with use_one_thread():
            inside.set()
            go.wait(60)
        return torch.get_num_threads()

    def begin_late() -> tuple[int, int]:
        with use_one_thread():
            within = torch.get_num_threads()
            go.set()
        return within, torch.get_num_threads()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(hold)
        assert inside.wait(60)
        late = pool.submit(begin_late).result()
        held = first.result()
    with ThreadPoolExecutor(1) as pool:
        new = pool.submit(torch.get_num_threads).result()
    torch.set_num_threads(before)
    assert (late, held, new) == ((1, 3), 3, 3)


def test_a_block_inside_a_block_stays_on_one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    with use_one_thread():
        with use_one_thread():
            pass
        left = torch.get_num_threads()
    torch.set_num_threads(before)
    assert left == 1


def test_kernels_that_several_threads_import_keep_their_code_in_their_own_folders():
    modules = ["llwlc._kernels.numba.scores", "llwlc._kernels.numba.search"] * 2
    kept = numba.config.CACHE_DIR

    def made(module: str) -> bool:
        def one(x: int) -> int:
            return x

        one.__module__ = module
        return str(compiled(one)._cache.cache_path).startswith(cache_dir(module))

    assert all(from_threads([lambda module=modules[k % 4]: made(module) for k in range(400)]))
    assert kept == numba.config.CACHE_DIR


def test_blocks_with_one_blas_thread_take_turns_and_give_it_back():
    def threads() -> set[int]:
        return {x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"}

    def inside() -> set[int]:
        with use_one_blas_thread():
            first = threads()
            with use_one_blas_thread():
                pass
            return first | threads()

    before = threads()
    assert from_threads([inside] * 8) == [{1}] * 8
    assert threads() == before
