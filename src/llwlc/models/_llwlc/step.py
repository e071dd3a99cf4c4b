"""One step of training: batch, loss, gradient, Adam, moving average; on a CPU compiled, on a GPU as one CUDA graph.

A step is some three hundred small kernels, and launching them one by one takes five times as long as they run. A CUDA
graph launches all of them at once, but has fixed shapes: so links are padded to one of a few widths, and there is a
graph for each.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from llwlc.bases._encoded_links import EncodedLinks
from llwlc.bases._link_batch import LinkBatch
from llwlc.linalg._basis import Eigenbasis
from llwlc.models._llwlc.flat_adam import FlatAdam
from llwlc.nn._compiled_training import CompiledTraining, why_not_kernel_training
from llwlc.nn._net import LLwLCNet
from llwlc.nn._registry import READOUTS
from llwlc.training._ranks import Ranks

MOST_ROWS = 1 << 20
"""A batch of more rows is not recorded as a graph: the memory that a graph holds grows with them."""


def padded_width(size: int) -> int:
    """The width to which a link of this many nodes is padded: a power of two, or the middle between two of them.

    >>> [padded_width(n) for n in (2, 33, 49, 65, 97, 129)]
    [32, 48, 64, 96, 128, 192]
    """
    power = 1 << max(math.ceil(math.log2(max(size, 1))), 5)
    return 3 * power // 4 if power > 32 and size <= 3 * power // 4 else power


class Stepper:
    """Takes training steps on `net` and updates `mean`, the moving average of its weights. Losses stay on the
    device.
    """

    def __init__(
        self,
        net: LLwLCNet,
        mean: LLwLCNet,
        optimizer: torch.optim.Optimizer,
        table: Tensor | None,
        ranks: Ranks | None = None,
        *,
        by_torch: bool = False,
    ) -> None:
        self.net, self.mean, self.optimizer, self.table, self.ranks = net, mean, optimizer, table, ranks
        self.device = next(net.parameters()).device
        self.compiled = (
            None if by_torch or why_not_kernel_training(net) else CompiledStep(net, mean, optimizer, table, ranks)
        )
        self._weights: tuple[list[Tensor], list[Tensor]] = list(mean.parameters()), list(net.parameters())
        self._whole = 0
        self._graphs: dict[tuple[int, int], RecordedStep] = {}
        self._together = None if ranks is None or self.compiled is not None else average_gradients(_Outputs(self))

    def __call__(
        self, data: EncodedLinks, index: Tensor, label: Tensor, largest: int, decay: float, *, seed: int, epoch: int
    ) -> Tensor:
        """One step on these links `[b]` (`largest`: the nodes of the largest); `label [b, 1 + outputs]`: 0 or 1, and 1
        for each output that the link belongs to; dropout is drawn by (seed, epoch, link). Returns the loss, among
        several ranks this one's part of it."""
        width, home, members = padded_width(largest), data.sizes.device, label[:, 1:].sum(0)
        if self.ranks is not None:
            index, label = self.ranks.part(index, label)
        if self.compiled is not None:
            return self.compiled(data, index, label, members, 1 - decay, seed=seed, epoch=epoch)
        index = index.to(home, non_blocking=True)
        label, members = label.to(self.device, non_blocking=True), members.to(self.device, non_blocking=True)
        draws = data.draws(index, seed=seed, epoch=epoch)
        shape = len(index), width
        if self._together is not None:
            return self._descend(self._together(data, index, draws), label, members, 1 - decay)
        if not self._recordable(*shape) or home != self.device:
            return self._descend(self.outputs(data, index, draws), label, members, 1 - decay)
        batch = data.uniform_batch(index, width, draws)
        if shape not in self._graphs:
            self._graphs[shape] = self._record(batch, label)
        return self._graphs[shape].replay(batch, label, 1 - decay)

    def _recordable(self, links: int, width: int) -> bool:
        """Whether a step is recorded as a graph: only full batches are, since the last one of an epoch has fewer
        links.
        """
        self._whole = max(self._whole, links)
        whole = links == self._whole and links * width <= MOST_ROWS
        return self.device.type == "cuda" and READOUTS[self.net.config.pooling].uniform and whole

    def outputs(self, data: EncodedLinks, index: Tensor, draws: Tensor) -> Tensor:
        """The logits of these links, with gradients."""
        return self.net.outputs(data.batch(index, draws).to(self.device, torch.float32), self.table)

    def _step(self, batch: LinkBatch, label: Tensor, follow: float | Tensor) -> Tensor:
        return self._descend(self.net.outputs(batch, self.table), label, label[:, 1:].sum(0), follow)

    def _descend(self, logits: Tensor, label: Tensor, members: Tensor, follow: float | Tensor) -> Tensor:
        loss = population_loss(logits, label, members)
        self.optimizer.zero_grad()
        # gradients are averaged over ranks, and the loss is the sum of their parts
        (loss if self.ranks is None else loss * self.ranks.size).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        with torch.no_grad():
            mean, net = self._weights
            if isinstance(follow, float):
                torch._foreach_lerp_(mean, net, follow)
            else:  # a number that is only on the device
                towards = torch._foreach_sub(net, mean)
                torch._foreach_mul_(towards, follow)
                torch._foreach_add_(mean, towards)
        return loss.detach()

    def _record(self, batch: LinkBatch, label: Tensor) -> RecordedStep:
        """Records the step on a batch of this shape as a graph. Recording changes nothing: everything that a step
        changes is restored.
        """
        inputs = _inputs(batch, label, torch.zeros((), device=self.device))
        static = [tensor.clone() for tensor in inputs]
        follow = static[-1]

        def step() -> Tensor:
            return self._step(_batch_of(static), static[-2], follow)

        before = [
            (t, t.clone())
            for t in (*training_tensors(self.net, self.optimizer), *(p.data for p in self.mean.parameters()))
        ]
        state = torch.cuda.get_rng_state(self.device)
        side = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(side):
            for _ in range(2):
                step()
        torch.cuda.current_stream(self.device).wait_stream(side)
        self.optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        pool = next(iter(self._graphs.values())).graph.pool() if self._graphs else None
        with torch.cuda.graph(graph, pool=pool):
            loss = step()
        with torch.no_grad():
            for tensor, kept in before:
                tensor.copy_(kept)
        torch.cuda.set_rng_state(state, self.device)
        return RecordedStep(graph, static, loss)


