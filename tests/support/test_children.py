"""A child ends with its parent, also where the parent is killed."""

import signal
import subprocess
import sys
import time

from llwlc.support.children import run_child
from llwlc.support.lock import alive

CHILD = """
from llwlc.support.children import watch_parent
watch_parent()
import os, pathlib, sys, time
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
time.sleep(60)
"""
PARENT = f"""
import sys
from llwlc.support.children import run_child
run_child({CHILD!r}, sys.argv[1:])
"""


def test_its_exit_code_comes_back_and_its_environment_goes_along():
    assert run_child("import sys; sys.exit(int(sys.argv[1]))", ["7"]) == 7
    assert run_child("import os; assert os.environ['A'] == 'b'", [], environment={"A": "b"}) == 0


def test_killed_parents_leave_no_orphans(tmp_path):
    said = tmp_path / "pid"
    with subprocess.Popen([sys.executable, "-c", PARENT, said]) as parent:
        wait(lambda: said.exists() and said.read_text())
        child = int(said.read_text())
        assert alive(child)
        parent.send_signal(signal.SIGKILL)
    wait(lambda: not running(child))


def running(pid: int) -> bool:
    """Not even as a zombie that nobody has collected yet."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait(until) -> None:
    end = time.monotonic() + 20
    while not until():
        assert time.monotonic() < end
        time.sleep(0.02)
