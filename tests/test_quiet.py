"""Progress: silent in a call from Python, shown where it is asked for, logged elsewhere."""

import asyncio
import logging
import os
import subprocess
import sys
from contextvars import copy_context
from threading import Thread

import pytest

import llwlc
from llwlc._serve.limits import RequestLimits
from llwlc._serve.worker import Worker
from llwlc._support.progress import make_progress, print_notice, track

FIT = """
import sys, networkx, llwlc
graph = llwlc.Graph.from_networkx(networkx.karate_club_graph())
verbose = sys.argv[1] == "verbose"
llwlc.LinkPredictor(model="adamic-adar", verbose=verbose).fit(graph).recommend(top=3)
tiny = dict(epochs=2, minutes=None, device="cpu", cache=None)
model = llwlc.LinkPredictor(**tiny, verbose=verbose).fit(graph, out="run")
model.score([("0", "9")])
if not verbose:
    llwlc.LinkPredictor.load("run").explain("0", "9").to_text()
    llwlc.LinkPredictor(**tiny, use_validation=True, pooling="dgcnn").fit(graph)  # both are worth a warning
    model.evaluate("random", seed=1), model.evaluate_ranking(), model.plot(), llwlc.datasets.load("cora")
"""


def fit(how, folder):
    # a terminal, for rich: where there is none, a short step prints nothing anyway
    where = os.environ | {"FORCE_COLOR": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", FIT, how]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=where, cwd=folder)


def test_a_call_from_python_prints_nothing(tmp_path):
    found = fit("quiet", tmp_path)
    assert (found.stdout, found.stderr) == ("", "")


def test_a_verbose_predictor_shows_bars_of_training_and_of_scores_on_stderr(tmp_path):
    found = fit("verbose", tmp_path)
    assert found.stdout == ""
    assert all(step in found.stderr for step in ("training", "scoring candidates", "scoring pairs", "2/2"))


def test_inside_show_progress_bars_and_notices_are_shown_and_elsewhere_they_are_not(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with llwlc.show_progress():
        print_notice("a notice")
        assert list(track(range(3), "counting")) == [0, 1, 2]
        with llwlc.show_progress(False):
            print_notice("nothing")
            assert list(track(range(3), "hidden")) == [0, 1, 2]
    shown = capsys.readouterr().err
    assert "a notice" in shown
    assert "counting" in shown
    assert "nothing" not in shown
    assert "hidden" not in shown
    assert list(track(range(3), "counting")) == [0, 1, 2]
    with make_progress() as display:
        display.advance(display.add_task("by hand", total=2))
    assert capsys.readouterr() == ("", "")


def test_a_notice_that_is_not_shown_is_logged(caplog):
    with caplog.at_level(logging.INFO, "llwlc"):
        print_notice("kernels are compiled: 100 %")
        with llwlc.show_progress():
            print_notice("shown")
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [("INFO", "kernels are compiled: 100 %")]


def test_a_warning_that_is_not_shown_is_logged_as_one_and_not_printed(caplog, capsys):
    with caplog.at_level(logging.WARNING, "llwlc"):
        print_notice("slow", logging.WARNING)
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [("WARNING", "slow")]
    assert capsys.readouterr() == ("", "")


def test_one_thread_that_shows_its_progress_leaves_others_silent(capsys):
    with llwlc.show_progress():
        helper = Thread(target=copy_context().run, args=(print_notice, "a helper"))
        for thread in (Thread(target=print_notice, args=("another thread",)), helper):
            thread.start()
            thread.join()
    assert capsys.readouterr().err == "a helper\n"


@pytest.mark.parametrize("shown", [True, False])
def test_the_servers_worker_shows_progress_where_its_command_does(capsys, shown):
    async def ask():
        worker = Worker(RequestLimits())
        await worker.do("key", lambda: print_notice("compiling"))
        worker.stop()

    with llwlc.show_progress(shown):
        asyncio.run(ask())
    assert capsys.readouterr().err == ("compiling\n" if shown else "")


def test_kernels_that_compile_in_the_background_are_announced_where_the_fit_is_verbose(capsys, monkeypatch):
    from llwlc.nn import _kernel_compilation as warmup

    class Kernel:
        ready = False

        def __init__(self, *about):
            pass

        def compile_in_subprocess(self):
            print_notice("compiling")

    monkeypatch.setattr(warmup, "KernelCompilation", Kernel)
    monkeypatch.setattr(warmup, "why_not_numba", lambda: "")
    for shown in (True, False):
        monkeypatch.setattr(warmup, "_threads", {})
        with llwlc.show_progress(shown):
            warmup.compile_network_kernels(llwlc.nn.NetConfig(), warmup.SCORING)
        assert capsys.readouterr().err == ("compiling\n" if shown else "")


def test_verbose_is_a_parameter_stored_as_given():
    assert llwlc.LinkPredictor(verbose=True).get_params()["verbose"] is True
    assert "verbose" not in repr(llwlc.LinkPredictor())
