"""The preparation of training, on every rank: the encoded links of a split, and a network whose shape fits them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from llwlc.nn.net import LLwLCNet
from llwlc.nn.registry import READOUTS
from llwlc.splits.linksplit import LinkSplit
from llwlc.support.stopwatch import Stopwatch
from llwlc.training.encoded_split import CandidateLinks, EncodedSplit
from llwlc.training.node_features import NodeFeatures
from llwlc.training.presets import Preset
from llwlc.training.ranks import Ranks


class Ready(NamedTuple):
    """What training needs at its start."""

    links: EncodedSplit
    preset: Preset
    net: LLwLCNet


def set_up(
    split: LinkSplit,
    preset: Preset,
    features: NodeFeatures,
    candidates: CandidateLinks | None,
    *,
    device: torch.device,
    cache: Path | None,
    memory_budget: int,
    owner: Path | None = None,
    asked: LinkSplit | None = None,
    watch: Stopwatch | None = None,
    ranks: Ranks | None = None,
    encoded: type[EncodedSplit] = EncodedSplit,
) -> Ready:
    """Prepares training: links are encoded when they are first used; the initial weights come from the seed."""
    links = encoded(
        split,
        preset,
        cache=cache,
        device=device,
        memory_budget=memory_budget,
        owner=owner,
        asked=asked,
        watch=watch,
        inputs=features.pair_inputs if preset.net.pair_inputs else None,
        candidates=candidates,
        ranks=ranks,
    )
    preset = _shaped(preset, features, links)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(preset.train.seed)
        net = LLwLCNet(preset.net)
    return Ready(links, preset, net.to(device))


def _shaped(preset: Preset, features: NodeFeatures, links: EncodedSplit) -> Preset:
    """The preset with what follows from the data: the width of the features, the rows that a sorting readout keeps."""
    shape = replace(
        preset.net,
        feature_channels=0 if features.compact is None else features.compact.shape[1],
        pair_channels=features.pair_inputs.channels if preset.net.pair_inputs else 0,
    )
    if READOUTS[shape.pooling].sized:
        sizes = links.training(0).all_sizes.double()
        shape = replace(shape, sort_rows=int(torch.quantile(sizes[:100_000], 0.6)))
    return replace(preset, net=shape)


def training_digest(split: LinkSplit) -> str:
    """A hash of what must be the same on all ranks."""
    digest = hashlib.sha256(split.train_graph.digest.encode())
    for part in (split.train_pos, split.train_neg):
        digest.update(part.contiguous().numpy().data)
    return digest.hexdigest()
