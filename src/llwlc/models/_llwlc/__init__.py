"""Our network as a model: presets, encoded links, training steps, scores."""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.models._llwlc.model import LLwLC as LLwLC

__all__ = ["LLwLC"]
__getattr__, __dir__ = lazy(__name__, {"LLwLC": "model"})
