"""How the process of a command ends: Ctrl-C, a full disk or a closed pipe behind standard output give an exit code,
never a traceback.

It is in place before anything else of the command line is imported, so it imports nothing but small modules of Python.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import time
from types import FrameType
from typing import Any, NoReturn

INTERRUPTED = 130
"""As shells count: 128 and the number of SIGINT."""
OUTPUT_FAILED = 1


_starts: list[float] = []


def mark_start() -> None:
    """Called before anything large is imported: on a busy machine imports alone take a while, which is part of a
    budget too.
    """
    _starts.append(time.perf_counter())


def take_start() -> float:
    """When the command of this process began, on the clock of `time.perf_counter`; now for any later command."""
    return _starts.pop() if _starts else time.perf_counter()


def quiet_interrupts() -> None:
    """Has Ctrl-C end the process without a traceback: at once inside an import, elsewhere by `KeyboardInterrupt`, which
    a command may catch to clean up.
    """
    # a shell starts jobs in the background with SIGINT ignored: they stay so
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, signal.SIG_DFL):
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _unraisable


def interrupts_end_at_once() -> None:
    """For the time when Python shuts down: nothing is left to clean up, and an exception would be printed."""
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, lambda number, frame: _end())


class OutputError(OSError):
    """Standard output cannot be written; a plain `OSError` would not say which file it is about."""


class _Output(io.FileIO):
    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:  # nobody reads any more: typer ends quietly
            raise
        except OSError as error:
            raise OutputError(error.errno, error.strerror) from None


def prepare_streams() -> None:
    """Gives standard streams that are closed to the null device, and has standard output raise `OutputError`.

    Where a stream is closed, the next file to be opened would take its place, and what is printed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, this one
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115  # until the end
    old = sys.stdout
    # no disk is behind a terminal
    if isinstance(old, io.TextIOWrapper) and not old.isatty():
        raw = _Output(old.fileno(), "w", closefd=False)
        binary: Any = raw if isinstance(old.buffer, io.RawIOBase) else io.BufferedWriter(raw)  # PYTHONUNBUFFERED
        sys.stdout = io.TextIOWrapper(
            binary, old.encoding, old.errors, line_buffering=old.line_buffering, write_through=old.write_through
        )
    # an encoding of few letters, such as Windows' cp1252, shows the others as codes
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def drop_output() -> None:
    """Gives standard output to the null device, so that Python does not complain about it a second time at its end."""
    with contextlib.suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)


def _interrupt(number: int, frame: FrameType | None) -> None:
    # an import that is cut short leaves half a module behind, and compiled modules make other errors of the exception
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            _end()
        frame = frame.f_back
    raise KeyboardInterrupt


def _unraisable(happened: Any) -> None:
    # in a destructor or a callback from C an exception would be printed and lost
    if happened.exc_type is KeyboardInterrupt:
        _end()
    sys.__unraisablehook__(happened)


def _end() -> NoReturn:
    with contextlib.suppress(
        OSError, ValueError, RuntimeError
    ):  # a stream that is closed, or in use where the signal came
        if sys.stderr.isatty():
            sys.stderr.write("\x1b[?25h")  # a progress bar hides the cursor
            sys.stderr.flush()
    os._exit(INTERRUPTED)
