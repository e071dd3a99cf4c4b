"""The work of ranks above 0 in a fit: they compute the bases of their own links, and their part of every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from llwlc._support.records import to_mapping
from llwlc._support.threads import use_one_thread
from llwlc.bases._kernel_compilation import compile_basis_kernels
from llwlc.errors import InputError
from llwlc.models._llwlc.config import TrainConfig
from llwlc.models._llwlc.encoded_split import EncodedTrainingLinks
from llwlc.models._llwlc.presets import Preset, read_preset
from llwlc.models._llwlc.setup import prepare_training, training_digest
from llwlc.models._llwlc.step import Stepper, training_tensors
from llwlc.models._llwlc.training import make_optimizer, train_epoch
from llwlc.nn import _kernel_compilation as network_warmup
from llwlc.nn._net import LLwLCNet
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._candidate_links import CandidateLinks
from llwlc.training._node_features import NodeFeatures
from llwlc.training._ranks import END_OF_TRAINING, Ranks
from llwlc.training._resources import Resources


def broadcast_task(
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
    about = {"preset": to_mapping(preset), "links": training_digest(split), "memory_budget": memory_budget}
    ranks.announce(about, tensors)


def run_worker(split: LinkSplit, *, resources: Resources) -> None:
    """Waits for the instructions of rank 0 and follows them."""
    ranks = resources.ranks
    assert ranks is not None
    about, tensors = ranks.receive()
    if about is None:
        return
    preset = read_preset(about["preset"], "process 0")
    split = split.with_validation_trained() if preset.train.use_validation else split
    if about["links"] != training_digest(split):
        raise InputError(
            f"process {ranks.rank} reads other links than process 0: give all of them the same graph, split and options"
        )
    if resources.device.type == "cpu":
        network_warmup.start_compiling_kernels(preset.net, network_warmup.TRAINING)
    compile_basis_kernels(split.train_graph, preset.basis)
    features = NodeFeatures.of(split.train_graph.x, None, tensors.get("compact"))
    no_pairs = split.valid_pos[:0]
    candidates = None
    if "member" in tensors:
        candidates = CandidateLinks(tensors["member"], tensors["negatives"], no_pairs, no_pairs)
    ready = prepare_training(
        split, preset, features, candidates, resources=replace(resources, memory_budget=int(about["memory_budget"]))
    )
    train_worker(ready.net, ready.links.training, ready.preset.train, features=features, ranks=ranks)


def train_worker(
    net: LLwLCNet,
    links: Callable[[int], EncodedTrainingLinks],
    config: TrainConfig,
    *,
    features: NodeFeatures,
    ranks: Ranks,
) -> None:
    """Takes training steps on this rank's links, in the epochs that rank 0 announces."""
    device = next(net.parameters()).device
    if device.type == "cpu":
        network_warmup.compile_network_kernels(net.config, network_warmup.TRAINING)
    table = None if features.compact is None else features.compact.to(device)
    optimizer = make_optimizer(net, config)
    stepper = Stepper(net, net, optimizer, table, ranks)
    while (epoch := ranks.begin(None, training_tensors(net, optimizer))) != END_OF_TRAINING:
        data = links(epoch)
        with use_one_thread():
            train_epoch(stepper, data, config, epoch)
