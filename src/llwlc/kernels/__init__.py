"""The contracts of `extract`, `eigenbasis` and `link_bases`, compiled: numba on the CPU, one link at a time, all of its stages in cache;
CUDA C++ on a GPU (`kernels.cuda`), a group of threads for each link.

Nothing here knows of `Subgraphs` or torch modules: arrays in, arrays out, so that every room above may call it. Where a backend is
missing (numba not installed, no NVRTC beside the GPU) the callers use the reference.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal

from llwlc.errors import InputError

Backend = Literal["auto", "reference", "numba", "cuda"]
NAMES = ("auto", "reference", "numba", "cuda")


def available() -> bool:
    """Whether numba can be imported."""
    return find_spec("numba") is not None


def use_numba(backend: Backend, *, possible: bool = True, why: str = "") -> bool:
    """Whether the path compiled for the CPU is taken: `possible` says if it can do what is asked, and `why` not.

    >>> use_numba("reference"), use_numba("auto", possible=False)
    (False, False)
    """
    return _use("numba", available(), "pip install numba", backend, possible, why)


def use_cuda(backend: Backend, *, possible: bool = True, why: str = "") -> bool:
    """Whether the path compiled for the GPU is taken.

    >>> use_cuda("reference"), use_cuda("auto", possible=False)
    (False, False)
    """
    if backend == "reference" or (backend == "auto" and not possible):
        return False
    from llwlc.kernels.cuda import driver

    return _use("cuda", driver.available(), "it takes an NVIDIA GPU and a torch built for it", backend, possible, why)


def _use(name: str, here: bool, remedy: str, backend: Backend, possible: bool, why: str) -> bool:
    if backend not in NAMES:
        known = ", ".join(f'"{known}"' for known in NAMES)
        raise InputError(f"backend must be one of {known}, got {backend!r}")
    if backend == name and not here:
        raise InputError(f'backend: "{name}" is not available here ({remedy}); use backend="auto"')
    if backend == name and not possible:
        raise InputError(f'backend: "{name}" cannot do this ({why}); use backend="auto" or "reference"')
    return backend in ("auto", name) and possible and here
