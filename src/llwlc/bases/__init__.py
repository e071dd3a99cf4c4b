"""Constrained eigenbases of links: how they are asked for, computed, kept and handed to a network."""

from llwlc.support.lazy import lazy

__getattr__, __dir__ = lazy(__name__, {})
