"""LinkPredictor, and the run directory it writes and reads."""

from llwlc.support.lazy import lazy

__getattr__, __dir__ = lazy(__name__, {})
