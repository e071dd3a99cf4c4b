"""NetConfig: the shape of the network."""

from __future__ import annotations

from dataclasses import dataclass, field

from llwlc.errors import InputError
from llwlc.nn.registry import READOUTS
from llwlc.support.bounds import require_share, require_whole

LABELS = {
    "distance": "the unordered pair of distances to the ends, one-hot, and log(1 + degree)",
    "drnl": "SEAL's label of that pair, as a learned row",
    "none": "log(1 + degree) alone",
}
"""How the position of a node relative to the two ends is encoded in its input, by name."""
MOST_POWERS = 64

WIDEST, DEEPEST = 1 << 16, 64
"""Largest numbers of channels and blocks; `anchored` has 32 and 2."""


@dataclass(frozen=True)
class NetConfig:
    """The shape of the network. The defaults are those of the preset `anchored`; `PAPER` is the paper's.

    >>> NetConfig(blocks=0)
    Traceback (most recent call last):
    llwlc.errors.InputError: blocks must be a whole number from 1 to 64, got 0
    """

    feature_channels: int = 0
    """Width of the compact features, 0 for none."""
    blocks: int = 2
    """Number of `LLwLCConv` layers, in sequence, on one basis."""
    channels: int = 32
    """Width of a node's row between blocks."""
    filters: int = 4
    """S, the number of filters of a block."""
    filter_hidden: int = 32
    """Width of the filters' hidden layer."""
    skip: bool = True
    """Add X W₀ in every block."""
    jumping: bool = True
    """Read out the rows of all blocks, not only of the last."""
    pooling: str = "class"
    """A name of `nn.registry.READOUTS`."""
    sort_rows: int = 30
    """Set by training where the readout sorts: the 60th percentile of the subgraphs' sizes."""
    distance_cap: int = 3
    """Distances from the ends are distinguished up to this one."""
    labels: str = field(default="distance", metadata={"absent": "distance"})
    """A name of `LABELS`."""
    node_features: bool = field(default=False, metadata={"absent": False})
    """Features are part of every node's input, as Algorithm 2 has them."""
    powers: int = field(default=1, metadata={"absent": 1})
    """Number of powers of an eigenvalue that the filters' MLP reads."""
    sort_channel: bool = field(default=False, metadata={"absent": False})
    """Sort rows by the output of an additional last block of one channel with tanh, as SEAL does; that channel is read out too."""
    ends: bool = True
    """Read out the two ends' rows of the last block."""
    filtered_channels: int = 64
    """Width of the ends' filtered features in the readout, 0 for none."""
    cosines: bool = True
    """Read out the cosines between the ends' filtered features too: they need no weights."""
    common: bool = field(default=False, metadata={"absent": False})
    """Read out the sum of the filtered features of the common neighbours too, as NCN does; computed in torch."""
    pair_channels: int = field(default=0, metadata={"absent": 0})
    """Width of the statistics of the pair beside its subgraph, 0 for none; set from `pair_inputs`."""
    pair_inputs: bool = field(default=True, metadata={"absent": False})
    """Read the exact numbers of common neighbours, degrees and the cosine of the raw features."""
    ranking: bool = field(default=True, metadata={"absent": False})
    """A second head for candidates, with one output for pairs that share a neighbour and one for those that do not."""
    head: int = 32
    """Width of the hidden layer between readout and score."""
    dropout: float | None = None
    """Dropout in the head and the filters. None: chosen by the number of training links, see `presets.Preset.adapted`; 0.5 in a network that is built without it."""
    feature_dropout: float | None = None
    """Dropout of the compact features; None as for `dropout`."""

    def __post_init__(self) -> None:
        if self.pooling not in READOUTS:
            raise InputError(f"pooling is {READOUTS.list()}, got {self.pooling!r}")
        for name in ("dropout", "feature_dropout"):
            if getattr(self, name) is not None:
                require_share(name, getattr(self, name))
        if self.labels not in LABELS:
            raise InputError(f"labels is {', '.join(LABELS)}, got {self.labels!r}")
        if self.common and self.distance_cap < 2:
            raise InputError(
                "common needs a distance_cap of 2 or more: below it, common neighbours have no class of their own"
            )
        require_whole("blocks", self.blocks, least=1, most=DEEPEST)
        require_whole("powers", self.powers, least=1, most=MOST_POWERS)
        for name in ("channels", "filters", "filter_hidden", "head", "sort_rows", "distance_cap"):
            require_whole(name, getattr(self, name), least=1, most=WIDEST)
        for name in ("feature_channels", "filtered_channels", "pair_channels"):
            require_whole(name, getattr(self, name), least=0, most=WIDEST)


PAPER = NetConfig(
    filters=1,
    skip=False,
    jumping=False,
    pooling="sort",
    ends=False,
    filtered_channels=0,
    node_features=True,
    cosines=False,
    pair_inputs=False,
    ranking=False,
    head=48,
    dropout=0.5,
)
"""The paper's network in one reading where it is silent: one filter a block, no skip, sorted rows through DGCNN's convolutions."""
