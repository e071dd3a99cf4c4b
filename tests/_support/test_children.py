"""A child ends with its parent, also where the parent is killed."""

import signal
import subprocess
import sys
import time

from llwlc._support.children import run_child, run_program
from llwlc._support.lock import is_alive

CHILD = """
from llwlc._support.children import watch_parent
watch_parent()
import os, pathlib, sys, time
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
time.sleep(600)
"""
PARENT = f"""
import sys
from llwlc._support.children import run_child
run_child({CHILD!r}, sys.argv[1:])
"""


INTERRUPTED = """
import signal, sys
from llwlc._support.children import run_program
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    run_program(sys.argv[1:])
except KeyboardInterrupt:
    print("interrupted")
"""


def test_run_child_passes_the_environment_and_returns_the_exit_code():
    assert run_child("import sys; sys.exit(int(sys.argv[1]))", ["7"]) == 7
    assert run_child("import os; assert os.environ['A'] == 'b'", [], environment={"A": "b"}) == 0


def test_a_child_is_ended_after_its_time_limit():
    assert run_child("import time; time.sleep(600)", [], seconds=0.2) != 0


def test_killed_parents_leave_no_orphans(tmp_path):
    said = tmp_path / "pid"
    with subprocess.Popen([sys.executable, "-c", PARENT, said]) as parent:
        wait(lambda: said.exists() and said.read_text())
        child = int(said.read_text())
        assert is_alive(child)
        parent.send_signal(signal.SIGKILL)
    wait(lambda: not running(child))


def test_a_program_ends_with_the_process_that_asked_for_it(tmp_path):
    """As a compiler does that `bench` has started."""
    said, program = tmp_path / "pid", "echo $$ > $0.part; mv $0.part $0; sleep 600; true"
    code = "import sys; from llwlc._support.children import run_program; run_program(sys.argv[1:])"
    with subprocess.Popen([sys.executable, "-c", code, "sh", "-c", program, said]) as parent:
        wait(said.exists)
        child = int(said.read_text())
        assert running(child)
        parent.send_signal(signal.SIGKILL)
    wait(lambda: not running(child))


def test_an_interrupted_wait_leaves_nothing_running(tmp_path):
    """In a process of one thread: in one of many, whose signals other libraries changed, a signal need not end the
    wait.
    """
    said, program = tmp_path / "pid", "echo $$ > $0.part; mv $0.part $0; sleep 600; true"
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, "sh", "-c", program, said], stdout=subprocess.PIPE, text=True
    ) as parent:
        wait(said.exists)
        assert running(int(said.read_text()))
        parent.send_signal(signal.SIGINT)
        assert parent.communicate(timeout=120)[0] == "interrupted\n"
    wait(lambda: not running(int(said.read_text())))


def test_the_exit_code_of_a_program_comes_back():
    assert [run_program(["sh", "-c", f"exit {code}"]) for code in (0, 7)] == [0, 7]


def running(pid: int) -> bool:
    """Not even as a zombie that nobody has collected yet."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait(until) -> None:
    end = time.monotonic() + 120
    while not until():
        assert time.monotonic() < end
        time.sleep(0.02)