class CompiledStep:
    """A step of a network that kernels can train: two calls of compiled code and one of Adam."""

    def __init__(
        self,
        net: LLwLCNet,
        mean: LLwLCNet,
        optimizer: torch.optim.Optimizer,
        table: Tensor | None,
        ranks: Ranks | None,
    ) -> None:
        training_tensors(net, optimizer)
        self.ranks = ranks
        self.training = CompiledTraining(net, table, [p for group in optimizer.param_groups for p in group["params"]])
        self.adam = FlatAdam(optimizer, self.training.flat, net, None if mean is net else mean)

    def __call__(
        self, data: EncodedLinks, index: Tensor, label: Tensor, members: Tensor, follow: float, *, seed: int, epoch: int
    ) -> Tensor:
        loss, gradient = self.training.gradient(data, index, label, members, seed=seed, epoch=epoch)
        self.adam.step(gradient if self.ranks is None else self.ranks.total(gradient), follow)
        return torch.tensor(loss)


class _Outputs(torch.nn.Module):
    """The logits of a stepper as a module: torch averages gradients of modules only."""

    def __init__(self, stepper: Stepper) -> None:
        super().__init__()
        self.net, self._outputs = stepper.net, stepper.outputs

    def forward(self, data: EncodedLinks, index: Tensor, draws: Tensor) -> Tensor:
        return self._outputs(data, index, draws)


def average_gradients(module: torch.nn.Module) -> DistributedDataParallel:
    """The module with its gradients averaged over all ranks. With `find_unused_parameters`, a weight that no rank has
    used gets no gradient, as in one process; and torch does not reorder the weights in messages after the first step,
    so that a run that continues from a checkpoint sums in the same order as one that was never interrupted."""
    return DistributedDataParallel(module, find_unused_parameters=True)


def training_tensors(net: LLwLCNet, optimizer: torch.optim.Optimizer) -> list[Tensor]:
    """Weights and the moments of Adam, which are created as zeros before its first step: they must exist before a graph
    is recorded, or before those of another rank are received.
    """
    if not optimizer.state:
        for group in optimizer.param_groups:
            for p in group["params"]:
                optimizer.state[p] = {
                    "step": torch.zeros((), dtype=torch.float32, device=p.device),
                    "exp_avg": torch.zeros_like(p),
                    "exp_avg_sq": torch.zeros_like(p),
                }
    kept = [optimizer.state[p][name] for p in net.parameters() for name in ("step", "exp_avg", "exp_avg_sq")]
    return [*(p.data for p in net.parameters()), *kept]


def population_loss(logits: Tensor, label: Tensor, members: Tensor | None = None) -> Tensor:
    """The sum over the outputs of their mean losses, each over the links of its own population. Shapes:
    `logits [b, k]`, `label [b, 1 + k]`; `members`: how many links each population has, where these are a part of
    them."""
    member = label[:, 1 : 1 + logits.shape[1]]
    each = F.binary_cross_entropy_with_logits(logits, label[:, :1].expand_as(logits), reduction="none") * member
    count = member.sum(0) if members is None else members[: logits.shape[1]]
    return (each.sum(0) / count.clamp(min=1)).sum()


class RecordedStep(NamedTuple):
    """A graph, the tensors that it reads, and the loss that it writes."""

    graph: torch.cuda.CUDAGraph
    static: list[Tensor]
    loss: Tensor

    def replay(self, batch: LinkBatch, label: Tensor, follow: float) -> Tensor:
        *inputs, last = self.static
        torch._foreach_copy_(inputs, _inputs(batch, label))
        last.fill_(follow)
        self.graph.replay()
        return self.loss.clone()


def _inputs(batch: LinkBatch, *rest: Tensor) -> list[Tensor]:
    basis = batch.basis
    assert batch.draws is not None
    ends = [batch.node, batch.label, batch.degree, batch.u, batch.v]
    if batch.pair is not None:
        ends.append(batch.pair)
    return [basis.values, basis.vectors, basis.mask, basis.residual, batch.draws, *ends, *rest]


def _batch_of(static: list[Tensor]) -> LinkBatch:
    values, vectors, mask, residual, draws, *ends = static[:-2]  # the last two are labels and the average's weight
    return replace(LinkBatch(Eigenbasis.uniform(values, vectors, mask, residual), *ends), draws=draws)
