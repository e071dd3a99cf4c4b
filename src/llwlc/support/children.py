"""Processes that end when the one that started them does, however that ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence


def run_child(code: str, arguments: Sequence[str], *, environment: Mapping[str, str] | None = None) -> int:
    """The exit code of another Python that runs `code`, which calls `watch_parent` first. What it prints is dropped."""
    command = [sys.executable, "-c", code, *arguments]
    quiet = subprocess.DEVNULL
    where = None if environment is None else os.environ | dict(environment)
    # nothing is ever written to the pipe: it closes when this process ends, killed or not, and the child sees that
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, env=where) as child:
        try:
            return child.wait()
        except BaseException:
            child.kill()
            raise


def watch_parent() -> None:
    """In a child of `run_child`: from now on, ends this process as soon as its parent is gone."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
