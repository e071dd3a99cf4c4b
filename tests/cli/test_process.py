"""As processes, since streams and signals are theirs: no traceback, whatever becomes of standard output and whenever
Ctrl-C comes.
"""

import io
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from llwlc._cli import process
from llwlc._predictor import LinkPredictor
from llwlc._support import progress
from people import QUICK, people

WHERE = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
MAIN = """
import os, signal
real = signal.signal
def first(*given):
    signal.signal = real
    real(*given)
    os.write(2, b"started")
signal.signal = first
from llwlc._cli import main
main()
"""
"""Says on standard error when `main` has taken over Ctrl-C: while Python starts and finds the package, an interrupt is
Python's own affair.
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Holds a graph `edges.csv`, a fitted `run` and `pairs.csv`."""
    here = tmp_path_factory.mktemp("process")
    people().to_csv(here / "edges.csv")
    (here / "pairs.csv").write_text("source,target\nPerson 20,Person 21\n")
    model = LinkPredictor("anchored", cache=None, minutes=None, **QUICK).fit(people(), out=here / "run")
    model.score([("Person 20", "Person 21")])  # what it needs is compiled before a command is timed
    return here


def test_a_command_begins_before_its_imports_and_only_once():
    before = time.perf_counter()
    process.mark_start()
    after = time.perf_counter()
    assert before <= process.take_start() <= after <= process.take_start()


def shell(folder: Path, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs the command; what only a slow machine prints is left out of stderr."""
    line = command.replace("llwlc", f"'{sys.executable}' -m llwlc")
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=WHERE | variables, capture_output=True, text=True, check=False
    )
    done.stderr = SLOW.sub("", done.stderr)
    return done


SLOW = re.compile(
    r"(?m)^(\w[\w ,–-]*(: [\d,]+( of [\d,]+)?, .*| …)|compiling the kernels .*|the kernels .* are compiled.*)\n"
)
"""A step's progress, every ten seconds, and that kernels are compiled, where none are found."""
NOTE = "1 pairs scored; probabilities are for a prior of 0.5 (--prior)\n"


@pytest.mark.parametrize(
    ("command", "unbuffered"),
    [
        ("--help", ""),
        ("--help", "1"),
        ("data list", ""),
        ("data list", "1"),
        ("fit --help", ""),
        ("score run pairs.csv", "1"),
    ],
)
def test_a_full_disk_behind_standard_output_is_one_line_and_code_1(folder, command, unbuffered):
    done = shell(folder, f"llwlc {command} > /dev/full", PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 1
    said = done.stderr.replace(NOTE, "")
    assert said.count("\n") == 1, said
    assert said.startswith("Error: standard output cannot be written (No space left on device)")


def test_what_only_a_slow_machine_prints_is_known(monkeypatch):
    """Its lines of progress as they are made, not as this file remembers them."""
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.01)
    made = io.StringIO()
    for description, total, said in (
        ("scoring pairs", 1, "scoring pairs: 0"),
        ("eigenbases, train", None, "eigenbases, train …"),
        ("reading edges", 12_345, "reading edges: 0"),
    ):
        with progress.make_progress(Console(file=made, width=300)) as shown:
            shown.add_task(description, total=total)
            wait = time.monotonic() + 60
            while said not in made.getvalue() and time.monotonic() < wait:
                time.sleep(0.01)
        assert said in made.getvalue()
    made.write("compiling the kernels for scores, once for this machine: about a minute\n")
    made.write("the kernels for scores are compiled, in 43 s\n")
    assert SLOW.sub("", made.getvalue()) == ""
    assert SLOW.sub("", error := "Error: standard output cannot be written (No space left on device)\n") == error
    assert SLOW.sub("", NOTE) == NOTE


@pytest.mark.parametrize("command", ["--help", "data list", "score run pairs.csv"])
def test_a_closed_standard_output_is_no_trouble(folder, command):
    done = shell(folder, f"llwlc {command} >&-")
    assert done.returncode == 0
    assert done.stderr.replace(NOTE, "") == ""


@pytest.mark.parametrize("command", ["--help", "data list"])
def test_a_pipe_that_is_closed_early_ends_quietly(folder, command):
    done = shell(folder, f"llwlc {command} | head -c 1")
    assert len(done.stdout) == 1
    assert done.stderr == ""


def interrupted(folder: Path, arguments: list[str], seconds: float) -> tuple[int | str, str, str]:
    """Exit code, standard output and error of a command that gets Ctrl-C so long after it has begun; the code is "done"
    where it was faster.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, *arguments],
        cwd=folder,
        env=WHERE,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    process.stderr.read(len("started"))
    time.sleep(seconds)
    done = process.poll() is not None
    if not done:
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the children too
    output, said = process.communicate(timeout=600)
    return "done" if done else process.returncode, output, said


def last_line(output: str) -> str:
    """Without its figures: some are times."""
    return re.sub(r"[0-9.]+", "#", output.rstrip().rpartition("\n")[2])


def interrupts(folder: Path, count: int, within: float, seed: int) -> Counter[tuple[str, int | str]]:
    """How often which command ended how; fails at the first traceback."""
    rng, seen = random.Random(seed), Counter[tuple[str, int | str]]()
    commands = [
        ["--help"],
        ["data", "list"],
        ["fit", "edges.csv", "--out", "new", "--plan", "full"],
        ["score", "run", "pairs.csv"],
    ]
    for at in range(count):
        arguments, seconds = commands[at % 4], rng.uniform(0.0, within)
        code, output, said = interrupted(folder, arguments, seconds)
        assert "Traceback" not in said, (arguments, seconds, said)
        assert "Exception ignored" not in said, (arguments, seconds, said)
        # by the signal itself where Python's own end, after the last of our code, is interrupted: 130 to a shell
        # and 0 where the command had done all before the signal came
        if code == 0:
            whole = subprocess.run(
                [sys.executable, "-c", MAIN, *arguments], cwd=folder, env=WHERE, capture_output=True, text=True
            )
            assert last_line(output) == last_line(whole.stdout), (arguments, seconds, output)
            code = "done"
        assert code in ("done", 130, -signal.SIGINT), (arguments, seconds, said)
        seen[arguments[0], code] += 1
    return seen


def test_ctrl_c_in_the_first_moments_ends_with_code_130(folder):
    seen = interrupts(folder, 12, 0.25, seed=1)
    assert seen["fit", 130] + seen["score", 130] == 6, seen  # these take longer; the others may be faster


@pytest.mark.slow
def test_ctrl_c_at_any_moment_of_the_first_three_seconds_ends_with_code_130(folder):
    print(interrupts(folder, 60, 3.0, seed=2))


def test_jobs_that_a_shell_started_with_ctrl_c_ignored_go_on(folder):
    code = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {MAIN}"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "data", "list"],
        env=WHERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    process.stderr.read(len("started"))
    process.send_signal(signal.SIGINT)
    assert "cora" in process.communicate(timeout=600)[0]
    assert process.returncode == 0
