"""Start blocks, before projection, in float64."""

from __future__ import annotations

import torch
from torch import Tensor

from llwlc._support import counter_hash
from llwlc.bases._starts import STARTS, StartInputs
from llwlc.errors import InputError


def make_batch_start(start: str | Tensor, inputs: StartInputs) -> Tensor:
    """The block `[N, b]` of a named start, or of a signal `[N]` or a block that was given."""
    n, known = inputs.subs.num_nodes, f"start must be {', '.join(map(repr, STARTS))} or a tensor [N] or [N, b]"
    if isinstance(start, str):
        if start not in STARTS:
            raise InputError(f"{known}, got {start!r}")
        start = STARTS[start].load()(inputs)
    if not isinstance(start, Tensor):
        raise InputError(f"{known}, got {type(start).__name__}: torch.as_tensor makes a tensor of it")
    block = start.double()[:, None] if start.ndim == 1 else start.double()
    if block.ndim != 2 or block.shape[0] != n or block.shape[1] < 1:
        raise InputError(f"start must have a row for each of the {n} nodes, [N] or [N, b], got {tuple(start.shape)}")
    return block


def query(inputs: StartInputs) -> Tensor:
    subs = inputs.subs
    if subs.roots == "graph":
        raise InputError(
            "start='query' begins at the ends of a pair or at a node, and these are whole graphs: give start='random',"
            " 'constraint' or a tensor [N]; or complete=True, which needs no start; or make subgraphs, with roots=..."
        )
    ends = torch.stack([subs.u, subs.v] if subs.roots == "link" else [subs.u], 1)
    return torch.eq(torch.arange(subs.num_nodes, device=subs.ptr.device)[:, None], ends[subs.graph]).double()


def random(inputs: StartInputs) -> Tensor:
    return counter_hash.normal(inputs.subs.draws(inputs.seed, inputs.epoch, counter_hash.START_STREAM))[:, None]


def constraint(inputs: StartInputs) -> Tensor:
    if inputs.columns.shape[1] == 0:
        raise InputError(
            "start='constraint' is P L C 1 and needs constraints: pass cons (constraints=... of a transform), or"
            " start='query'"
        )
    return inputs.operator() @ inputs.columns.sum(1, keepdim=True)
