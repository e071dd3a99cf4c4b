"""The topological stack: trees on statistics of pairs and of their ends."""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.models._stack.model import Stack as Stack

__all__ = ["Stack"]
__getattr__, __dir__ = lazy(__name__, {"Stack": "model"})
