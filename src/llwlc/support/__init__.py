"""Helpers that know nothing of graphs: ragged arrays, random draws, files, threads, registries, data and cache roots, the compiler."""

from llwlc.support.lazy import lazy

__getattr__, __dir__ = lazy(__name__, {})
