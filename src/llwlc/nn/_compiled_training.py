"""CompiledTraining: loss and gradients of a batch of encoded links, all of it in compiled code. `LLwLCNet.outputs` and
torch's autograd are the specification.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from llwlc._support.threads import get_kernel_threads, run_over_parts
from llwlc.bases._encoded_links import EncodedLinks
from llwlc.errors import InputError
from llwlc.nn._flat_parameters import FlatPacking, FlatParameters
from llwlc.nn._link_dropout import LEVELS, LinkDropout
from llwlc.nn._net import LLwLCNet
from llwlc.nn._readouts import ClassReadout
from llwlc.nn._weight_packing import why_not_packable

if TYPE_CHECKING:
    from llwlc._kernels.numba.dropout import Dropout
    from llwlc._kernels.numba.training import KernelBatch, TrainingArrays, TrainingScratch, TrainingTape

MAX_GROUPS, MIN_GROUP_SIZE = 16, 12
"""A batch is divided into at most `MAX_GROUPS` groups of at least `MIN_GROUP_SIZE` links, whatever the number of
threads; their gradients are added in order.
"""


def why_not_kernel_training(net: LLwLCNet) -> str:
    """Why a network is trained by torch, "" where kernels can train it."""
    if reason := why_not_packable(net):
        return reason
    return "" if isinstance(net.pool, ClassReadout) else f"readout {net.config.pooling!r} is trained in torch"


class CompiledTraining:
    """A network for which `why_not_kernel_training` is empty, with the compact features `[n, F]`; memory is reused from
    step to step.

    Its parameters become views of one vector, in the order of `parameters` or else in the network's own.
    """

    def __init__(self, net: LLwLCNet, features: Tensor | None, parameters: list[Tensor] | None = None) -> None:
        self.net, self.flat = net, FlatParameters(parameters or list(net.parameters()))
        self.dtype = self.flat.vector.numpy().dtype.type
        self.packing = FlatPacking(net, self.flat, features, self.dtype)
        self._links: EncodedLinks | None = None
        self._arrays: TrainingArrays
        self._tape: TrainingTape | None = None
        self._dropouts: dict[bool, Dropout] = {}
        self._scratch: list[TrainingScratch] = []
        self._room, self._steps = -1, 0
        self._sums = np.zeros((MAX_GROUPS, self.packing.small), self.dtype)
        self._total = np.zeros(self.packing.size, self.dtype)
        self._total_views = self.packing.cut(self._total)

    def gradient(
        self, links: EncodedLinks, index: Tensor, label: Tensor, members: Tensor, *, seed: int, epoch: int
    ) -> tuple[float, Tensor]:
        """The loss of the links at these positions, `population_loss` with these labels and members, and its gradient
        as one vector; dropout is drawn by (seed, epoch, link) while the network is in training mode."""
        from llwlc._kernels.numba.training import KernelBatch

        count, groups = len(index), count_groups(len(index))
        links, index = links.as_float32(index)
        self._take(links)
        targets, counts = label.to(torch.float64).numpy(), members.to(torch.float64).clamp(min=1).numpy()
        batch = KernelBatch(index.numpy(), targets, counts)
        self.packing.pack(self.flat.vector)
        self._run(batch, self._dropout(seed, epoch), groups)
        np.sum(self._sums[:groups], 0, out=self._total[: self.packing.small])
        return float(self._tape_for(count).loss[:count].sum()), self.packing.gradient(self._total)

    def _run(self, batch: KernelBatch, dropout: Dropout, groups: int) -> None:
        from llwlc._kernels.numba.training import large_layers, train_groups

        packing, tape, count = self.packing, self._tape_for(len(batch.chosen)), len(batch.chosen)
        turn, scratches = np.zeros(1, np.int64), list[Any]()

        def make() -> Callable[[int], None]:
            scratch = self._take_scratch()
            scratches.append(scratch)
            return lambda _: train_groups(
                packing.weights,
                packing.transposed,
                self._arrays,
                batch,
                dropout,
                groups,
                turn,
                scratch,
                tape,
                self._sums,
            )

        # one call per thread, which takes groups until none is left: passing these arrays takes as long as two links
        run_over_parts(min(get_kernel_threads(), groups), make)
        self._scratch += scratches
        parts, classes = min(get_kernel_threads(), groups), packing.weights.blocks.classes
        run_over_parts(parts, lambda: lambda part: large_layers(tape, count, classes, part, parts, self._total_views))

    def _take(self, links: EncodedLinks) -> None:
        """Reads links as arrays, and checks them; once for all steps on them."""
        if links is self._links:
            return
        from llwlc._kernels.numba.training import TrainingArrays

        c, pair = self.net.config, links.pair
        most = int(links.label.max()) if links.label.numel() else 0
        if most >= self.net.classes:
            raise InputError(
                f"the links have distance class {most}, this network knows 0 to {self.net.classes - 1}: its"
                " distance_cap is not the basis's"
            )
        if c.pair_channels and (pair is None or pair.shape[1] != c.pair_channels):
            raise InputError(f"this network reads {c.pair_channels} inputs of a pair: encode its links with PairInputs")
        if pair is None or not c.pair_channels:
            pair = torch.zeros(0, 0)
        fields = (links.ptr, links.vectors, links.node, links.label, links.degree, links.values, links.mask, pair)
        self._arrays = TrainingArrays(*(x.contiguous().numpy() for x in fields))
        self._links = links
        largest, steps = int(links.sizes.max()) if len(links) else 0, links.values.shape[1]
        if largest > self._room or steps != self._steps:
            self._scratch, self._room, self._steps = [], largest, steps

    def _take_scratch(self) -> TrainingScratch:
        """Scratch that no other thread has."""
        from llwlc._kernels.numba.training import training_scratch

        try:
            return self._scratch.pop()
        except IndexError:
            sums = np.zeros(self.packing.small, self.dtype)
            return training_scratch(self._room, self._steps, self.packing.weights, sums, self.packing.cut(sums))

    def _tape_for(self, links: int) -> TrainingTape:
        from llwlc._kernels.numba.training import make_training_tape

        if self._tape is None or len(self._tape.loss) < links:
            self._tape = make_training_tape(links, self.packing.weights, self.packing.transposed)
        return self._tape

    def _dropout(self, seed: int, epoch: int) -> Dropout:
        if self.net.training not in self._dropouts:
            self._dropouts[self.net.training] = self._made_dropout()
        return self._dropouts[self.net.training]._replace(seed=seed, epoch=epoch)

    def _made_dropout(self) -> Dropout:
        from llwlc._kernels.numba.dropout import Dropout

        net: Any = self.net
        ends = [LinkDropout(0.0)] * 2 if net.filtered is None else [net.filtered.dropout, net.filtered.feature_dropout]
        places = [*(conv.filter.layers[2] for conv in net.convs), *ends, net.head[2]]
        drop = [round(place.p * LEVELS) if net.training else 0 for place in places]
        factor = [LEVELS / (LEVELS - one) for one in drop]
        site = np.array([place.site for place in places])
        return Dropout(0, 0, site, np.array(drop), np.array(factor), np.zeros(0, np.int64))


def count_groups(links: int) -> int:
    return max(1, min(MAX_GROUPS, links // MIN_GROUP_SIZE))
