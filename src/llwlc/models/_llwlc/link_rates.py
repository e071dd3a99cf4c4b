"""LinkRates: what one link costs the network on this machine, measured on a sample in some seconds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from llwlc._support.threads import use_one_thread
from llwlc.bases._cache import measure_store_seconds
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import EncodedLinks, encode_pairs, place_message_graph
from llwlc.bases._kernel_compilation import compile_basis_kernels
from llwlc.models._llwlc.encoded_split import EncodedTrainingLinks
from llwlc.models._llwlc.presets import Preset
from llwlc.models._llwlc.scoring import CANDIDATES_OUTPUT, Scorer
from llwlc.models._llwlc.step import Stepper
from llwlc.models._llwlc.training import make_optimizer, train_epoch
from llwlc.nn import _kernel_compilation as network_warmup
from llwlc.nn._learned_constraints import build_network
from llwlc.nn._net import LLwLCNet
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._node_features import NodeFeatures
from llwlc.training._timing import NUM_REPEATS, measure_pair_rate, time_block, time_fastest

SAMPLE, SAMPLE_ON_GPU = 192, 2048
"""Links of each population in the sample; a GPU takes whole batches in the time of a few links, and beside one batch
alone what is done once an epoch would count too much.
"""
MAX_SAMPLE_SECONDS, ROWS, ROWS_ON_GPU = 1.0, 250_000, 2_000_000
"""Limits for encoding the sample, in seconds and in rows; the rest would not be faster."""
PROBE_SIZE = 16


@dataclass(frozen=True)
class LinkRates:
    """The cost of a link for one `hops`, cap and precision, in seconds: to encode and store it, to train on it once, to
    score it from its pair and from its encoded basis; and its size in nodes, mean and largest."""

    encode: float
    train: float
    score: float
    score_encoded: float
    mean_size: float
    largest: int


def sample_pairs(split: LinkSplit, seed: int = 0, *, size: int = SAMPLE) -> Tensor:
    """Training links, non-links and pairs two steps apart, as candidates mostly are, as many of each."""
    graph, rng = split.train_graph, np.random.default_rng([seed, 3])
    links = split.train_pos[torch.from_numpy(rng.permutation(len(split.train_pos))[:size])]
    others = split.train_neg[torch.from_numpy(rng.permutation(len(split.train_neg))[:size])]
    # two steps: from one end of a link to the other end, and on to a neighbour of that
    start, via = links[:, 0], links[:, 1]
    degree = graph.degree[via].clamp(min=1)
    step = torch.from_numpy(rng.random(len(links))) * degree
    end = graph.indices[(graph.indptr[via] + step.long()).clamp(max=max(len(graph.indices) - 1, 0))]
    apart = torch.stack([start, end], 1)[start != end]
    return torch.cat([links, others, apart])


def measure_link_rates(
    split: LinkSplit,
    preset: Preset,
    features: NodeFeatures,
    reach: BasisConfig,
    device: torch.device,
    seconds: float = MAX_SAMPLE_SECONDS,
) -> LinkRates:
    """Measures the cost of links with subgraphs of this reach, for which kernels are compiled; `seconds`: most that the
    sample may take to encode.
    """
    graph, config = place_message_graph(split.train_graph, device), preset.train
    gpu = graph.indptr.is_cuda
    pairs = sample_pairs(split, size=SAMPLE_ON_GPU if gpu else SAMPLE)
    pairs = pairs[torch.from_numpy(np.random.default_rng(3).permutation(len(pairs)))]
    encode_pairs(graph, pairs[:2], reach, about="")  # a first call loads what is compiled
    with time_block() as first:
        size = float(encode_pairs(graph, pairs[:PROBE_SIZE], reach, about="").sizes.double().mean())
    rows = ROWS_ON_GPU if gpu else ROWS
    pairs = pairs[: max(2 * PROBE_SIZE, min(int(seconds * PROBE_SIZE / max(first(), 1e-9)), int(rows / size)))]

    def encoded() -> EncodedLinks:
        links = encode_pairs(graph, pairs, reach, about="").to(device)
        links.sizes.cpu()  # waits for a GPU
        return links

    data, encoding = time_fastest(encoded)
    sizes, storing = data.sizes.cpu(), min(measure_store_seconds(data) for _ in range(NUM_REPEATS))
    if preset.net.pair_inputs:
        data = data.with_pair(features.pair_inputs(split.train_graph, pairs))
    shape = replace(
        preset.net,
        feature_channels=0 if features.compact is None else features.compact.shape[1],
        pair_channels=features.pair_inputs.channels if preset.net.pair_inputs else 0,
        sort_rows=max(int(sizes.double().mean()), 10),
    )
    with torch.random.fork_rng(devices=[]):
        net = build_network(LLwLCNet, shape, reach).to(device)
    table = None if features.compact is None else features.compact.to(device)
    stepper = Stepper(net, net, make_optimizer(net, config), table)
    third, half = max(1, len(pairs) // 3), (config.batch_size or 64) // 2
    # whole batches: a GPU takes several times as long for the last one of an epoch, which has fewer links
    third -= third % half if third > half else 0
    links = EncodedTrainingLinks(data, third, third, torch.ones(third, dtype=torch.bool))
    trained = (3 if links.candidates else 2) * third
    with use_one_thread():
        train_epoch(stepper, links, config, 0)  # compiles, or records CUDA graphs
        training = time_fastest(lambda: train_epoch(stepper, links, config, 0))[1]
        scorer = Scorer(net, features)
        scorer(data, CANDIDATES_OUTPUT)
        scored = time_fastest(lambda: scorer(data, CANDIDATES_OUTPUT))[1]
    scoring = measure_pair_rate(lambda some: list(scorer.pairs(graph, some, reach, CANDIDATES_OUTPUT)), pairs)
    count = len(pairs)
    mean = float(sizes.double().mean())
    store = (encoding + storing) / count
    return LinkRates(store, training / trained, scoring, scored / count, mean, int(sizes.max()))


def probe_links(split: LinkSplit, reach: BasisConfig, device: torch.device) -> float:
    """About how many seconds it takes to encode a link with subgraphs of this reach, from a few of them."""
    graph, pairs = place_message_graph(split.train_graph, device), sample_pairs(split, size=PROBE_SIZE // 2)
    encode_pairs(graph, pairs[:2], reach, about="")  # a first call loads what is compiled
    with time_block() as taken:
        encode_pairs(graph, pairs, reach, about="").sizes.cpu()
    return taken() / len(pairs)


def compile_kernels(split: LinkSplit, preset: Preset, reach: BasisConfig, device: torch.device) -> None:
    """Compiles those that are not cached yet, beside each other, and elsewhere: see `bases._kernel_compilation`."""
    if device.type == "cpu":
        network_warmup.start_compiling_kernels(preset.net, network_warmup.TRAINING, network_warmup.SCORING)
    compile_basis_kernels(split.train_graph, reach)
    if device.type == "cpu":
        network_warmup.compile_network_kernels(preset.net, network_warmup.TRAINING, network_warmup.SCORING)
