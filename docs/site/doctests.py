"""Examples in docstrings stand bare, as `help()` and doctest have them: on the site each becomes a block of code."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^>>>.*\n?(?:^(?!\s*$).*\n?)*\n?)+", re.MULTILINE)


class Doctests(griffe.Extension):
    """Fences every run of lines from `>>>` up to a line that follows a blank one and is no `>>>`."""

    def on_instance(self, *, obj: Any, **kwargs: Any) -> None:
        if obj.docstring is not None and ">>>" in obj.docstring.value:
            obj.docstring.value = EXAMPLE.sub(lambda m: f"```pycon\n{m[0].strip()}\n```\n\n", obj.docstring.value)
