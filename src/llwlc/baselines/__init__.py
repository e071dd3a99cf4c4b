"""Methods to compare with, all with one interface: `baselines.get(name).fit(graph, split, seed=0)` gives an object that scores pairs."""

from typing import TYPE_CHECKING

from llwlc.support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.baselines.fitting import FittedMethod as FittedMethod
    from llwlc.baselines.fitting import restore as restore
    from llwlc.baselines.recipes import Recipe as Recipe
    from llwlc.baselines.recipes import recipe as recipe
    from llwlc.baselines.registry import METHODS as METHODS
    from llwlc.baselines.registry import get as get
    from llwlc.baselines.registry import names as names

_HOMES = {
    "METHODS": "registry",
    "FittedMethod": "fitting",
    "Recipe": "recipes",
    "get": "registry",
    "names": "registry",
    "recipe": "recipes",
    "restore": "fitting",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
