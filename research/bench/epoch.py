"""How long an epoch of training takes: all links of a split, the network that `fit` would train."""

from __future__ import annotations

import copy
import time
from dataclasses import replace

import torch

from llwlc import datasets, splits
from llwlc._support.threads import use_one_thread
from llwlc.models._llwlc.encoded_split import EncodedSplit
from llwlc.models._llwlc.model import LLwLC
from llwlc.models._llwlc.presets import find_preset
from llwlc.models._llwlc.scoring import Scorer
from llwlc.models._llwlc.step import Stepper
from llwlc.models._llwlc.training import make_optimizer, train_epoch
from llwlc.nn import LLwLCNet
from llwlc.ranking._ranking import prepare_candidates
from llwlc.training._compact_features import fit_compactor
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources


def time_epoch(
    name: str, *, device: str, protocol: str = "ncn", fraction: float = 1.0, repeats: int = 3
) -> dict[str, float]:
    """Seconds by stage: encoding all training links and their pool of negatives, an epoch (the median, after one that
    warms up), and scoring the validation links. `fraction`: the share of the training links that is used."""
    graph = datasets.load(name)
    split = splits.make(graph, protocol=protocol, seed=0)
    chosen = find_preset("anchored", fraction=fraction).resolve_defaults(len(split.train_pos))
    target = torch.device(device)
    compactor = None if graph.x is None else fit_compactor(graph.x, chosen.features)
    features = NodeFeatures.of(graph.x, compactor)
    prepared = prepare_candidates(split, features, LLwLC(chosen), device=str(target))
    links = EncodedSplit(
        split,
        chosen,
        resources=Resources(target, memory_budget=32 << 30),
        inputs=features.pair_inputs,
        candidates=prepared.links,
    )
    links.part("valid_pos")  # compiles
    begin = time.perf_counter()
    data = links.training(0)
    _wait(target)
    encoding = time.perf_counter() - begin
    table = None if features.compact is None else features.compact.to(target)
    torch.manual_seed(0)
    channels = 0 if table is None else table.shape[1]
    shape = replace(chosen.net, feature_channels=channels, pair_channels=features.pair_inputs.channels)
    net = LLwLCNet(shape).to(target)
    stepper = Stepper(net, copy.deepcopy(net), make_optimizer(net, chosen.train), table)
    times = []
    with use_one_thread():
        for epoch in range(repeats + 1):
            begin = time.perf_counter()
            train_epoch(stepper, data, chosen.train, epoch)
            times.append(time.perf_counter() - begin)
        valid = [links.part(part) for part in ("valid_pos", "valid_neg")]
        begin = time.perf_counter()
        scorer = Scorer(net, features)
        for part in valid:
            scorer(part)
        scoring = time.perf_counter() - begin
    about = f"{3 * links.num_positive:,} links"
    return {
        f"encoding {len(data.data):,} links": encoding,
        f"epoch of {about}, {device}": sorted(times[1:])[repeats // 2],
        f"validation of {sum(map(len, valid)):,} links": scoring,
    }


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()
