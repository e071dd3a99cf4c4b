"""Backends: implementations of subgraphs and bases, in the order in which they are tried, and the reason why one was
passed over.

Nothing in this package knows of `Subgraphs` or torch modules: arrays in, arrays out, so that every later package may
call it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import NamedTuple

from llwlc._support.registry import Record, Registry
from llwlc.errors import InputError

LOG = logging.getLogger("llwlc")


@dataclass(frozen=True)
class Backend(Record):
    """`target()` returns why the backend is not available on this machine, "" where it is."""


BACKENDS: Registry[Backend] = Registry("backend")
"""In the order in which `choose` tries them."""
BACKENDS.add(
    Backend(
        "cuda",
        "CUDA kernels for a graph on a GPU, a group of threads for each link",
        "llwlc._kernels.backends:why_not_cuda",
    )
)
BACKENDS.add(
    Backend(
        "numba", "compiled for the CPU, one link at a time through all stages", "llwlc._kernels.backends:why_not_numba"
    )
)
BACKENDS.add(
    Backend("reference", "the specification, in torch on any device", "llwlc._kernels.backends:why_not_reference")
)


class BackendChoice(NamedTuple):
    """The backend that was chosen, and why each of those before it was passed over."""

    name: str
    passed_over: Mapping[str, str]


def choose(wanted: str, unable: Mapping[str, str], *, what: str = "this") -> BackendChoice:
    """The first backend that is available and can do what is asked, or the one that is wanted by name.

    `unable`: for a backend, why it cannot do it; an empty reason, or none, where it can.

    >>> choose("auto", {"cuda": "the graph is not on a GPU", "numba": "hops is above 15"}).passed_over["numba"]
    'hops is above 15'
    """
    if wanted != "auto" and wanted not in BACKENDS:
        raise InputError(f"backend must be one of {', '.join(map(repr, ('auto', *BACKENDS)))}, got {wanted!r}")
    if wanted != "auto":
        if missing := BACKENDS[wanted].load()():
            raise InputError(f'backend: "{wanted}" is not available here ({missing}); use backend="auto"')
        if reason := unable.get(wanted, ""):
            raise InputError(f'backend: "{wanted}" cannot do this ({reason}); use backend="auto" or "reference"')
        return BackendChoice(wanted, {})
    passed: dict[str, str] = {}
    for backend in BACKENDS.records():
        # what is asked is looked at first: that costs nothing, while a GPU's libraries are slow to be found
        passed[backend.name] = unable.get(backend.name, "") or backend.load()()
        if not passed[backend.name]:
            del passed[backend.name]
            LOG.debug("%s: %s%s", what, backend.name, "".join(f"; not {name}: {why}" for name, why in passed.items()))
            return BackendChoice(backend.name, passed)
    raise InputError(f"no backend can do {what}: {passed}")


def why_not_numba() -> str:
    """Why numba's kernels cannot run here."""
    return "" if find_spec("numba") is not None else "numba is not installed: pip install numba"


def why_not_cuda() -> str:
    """Why CUDA kernels cannot run here."""
    from llwlc._kernels.cuda import driver

    return "" if driver.available() else "it takes an NVIDIA GPU and a torch built for it"


def why_not_reference() -> str:
    """The reference runs wherever torch does."""
    return ""
