"""Compiles the kernels of the network before they are needed, in the background, as `bases._kernel_compilation` does
for bases.
"""

from __future__ import annotations

from contextvars import copy_context
from threading import Thread

import torch

from llwlc._kernels.backends import why_not_numba
from llwlc.bases._encoded_links import EncodedLinks
from llwlc.bases._kernel_compilation import KernelCompilation
from llwlc.nn._config import NetConfig
from llwlc.nn._net import LLwLCNet
from llwlc.nn._weight_packing import unsupported_config

COMPILE = """
from llwlc._support.children import watch_parent
watch_parent()
import sys
from llwlc.nn._kernel_compilation import compile_here
compile_here(sys.argv[1])
"""
SCORING, TRAINING = "scores", "training"
KERNEL_MODULES = {SCORING: "llwlc._kernels.numba.network", TRAINING: "llwlc._kernels.numba.training"}


def start_compiling_kernels(config: NetConfig, *purposes: str) -> None:
    """Starts compiling the kernels for these purposes (`SCORING`, `TRAINING`) in the background, if they are not cached
    yet; they depend on the readout, not on sizes.
    """
    for purpose in purposes:
        known = "class" if purpose == TRAINING else "class or sort"
        if (
            why_not_numba()
            or unsupported_config(config)
            or config.pooling not in known.split(" or ")
            or (purpose, config.pooling) in _threads
        ):
            continue
        module = KERNEL_MODULES[purpose]
        translated = (module,) if config.pooling == "class" else ()
        kernel = KernelCompilation(COMPILE, f"{purpose} {config.pooling}", module, purpose, translated)
        if kernel.ready:
            continue
        # in this thread's context, so that its notices are shown where those of the caller are; a daemon: the process
        # does not wait for it at its end
        thread = Thread(target=copy_context().run, args=(kernel.compile_in_subprocess,), daemon=True)
        thread.start()
        _threads[purpose, config.pooling] = thread


_threads: dict[tuple[str, str], Thread] = {}


def compile_network_kernels(config: NetConfig, *purposes: str) -> None:
    """`start_compiling_kernels`, then waits until the kernels are compiled."""
    start_compiling_kernels(config, *purposes)
    for purpose in purposes:
        if (purpose, config.pooling) in _threads:
            _threads[purpose, config.pooling].join()


def compile_here(what: str) -> None:
    """Runs in the other process: scores one link, or takes one training step, which compiles the kernels."""
    purpose, pooling = what.split()
    net = LLwLCNet(NetConfig(feature_channels=2, pair_channels=1, pooling=pooling, jumping=pooling == "class"))
    x, links = torch.zeros(2, 2), _one_link()
    if purpose == SCORING:
        from llwlc.nn._compiled_network import CompiledNetwork

        CompiledNetwork(net, x).encoded(links)
    else:
        from llwlc.nn._compiled_training import CompiledTraining

        label = torch.ones(1, 3)
        CompiledTraining(net, x).gradient(links, torch.tensor([0]), label, label[0, 1:], seed=0, epoch=0)


def _one_link() -> EncodedLinks:
    """Two nodes and no link between them."""
    return EncodedLinks(
        sizes=torch.tensor([2]),
        values=torch.zeros(1, 2),
        mask=torch.ones(1, 2, dtype=torch.bool),
        residual=torch.zeros(1, 2),
        vectors=torch.eye(2),
        node=torch.tensor([0, 1], dtype=torch.int32),
        label=torch.tensor([6, 6], dtype=torch.uint8),
        degree=torch.zeros(2),
        ptr=torch.tensor([0, 2]),
        pair=torch.zeros(1, 1),
    )
