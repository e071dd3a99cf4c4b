"""The work of ranks above 0 in a fit: they compute the bases of their own links, and their part of every step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from llwlc.bases.warmup import warm_up
from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.nn import warmup as network_warmup
from llwlc.nn.net import LLwLCNet
from llwlc.splits.linksplit import LinkSplit
from llwlc.support.records import plain
from llwlc.support.threads import one_thread
from llwlc.training.config import TrainConfig
from llwlc.training.encoded_split import CandidateLinks, TrainingLinks
from llwlc.training.loop import adam, train_epoch
from llwlc.training.node_features import NodeFeatures
from llwlc.training.presets import Preset, read_preset
from llwlc.training.ranks import OVER, Ranks
from llwlc.training.setting_up import set_up, training_digest
from llwlc.training.step import Stepper, changing


def announce(
    ranks: Ranks,
    split: LinkSplit,
    preset: Preset,
    features: NodeFeatures,
    candidates: CandidateLinks | None,
    memory_budget: int,
) -> None:
    """Rank 0 sends the others what to train on and how."""
    tensors = {} if features.compact is None else {"compact": features.compact}
    if candidates is not None:
        tensors |= {"member": candidates.member, "negatives": candidates.negatives}
    about = {"preset": plain(preset), "links": training_digest(split), "memory_budget": memory_budget}
    ranks.announce(about, tensors)


def help_fit(
    graph: Graph, split: LinkSplit, ranks: Ranks, *, device: torch.device, cache: Path | None, owner: Path | None
) -> None:
    """Waits for the instructions of rank 0 and follows them."""
    about, tensors = ranks.received()
    if about is None:
        return
    preset = read_preset(about["preset"], "process 0")
    split = split.with_validation_trained() if preset.train.use_validation else split
    if about["links"] != training_digest(split):
        raise InputError(
            f"process {ranks.rank} reads other links than process 0: give all of them the same graph, split and options"
        )
    if device.type == "cpu":
        network_warmup.begin(preset.net, network_warmup.TRAINING)
    warm_up(split.train_graph, preset.basis)
    features = NodeFeatures.of(graph.x, None, tensors.get("compact"))
    no_pairs = split.valid_pos[:0]
    candidates = None
    if "member" in tensors:
        candidates = CandidateLinks(tensors["member"], tensors["negatives"], no_pairs, no_pairs)
    ready = set_up(
        split, preset, features, candidates,
        device=device, cache=cache, memory_budget=int(about["memory_budget"]), owner=owner, ranks=ranks,
    )  # fmt: skip
    take_part(ready.net, ready.links.training, ready.preset.train, features=features, ranks=ranks)


def take_part(
    net: LLwLCNet,
    links: Callable[[int], TrainingLinks],
    config: TrainConfig,
    *,
    features: NodeFeatures,
    ranks: Ranks,
) -> None:
    """Takes training steps on this rank's links, in the epochs that rank 0 announces."""
    device = next(net.parameters()).device
    if device.type == "cpu":
        network_warmup.warm_up(net.config, network_warmup.TRAINING)
    table = None if features.compact is None else features.compact.to(device)
    optimizer = adam(net, config)
    stepper = Stepper(net, net, optimizer, table, ranks)
    while (epoch := ranks.begin(None, changing(net, optimizer))) != OVER:
        data = links(epoch)
        with one_thread():
            train_epoch(stepper, data, config, epoch)
