"""Named graphs: cora embedded in the package; Planetoid, OGB, SEAL and others through the data root."""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.datasets._catalog import DATASETS as DATASETS
    from llwlc.datasets._catalog import DatasetInfo as DatasetInfo
    from llwlc.datasets._catalog import info as info
    from llwlc.datasets._catalog import load as load
    from llwlc.datasets._catalog import load_split as load_split
    from llwlc.datasets._catalog import names as names
    from llwlc.datasets._catalog import register as register
    from llwlc.datasets._generated import generate as generate
    from llwlc.datasets._statistics import Statistics as Statistics
    from llwlc.datasets._statistics import statistics as statistics

_HOMES = {
    "DATASETS": "_catalog",
    "DatasetInfo": "_catalog",
    "Statistics": "_statistics",
    "generate": "_generated",
    "info": "_catalog",
    "load": "_catalog",
    "load_split": "_catalog",
    "names": "_catalog",
    "register": "_catalog",
    "statistics": "_statistics",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
