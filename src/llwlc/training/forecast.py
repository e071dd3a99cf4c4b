"""What training will take, from a sample of the links."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import torch

from llwlc.bases.encoded_links import encode, estimate_bytes, messages_on
from llwlc.nn.net import LLwLCNet
from llwlc.splits.linksplit import LinkSplit
from llwlc.support.threads import one_thread
from llwlc.training.encoded_split import TrainingLinks, pool_draws
from llwlc.training.loop import adam, train_epoch
from llwlc.training.presets import Preset
from llwlc.training.step import Stepper


@dataclass(frozen=True)
class Forecast:
    """Links whose bases are computed, the size of their subgraphs, the bytes that the bases take, and seconds in all."""

    links: int
    mean_size: float
    largest: int
    num_bytes: int
    seconds: float


def forecast(split: LinkSplit, preset: Preset, *, device: torch.device | str = "cpu", sample: int = 256) -> Forecast:
    """Sizes, memory and time expected, from encoding and training on a sample of the links, on the device in use."""
    device = torch.device(device)
    preset = preset.adapted(len(split.train_pos))
    config, graph = preset.train, messages_on(split.train_graph, device)
    positives, redrawn = max(1, round(len(split.train_pos) * config.fraction)), preset.basis.stochastic
    links = positives + (positives if redrawn else len(split.train_pos) * pool_draws(config))
    if preset.net.ranking:
        links += positives if redrawn else positives * config.candidate_pool
    at = torch.randperm(len(split.train_pos), generator=torch.Generator().manual_seed(0))[:sample]
    pairs = torch.cat([split.train_pos[at], split.train_neg[at[: len(split.train_neg)] % max(len(split.train_neg), 1)]])
    encode(graph, pairs[:2], preset.basis, about="")  # a first call compiles; that is no part of the rate
    begin = time.perf_counter()
    data = encode(graph, pairs, preset.basis, about="").to(device)
    sizes = data.sizes.cpu()  # waits for a GPU
    encoding = (time.perf_counter() - begin) / len(pairs)
    with torch.random.fork_rng(devices=[]):
        net = LLwLCNet(replace(preset.net, feature_channels=0, pair_channels=0)).to(device)
    stepper = Stepper(net, net, adam(net, config), None)
    sample_links = TrainingLinks(data, len(at), len(pairs) - len(at), torch.zeros(len(at), dtype=torch.bool))
    with one_thread():
        if device.type == "cuda":
            train_epoch(stepper, sample_links, config, 0)  # CUDA graphs are recorded in the first epoch
        begin = time.perf_counter()
        train_epoch(stepper, sample_links, config, 0)
    step = (time.perf_counter() - begin) / len(pairs)
    copies = 1 if redrawn else 1 + min(config.copies or 0, config.epochs - 1)
    mean = float(sizes.double().mean())
    return Forecast(
        links,
        mean,
        int(sizes.max()),
        copies * estimate_bytes(links, mean, preset.basis.steps),
        links * (config.epochs if redrawn else copies) * encoding
        + config.epochs * (3 if preset.net.ranking else 2) * positives * step * 1.5,
    )
