"""Complex factors of nodes and types (ComplEx, Trouillon et al. 2016), trained as in Lacroix et al. 2018.

The score of source h, type r and target t is Re⟨e_h, w_r, ē_t⟩. Every type has an inverse with factors of its own, so
that both questions, h r ? and ? r t, ask for a target. Training minimises the cross entropy of the target among all
nodes, and ν (|e_h|³ + |w_r|³ + |e_t|³), summed over complex moduli.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from llwlc._support.threads import use_one_thread

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class FactorConfig:
    """How factors are trained: `rank` complex numbers for a node and for a type; `penalty` ν; Adagrad's learning rate.
    Rate and penalty were chosen on the validation links of UMLS and Kinships.
    """

    rank: int = 100
    penalty: float = 0.01
    learning_rate: float = 0.1
    batch_size: int = 256


@dataclass(frozen=True, eq=False)
class ComplexFactors:
    """`nodes [n, 2 rank]`, real parts, then imaginary parts; `types [2 R, 2 rank]`, the types, then their inverses."""

    nodes: Tensor
    types: Tensor

    @property
    def num_types(self) -> int:
        return len(self.types) // 2

    def double(self) -> ComplexFactors:
        """The same in double precision."""
        return ComplexFactors(self.nodes.double(), self.types.double())

    def targets(self, source: Integers, relation: Integers) -> Tensor:
        """The scores `[m, n]` of all nodes as targets."""
        return multiply(self.nodes[torch.from_numpy(source)], self.types[torch.from_numpy(relation)]) @ self.nodes.T

    def sources(self, relation: Integers, target: Integers) -> Tensor:
        """The scores `[m, n]` of all nodes as sources."""
        return self.targets(target, relation + self.num_types)


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """The products of complex rows `[m, 2 rank]`."""
    (real_a, imag_a), (real_b, imag_b) = a.chunk(2, 1), b.chunk(2, 1)
    return torch.cat([real_a * real_b - imag_a * imag_b, real_a * imag_b + imag_a * real_b], 1)


def train_factors(
    rows: Integers,
    num_nodes: int,
    num_types: int,
    epochs: int,
    *,
    seed: int,
    config: FactorConfig | None = None,
    start: ComplexFactors | None = None,
    free: Tensor | None = None,
    on_epoch: Callable[[int, ComplexFactors], None] | None = None,
) -> ComplexFactors:
    """The factors after `epochs` epochs on triples `[t, 3]`; `on_epoch` is called after each, counted from 1.

    With `free [n]`, only those nodes are trained, from `start`: other nodes and the types keep its factors.
    """
    config = FactorConfig() if config is None else config
    generator = torch.Generator().manual_seed(seed)
    size = 2 * config.rank
    nodes, types = ((1e-2 * torch.randn(count, size, generator=generator)) for count in (num_nodes, 2 * num_types))
    if start is not None and free is not None:
        nodes, types = torch.where(free[:, None], nodes, start.nodes), start.types
    nodes.requires_grad_()
    types = types.clone().requires_grad_(free is None)
    optimizer = torch.optim.Adagrad([nodes, types] if free is None else [nodes], lr=config.learning_rate)
    back = np.stack([rows[:, 2], rows[:, 1] + num_types, rows[:, 0]], 1)
    asked = torch.from_numpy(np.concatenate([rows, back]))
    factors = ComplexFactors(nodes.detach(), types.detach())
    with use_one_thread():
        for epoch in range(1, epochs + 1):
            for batch in torch.split(torch.randperm(len(asked), generator=generator), config.batch_size):
                head, kind, tail = asked[batch].T
                known = nodes[head], types[kind], nodes[tail]
                loss = F.cross_entropy(multiply(known[0], known[1]) @ nodes.T, tail)
                cubes = [modulus(part).pow(3).sum() for part in known]
                loss = loss + config.penalty * torch.stack(cubes).sum() / len(batch)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                if free is not None and nodes.grad is not None:
                    nodes.grad[~free] = 0
                optimizer.step()
            if on_epoch is not None:
                on_epoch(epoch, factors)
    return factors


def modulus(a: Tensor) -> Tensor:
    """The moduli `[m, rank]` of complex rows."""
    real, imag = a.chunk(2, 1)
    return (real.square() + imag.square() + 1e-12).sqrt()
