"""JSON from files of unknown origin: refused beyond the size and depth that this package's own files have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from llwlc._support.text import describe_error
from llwlc.errors import RunFolderError

LARGEST = 16 << 20  # bytes, of which empty lists make 25 times as many; a history of a hundred thousand epochs
DEEPEST = 16


def read_json(path: Path, *, lines: bool = False) -> Any:
    """The content of the file; with `lines`, a list of the content of each line."""
    try:
        if not path.is_file():  # reading a pipe might never end
            raise ValueError("it is not a file")
        size = path.stat().st_size
        if size > LARGEST:
            raise ValueError(f"{size:,} bytes are more than the {LARGEST:,} that are read")
        text = path.read_text(encoding="utf-8")
        content = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
        if _depth(content) > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} deep")
    except (OSError, ValueError, RecursionError) as error:
        raise RunFolderError(f"{path} cannot be read ({describe_error(error)}): copy it again, or fit again") from None
    return content


def _depth(content: object) -> int:
    """The nesting depth of lists and mappings, found level by level, without recursion."""
    depth, level = 0, [content]
    while level:
        inner = [entry for entry in level if isinstance(entry, dict | list)]
        level = [value for entry in inner for value in (entry.values() if isinstance(entry, dict) else entry)]
        depth += bool(inner)
    return depth
