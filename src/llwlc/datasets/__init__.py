"""Named graphs: cora embedded in the package; Planetoid, OGB, SEAL and others through the data root."""

from llwlc.datasets.catalog import Info, info, load, load_split, names
from llwlc.datasets.generated import generate
from llwlc.datasets.statistics import Statistics, statistics

__all__ = ["Info", "Statistics", "generate", "info", "load", "load_split", "names", "statistics"]
