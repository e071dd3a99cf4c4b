"""A run and the compiled kernels seen from other processes: one that is spawned scores the same, one that is killed
while it compiles leaves nothing behind.
"""

import multiprocessing
import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from llwlc._predictor import LinkPredictor
from people import QUICK, people

PAIRS = [("Person 20", "Person 21"), ("Person 00", "Person 75"), ("Person 89", "Person 31")]


def score_run(folder: Path) -> list[float]:
    return LinkPredictor.load(folder).score(PAIRS).score.tolist()


def test_spawned_processes_score_as_their_parent(tmp_path):
    model = LinkPredictor(cache=None, minutes=None, device="cpu", **QUICK).fit(people(), out=tmp_path / "run")
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        scores = list(pool.map(score_run, [tmp_path / "run"] * 2))
    assert scores == [model.score(PAIRS).score.tolist()] * 2


FIT = "fit edges.csv --model llwlc --plan full --device cpu --set epochs=2 --set copies=0 --set negative_pool=1"


def wait_until(what, *, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.1)
    return found


def processes_of(code: Path) -> list[str]:
    """The processes that were told to keep compiled kernels in this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            told = f"NUMBA_CACHE_DIR={code}\0".encode() in (process / "environ").read_bytes()
        except OSError:  # it ended, or is somebody else's
            continue
        if told:
            found.append(process.name)
    return found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
def test_a_fit_killed_while_kernels_compile_leaves_nothing_and_goes_on_to_the_same_weights(tmp_path):
    people().to_csv(tmp_path / "edges.csv")
    where, code = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, tmp_path / "code"
    command = [sys.executable, "-m", "llwlc", *FIT.split(), "--out"]
    subprocess.run([*command, "whole"], cwd=tmp_path, env=where, check=True, capture_output=True)
    empty = where | {"NUMBA_CACHE_DIR": str(code)}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([*command, "run"], cwd=tmp_path, env=empty, stdout=log, stderr=log)
        try:  # until a kernel of bases is being compiled, by a process that the command started
            assert wait_until(
                lambda: any(code.rglob("*fused_bases*/*.lock")) or process.poll() is not None, seconds=600
            )
            assert process.poll() is None, (tmp_path / "log").read_text()
            assert len(processes_of(code)) > 1
        finally:
            process.kill()
            process.wait()
    assert wait_until(lambda: not processes_of(code), seconds=60)
    subprocess.run([*command, "run"], cwd=tmp_path, env=empty, check=True, capture_output=True)
    for name in ("model.safetensors", "graph.safetensors", "history.jsonl"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    names = [sorted(path.name for path in (tmp_path / run).iterdir()) for run in ("run", "whole")]
    assert names[0] == names[1]
    assert {path.suffix for path in code.rglob("*") if path.is_file()} <= {".nbi", ".nbc", ".lock", ""}
