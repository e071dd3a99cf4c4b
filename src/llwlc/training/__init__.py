"""From a split graph to a trained, calibrated, measured network."""

from llwlc.support.lazy import lazy

__getattr__, __dir__ = lazy(__name__, {})
