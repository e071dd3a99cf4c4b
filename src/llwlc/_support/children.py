"""Child processes that end with their parent, even where the parent is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence


def run_child(
    code: str, arguments: Sequence[str], *, environment: Mapping[str, str] | None = None, seconds: float | None = None
) -> int:
    """The exit code of another Python that runs `code`, which calls `watch_parent` first. What it prints is dropped.
    After `seconds` it is ended, which counts as a failure."""
    command = [sys.executable, "-c", code, *arguments]
    quiet = subprocess.DEVNULL
    where = None if environment is None else os.environ | dict(environment)
    # nothing is ever written to the pipe: it closes when this process ends, killed or not, and the child sees that
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, env=where, start_new_session=True
    ) as child:
        try:
            return child.wait(seconds)
        except subprocess.TimeoutExpired:
            _end(child)
            return child.wait()
        except BaseException:
            _end(child)
            child.wait()
            raise


def run_program(command: Sequence[str]) -> int:
    """The exit code of a program, run by a child that ends it when this process ends. Its output is dropped."""
    return run_child(PROGRAM, command)


PROGRAM = """
from llwlc._support.children import watch_parent
watch_parent()
import subprocess, sys
sys.exit(subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL).returncode)
"""


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends a child and the processes that it started, which form a process group."""
    if sys.platform == "win32":
        child.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


def watch_parent() -> None:
    """Called in a child of `run_child`: ends this process, and those it started, as soon as its parent is gone."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        if sys.platform != "win32":
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
