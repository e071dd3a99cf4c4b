"""Models of links, all with one contract, `LinkModel`: our network, baselines of the literature, heuristics;
`models.make(name)` gives one, `LinkPredictor(model=...)` fits it.
"""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.models._base import LinkModel as LinkModel
    from llwlc.models._baseline import Baseline as Baseline
    from llwlc.models._blend import Auto as Auto
    from llwlc.models._blend import Blend as Blend
    from llwlc.models._global import GlobalModel as GlobalModel
    from llwlc.models._heuristic import HeuristicModel as HeuristicModel
    from llwlc.models._llwlc import LLwLC as LLwLC
    from llwlc.models._recipes import Recipe as Recipe
    from llwlc.models._recipes import recipe as recipe
    from llwlc.models._registry import MODELS as MODELS
    from llwlc.models._registry import make as make
    from llwlc.models._registry import names as names
    from llwlc.models._registry import register as register
    from llwlc.models._stack import Stack as Stack

_HOMES = {
    "Auto": "_blend",
    "Baseline": "_baseline",
    "Blend": "_blend",
    "GlobalModel": "_global",
    "HeuristicModel": "_heuristic",
    "LLwLC": "_llwlc",
    "LinkModel": "_base",
    "MODELS": "_registry",
    "Recipe": "_recipes",
    "Stack": "_stack",
    "make": "_registry",
    "names": "_registry",
    "recipe": "_recipes",
    "register": "_registry",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
