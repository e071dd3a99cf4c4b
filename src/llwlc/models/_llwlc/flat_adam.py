"""FlatAdam: the steps of `torch.optim.Adam`, and of the moving average, on all parameters as one vector: one call
instead of one for each parameter.

The optimizer's own state becomes views of vectors too, so that checkpoints and other ranks find it where torch keeps
it.
"""

from __future__ import annotations

import itertools

import torch
from torch import Tensor
from torch.optim.adam import adam

from llwlc.nn._flat_parameters import FlatParameters
from llwlc.nn._net import LLwLCNet


class FlatAdam:
    """`flat` has the parameters of `net` in the order of the optimizer's groups; `mean` is the network of the average,
    which may be `net` itself where nobody reads it. The optimizer's state must exist."""

    def __init__(
        self, optimizer: torch.optim.Optimizer, flat: FlatParameters, net: LLwLCNet, mean: LLwLCNet | None
    ) -> None:
        self.flat = flat
        sizes = [sum(p.numel() for p in group["params"]) for group in optimizer.param_groups]
        ends = list(itertools.accumulate(sizes))
        self.groups = [
            (slice(end - size, end), group)
            for size, end, group in zip(sizes, ends, optimizer.param_groups, strict=True)
        ]
        self.mean = None if mean is None else FlatParameters(_in_order_of(flat, net, mean)).vector
        self.moments = [self._flattened(optimizer, name) for name in ("exp_avg", "exp_avg_sq")]
        # every parameter has had a gradient in every step, so all of them have the same number
        self.steps = torch.stack([optimizer.state[p]["step"] for p in flat.parameters])
        for p, step in zip(flat.parameters, self.steps, strict=True):
            optimizer.state[p]["step"] = step

    def _flattened(self, optimizer: torch.optim.Optimizer, name: str) -> Tensor:
        vector = torch.cat([optimizer.state[p][name].reshape(-1) for p in self.flat.parameters])
        for p, view in zip(self.flat.parameters, self.flat.cut(vector), strict=True):
            optimizer.state[p][name] = view
        return vector

    def step(self, gradient: Tensor, follow: float) -> None:
        """A step against the gradient; the average then moves towards the parameters by the share `follow`."""
        for part, group in self.groups:
            first, second = self.moments
            beta1, beta2 = group["betas"]
            adam(
                [self.flat.vector[part]],
                [gradient[part]],
                [first[part]],
                [second[part]],
                [],
                [self.steps[0].clone()],
                amsgrad=False,
                beta1=beta1,
                beta2=beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                maximize=group["maximize"],
                fused=True,
            )
        self.steps.add_(1)
        if self.mean is not None:
            self.mean.lerp_(self.flat.vector, follow)


def _in_order_of(flat: FlatParameters, net: LLwLCNet, other: LLwLCNet) -> list[Tensor]:
    """The parameters of a copy of `net` in the order of `flat`."""
    named = dict(other.named_parameters())
    name_of = {id(p): name for name, p in net.named_parameters()}
    return [named[name_of[id(p)]] for p in flat.parameters]
