"""Plugins: a user's own Python file that registers constraints, starts, readouts, datasets or protocols."""

from __future__ import annotations

import hashlib
import re
import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from llwlc._support.registry import ADDED
from llwlc.errors import InputError, LLwLCError


def load_plugin(path: Path | str) -> list[str]:
    """Runs the file as a module of its own and returns what it registered, as in ["constraint common"].

    A file that is loaded again is run again, so that edits count.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"plugin {path} is a folder: give a Python file")
    if not path.is_file():
        raise InputError(f"there is no plugin {path}: give a Python file")
    if path.suffix != ".py":
        raise InputError(f"plugin {path} is not a Python file: its name has to end in .py")
    before = len(ADDED)
    _run(path.resolve(), str(path))
    if len(ADDED) == before:
        raise InputError(
            f"plugin {path} registers nothing: put a line such as @llwlc.constraints.register('name') above a function"
            " in it"
        )
    return ADDED[before:]


def _run(path: Path, called: str) -> None:
    name = (
        f"llwlc_plugin_{re.sub(r'[^0-9A-Za-z_]', '_', path.stem)}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    )
    spec = spec_from_file_location(name, path)
    assert spec is not None  # since the name ends in .py
    module = module_from_spec(spec)
    sys.modules[name] = module  # `inspect` looks up the file of a class there
    try:
        # compiled here: the import system would leave a __pycache__ beside the file, and use it within a second of an
        # edit
        exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:
        raise InputError(
            f"plugin {called}{_line(error, path)}: {_what(error)}; fix the file and load it again"
        ) from error


def _line(error: BaseException, path: Path) -> str:
    """The line of the file at which the error occurred, "" where that is not known."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return "" if error.lineno is None else f", line {error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f", line {lines[-1]}" if lines else ""


def _what(error: BaseException) -> str:
    if isinstance(error, LLwLCError):
        return str(error)
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
