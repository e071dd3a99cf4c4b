"""The preparation of training, on every rank: the encoded links of a split, and a network whose shape fits them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import NamedTuple

import torch

from llwlc.models._llwlc.encoded_split import EncodedSplit
from llwlc.models._llwlc.presets import Preset
from llwlc.nn._learned_constraints import build_network
from llwlc.nn._net import LLwLCNet
from llwlc.nn._registry import READOUTS
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._candidate_links import CandidateLinks
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources


class TrainingSetup(NamedTuple):
    """What training needs at its start."""

    links: EncodedSplit
    preset: Preset
    net: LLwLCNet


def prepare_training(
    split: LinkSplit,
    preset: Preset,
    features: NodeFeatures,
    candidates: CandidateLinks | None,
    *,
    resources: Resources,
    evaluated: LinkSplit | None = None,
    encoded: type[EncodedSplit] = EncodedSplit,
    network: type[LLwLCNet] = LLwLCNet,
) -> TrainingSetup:
    """Prepares training: links are encoded when they are first used; the initial weights come from the seed."""
    links = encoded(
        split,
        preset,
        resources=resources,
        evaluated=evaluated,
        inputs=features.pair_inputs if preset.net.pair_inputs else None,
        candidates=candidates,
    )
    preset = _shaped(preset, features, links)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(preset.train.seed)
        net = build_network(network, preset.net, preset.basis)
    return TrainingSetup(links, preset, net.to(resources.device))


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
