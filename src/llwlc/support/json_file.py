"""JSON from a file that anybody may have written: of a size and depth that a tool's own files have, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from llwlc.errors import InputError
from llwlc.support.text import reason

LARGEST = 64 << 20  # bytes; a history of a million epochs
DEEPEST = 16


def read_json(path: Path, *, lines: bool = False) -> Any:
    """What the file says; with `lines`, a list of what each line says."""
    try:
        if not path.is_file():  # a pipe would never end
            raise ValueError("it is no file")
        size = path.stat().st_size
        if size > LARGEST:
            raise ValueError(f"{size:,} bytes are more than the {LARGEST:,} that are read")
        text = path.read_text(encoding="utf-8")
        found = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
        if _depth(found) > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} deep")
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read ({reason(error)}): copy it again, or fit again") from None
    return found


def _depth(found: object) -> int:
    """How deep lists and mappings are nested, level by level, so that no depth is too deep to measure."""
    depth, level = 0, [found]
    while level:
        inner = [entry for entry in level if isinstance(entry, dict | list)]
        level = [value for entry in inner for value in (entry.values() if isinstance(entry, dict) else entry)]
        depth += bool(inner)
    return depth
