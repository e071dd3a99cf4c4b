"""Cell: one run of an experiment, described by everything that its numbers depend on; each leaves a line of results,
from which tables are printed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from llwlc.errors import InputError

IDENTITY = ("kind", "data", "protocol", "method", "options", "leak", "seed")


@dataclass(frozen=True)
class Cell:
    """`kind`: a name of `measures.MEASURES`. `method`: a preset or another name of `models.MODELS`, `options` what is
    changed of it; `fraction` among them is the share of the training links, of any method. `leak`: a name of
    `leaks.LEAKS`, "" for an honest run.

    >>> cell = Cell("accuracy", "cora", "paper", "paper", {"skip": True})
    >>> cell.key == Cell("accuracy", "cora", "paper", "paper", {"skip": True}).key
    True
    """

    kind: str
    data: str
    protocol: str = ""
    method: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    leak: str = ""
    seed: int = 0

    @cached_property
    def key(self) -> str:
        """A text that is equal for equal runs, whatever the order of their options."""
        return json.dumps(asdict(self) | {"options": dict(self.options)}, sort_keys=True)

    @cached_property
    def row(self) -> str:
        """A text that is equal for all seeds of a row."""
        return replace(self, seed=0).key

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.key.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        changed = ", ".join(f"{name}={value}" for name, value in self.options.items())
        words = [self.kind, self.data, self.protocol, self.method, changed, self.leak, f"seed {self.seed}"]
        return " · ".join(word for word in words if word)


def read_cell(line: Mapping[str, Any]) -> Cell:
    """The cell that a line belongs to."""
    missing = [name for name in ("kind", "data", "seed") if name not in line]
    if missing:
        raise InputError(f"it lacks {missing[0]!r}")
    cell = Cell(**{name: line[name] for name in IDENTITY if name in line})
    texts = (cell.kind, cell.data, cell.protocol, cell.method, cell.leak)
    if not all(isinstance(text, str) for text in texts) or not isinstance(cell.options, Mapping):
        raise InputError("its names are no texts, or its options no mapping")
    if not isinstance(cell.seed, int) or isinstance(cell.seed, bool):
        raise InputError(f"its seed is {cell.seed!r}")
    return cell
