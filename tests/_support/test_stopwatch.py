"""Each second counts for one stage, and a command's stages are all of its time."""

import json
import re
import subprocess
import sys
import time

import networkx
import pytest
from typer.testing import CliRunner

import llwlc
from llwlc._cli.app import app
from llwlc._support.stopwatch import STARTING, Stopwatch, current_watch, process_age, stage, watch_command

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run beside the files that commands read."""
    folder = tmp_path_factory.mktemp("profiled")
    (folder / "edges.csv").write_text(EDGES)
    (folder / "pairs.csv").write_text("a,b\nn0,n9\nn3,n20\n")
    graph = llwlc.Graph.read(folder / "edges.csv")
    llwlc.LinkPredictor(model="llwlc", epochs=1, minutes=None).fit(graph, out=folder / "run")
    return folder


@pytest.mark.parametrize(
    ("arguments", "stages"),
    [
        ("fit edges.csv --model common-neighbors --out fitted", "reading splitting candidates ranking saving listing"),
        (
            "fit edges.csv --model llwlc --plan full --set epochs=1 --out network",
            "reading splitting features fingerprint planning candidates eigenbases training measuring calibration"
            " ranking heuristics saving listing",
        ),
        ("score run pairs.csv -o scores.csv", "reading scoring writing"),
        ("recommend run --top 3 -o top.csv", "reading candidates ranking listing writing"),
        ("explain run n0 n9", "reading explaining"),
        ("evaluate run", "reading"),
        ("evaluate run --ranking", "reading ranking"),
        ("evaluate run --protocol ncn --seeds 1", "reading splitting training measuring heuristics"),
        ("report run --top 2 -o report.html", "reading candidates explaining measuring drawing writing"),
        ("data show edges.csv", "reading counting"),
        ("data protocols edges.csv", "reading splitting"),
        ("data audit run", "reading auditing"),
    ],
)
def test_profile_prints_all_seconds_of_a_command(folder, monkeypatch, arguments, stages):
    monkeypatch.chdir(folder)
    begin = process_age()
    done = CliRunner().invoke(app, ["--profile", *arguments.split()])
    end = process_age()
    assert done.exit_code == 0, done.output
    found = [re.fullmatch(r" *([\d.]+) s +[\d.]+% +([\d.]+) CPU s  (.+)", line) for line in done.stderr.splitlines()]
    printed = {row[3]: (float(row[1]), float(row[2])) for row in found if row}
    total, cpu = printed.pop("total")
    assert begin <= total <= end + 0.02  # the clock of this very process, however busy the machine is
    assert total == pytest.approx(end, abs=0.03 * (end - begin) + 0.1)
    assert total == pytest.approx(sum(seconds for seconds, _ in printed.values()), abs=0.01 * len(printed))
    assert cpu == pytest.approx(sum(seconds for _, seconds in printed.values()), abs=0.01 * len(printed))
    assert {STARTING, *stages.split()} <= set(printed)
    named = cpu - printed[STARTING][1]  # by the work done: a busy machine may hold the process up anywhere
    assert printed[arguments.split()[0]][1] <= 0.03 * named + 0.05
    if arguments.startswith("fit"):
        kept = json.loads((folder / arguments.split()[-1] / "metrics.json").read_text())["stages"]
        assert all(kept[stage] <= printed[stage][0] + 0.01 for stage in kept)
        assert set(printed) - set(kept) <= {"saving", "listing"}


def test_profile_counts_from_the_start_of_the_process(tmp_path):
    (tmp_path / "edges.csv").write_text(EDGES)
    command = [sys.executable, "-m", "llwlc", "--profile", "data", "show", "edges.csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    starting = next(line for line in done.stderr.splitlines() if line.endswith("  starting"))
    assert float(starting.split()[0]) > 0.1  # imports of some hundred modules


def test_a_stage_outside_of_commands_counts_nowhere():
    with stage("scoring"):
        assert "scoring" not in current_watch().seconds


def test_cpu_seconds_are_those_of_work():
    watch = Stopwatch()
    with watch("waiting"):
        time.sleep(0.2)
    with watch("working"):
        while watch.cpu_seconds["working"] < 0.2:
            pass
    assert watch.cpu_seconds["waiting"] < 0.15 <= watch.seconds["waiting"]
    assert watch.cpu_seconds["working"] >= 0.2
