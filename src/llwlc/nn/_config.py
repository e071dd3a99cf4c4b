"""NetConfig: the shape of the network."""

from __future__ import annotations

from dataclasses import dataclass

from llwlc._support.options import check_options, option
from llwlc.nn._registry import READOUTS

MAX_CHANNELS, MAX_BLOCKS = 1 << 16, 64
"""Largest numbers of channels and blocks; `anchored` has 32 and 2."""


@dataclass(frozen=True)
class NetConfig:
    """The shape of the network. The defaults are those of the preset `anchored`; `PAPER` is the paper's.

    >>> NetConfig(blocks=0)
    Traceback (most recent call last):
    llwlc.errors.InputError: blocks must be a whole number from 1 to 64, got 0
    """

    feature_channels: int = option(0, "width of the compact features; 0: none", least=0, most=MAX_CHANNELS)
    blocks: int = option(2, "number of blocks of the network", least=1, most=MAX_BLOCKS)
    """`LLwLCConv` layers, in sequence, on one basis."""
    channels: int = option(32, "width of a block", least=1, most=MAX_CHANNELS)
    filters: int = option(4, "number of learned functions of the eigenvalues in a block", least=1, most=MAX_CHANNELS)
    """S."""
    filter_hidden: int = option(32, "hidden width of the MLP that computes these functions", least=1, most=MAX_CHANNELS)
    skip: bool = option(True, "whether each block adds its input to its output")
    """Add X W₀ in every block."""
    jumping: bool = option(True, "whether the readout sees the output of all blocks, not only of the last")
    pooling: str = option(
        "class", "how the rows of a subgraph are combined into one", choices=READOUTS, values="a name below"
    )
    """A name of `nn._registry.READOUTS`."""
    sort_rows: int = option(30, "rows that a readout which sorts keeps", least=1, most=MAX_CHANNELS)
    """Set by training: the 60th percentile of the subgraphs' sizes."""
    distance_cap: int = option(
        3, "distances from the ends are distinguished up to this one", least=1, most=MAX_CHANNELS
    )
    node_features: bool = option(False, "whether features are part of every node's input")
    """As Algorithm 2 has them."""
    ends: bool = option(True, "whether the readout sees the rows of the two ends")
    filtered_channels: int = option(
        64, "width of the ends' filtered features in the readout; 0: none", least=0, most=MAX_CHANNELS
    )
    cosines: bool = option(True, "whether the readout sees the cosines between the ends' filtered features")
    """They need no weights."""
    pair_channels: int = option(
        0, "width of the statistics of the pair beside its subgraph", least=0, most=MAX_CHANNELS
    )
    """0 for none; set from `pair_inputs`."""
    pair_inputs: bool = option(
        True, "whether the readout sees common neighbours, degrees and the cosine of raw features"
    )
    ranking: bool = option(True, "whether a second output, for candidates, is trained, by which recommend ranks")
    """One output for pairs that share a neighbour and one for those that do not."""
    head: int = option(32, "width of the last layers", least=1, most=MAX_CHANNELS)
    dropout: float | None = option(
        None,
        "dropout rate in the last layers",
        least=0,
        most=1,
        open_most=True,
    )
    """In the head and the filters. None: chosen by the number of training links, see `presets.Preset.resolve_defaults`;
    0.5 in a network that is built without it.
    """
    feature_dropout: float | None = option(None, "dropout rate of the features", least=0, most=1, open_most=True)
    """None as for `dropout`."""

    def __post_init__(self) -> None:
        check_options(self)


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
"""The paper's network in one reading where it is silent: one filter a block, no skip, sorted rows through DGCNN's
convolutions.
"""
