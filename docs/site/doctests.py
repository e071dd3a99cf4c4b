"""Docstrings as the site shows them: examples become blocks of code, and a field that is an `option` gets its line of
help.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^>>>.*\n?(?:^(?!\s*$).*\n?)*\n?)+", re.MULTILINE)


class Doctests(griffe.Extension):
    """Fences every run of lines from `>>>` up to a line that follows a blank one and is no `>>>`."""

    def on_attribute_instance(self, *, attr: Any, **kwargs: Any) -> None:
        value = attr.value
        if not isinstance(value, griffe.ExprCall) or str(value.function) != "option" or len(value.arguments) < 2:
            return
        if not isinstance(value.arguments[1], str):  # a keyword: the option has no line of help
            return
        about = ast.literal_eval(value.arguments[1])
        more = "" if attr.docstring is None else f"\n\n{attr.docstring.value}"
        attr.docstring = griffe.Docstring(f"{about[:1].upper()}{about[1:]}.{more}", parent=attr)

    def on_instance(self, *, obj: Any, **kwargs: Any) -> None:
        if obj.docstring is not None and ">>>" in obj.docstring.value:
            obj.docstring.value = EXAMPLE.sub(lambda m: f"```pycon\n{m[0].strip()}\n```\n\n", obj.docstring.value)
