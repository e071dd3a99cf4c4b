"""Named graphs: cora embedded in the package; Planetoid, OGB, SEAL and others through the data root."""

from typing import TYPE_CHECKING

from llwlc.support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.datasets.catalog import DATASETS as DATASETS
    from llwlc.datasets.catalog import Info as Info
    from llwlc.datasets.catalog import info as info
    from llwlc.datasets.catalog import load as load
    from llwlc.datasets.catalog import load_split as load_split
    from llwlc.datasets.catalog import names as names
    from llwlc.datasets.catalog import register as register
    from llwlc.datasets.generated import generate as generate
    from llwlc.datasets.measures import Statistics as Statistics
    from llwlc.datasets.measures import statistics as statistics

_HOMES = {
    "DATASETS": "catalog",
    "Info": "catalog",
    "Statistics": "measures",
    "generate": "generated",
    "info": "catalog",
    "load": "catalog",
    "load_split": "catalog",
    "names": "catalog",
    "register": "catalog",
    "statistics": "measures",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
