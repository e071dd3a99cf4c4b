"""Compiled forms of extraction and bases: `numba` for the CPU, `cuda` for a GPU; `backends` is the one table that chooses."""

from llwlc.support.lazy import lazy

__getattr__, __dir__ = lazy(__name__, {})
