"""Each second counts for one stage, and a command's stages are all of its time."""

import json
import re
import subprocess
import sys
import time

import networkx
import pytest

import llwlc
from llwlc._support.stopwatch import STARTING, Stopwatch, current_watch, process_age, watch_command

EDGES = "a,b\n" + "".join(f"n{i},n{(i + step) % 41}\n" for i in range(41) for step in (1, 7))


def test_a_stage_inside_another_counts_for_itself_alone():
    watch, begin = Stopwatch(), time.perf_counter()
    with watch("outer"):
        with watch("inner"):
            time.sleep(0.05)
            with watch("outer"):
                time.sleep(0.01)
        inside = watch.seconds
    with pytest.raises(ZeroDivisionError):
        fail(watch)
    taken = time.perf_counter() - begin
    seconds = watch.seconds
    assert seconds["inner"] >= 0.05
    assert seconds["failed"] >= 0.01
    assert seconds["outer"] >= inside["outer"] >= 0.01
    assert inside["inner"] == seconds["inner"]
    assert sum(seconds.values()) == pytest.approx(taken, abs=0.02)


def fail(watch):
    with watch("failed"):
        time.sleep(0.01)
        raise ZeroDivisionError


def test_a_command_has_one_stopwatch_from_the_start_of_its_process():
    assert current_watch() is not current_watch()
    before = process_age()
    with watch_command("fit") as watch:
        assert current_watch() is watch
    assert before <= watch.seconds[STARTING] + 0.02
    assert watch.seconds[STARTING] <= process_age() + 0.02
    assert current_watch() is not watch


def test_the_stages_of_a_fit_are_its_seconds():
    graph = llwlc.Graph.from_networkx(networkx.karate_club_graph())
    metrics = llwlc.LinkPredictor(model="common-neighbors").fit(graph).metrics_
    assert sum(metrics.stages.values()) == pytest.approx(metrics.seconds, rel=0.03, abs=0.05)


def test_profile_prints_all_seconds_of_a_command(tmp_path):
    (tmp_path / "edges.csv").write_text(EDGES)
    options = ["fit", "edges.csv", "--model", "common-neighbors", "--out", "run"]
    begin = time.time()
    with subprocess.Popen(
        [sys.executable, "-m", "llwlc", "--profile", *options],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        lines = []
        for line in process.stderr:
            lines.append(line)
            if line.endswith("total\n"):
                wall = time.time() - begin
    found = [re.fullmatch(r" *([\d.]+) s +[\d.]+%  (\S+)\n", line) for line in lines]
    printed = {row[2]: float(row[1]) for row in found if row}
    total = printed.pop("total")
    assert total == pytest.approx(wall, rel=0.03, abs=0.2)
    assert total == pytest.approx(sum(printed.values()), abs=0.01 * len(printed))
    assert {"starting", "reading", "splitting", "candidates", "ranking", "saving", "listing"} <= set(printed)
    assert printed["fit"] <= 0.03 * total + 0.2  # what has no better name
    kept = json.loads((tmp_path / "run" / "metrics.json").read_text())["stages"]
    assert all(kept[stage] <= printed[stage] + 0.01 for stage in kept)
    assert set(printed) - set(kept) <= {"saving", "listing"}
