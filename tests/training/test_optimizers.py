"""Optimizers without wrappers take torch's own steps, bit by bit, and leave torch's compiler alone."""

import subprocess
import sys

import pytest
import torch

from llwlc.training._optimizers import UnwrappedAdam, UnwrappedAdamW

PROGRAM = """
import sys, torch
from llwlc.training._optimizers import {name}
weight = torch.ones(3, requires_grad=True)
optimizer = {name}([weight], fused=True)
optimizer.zero_grad()
weight.sum().backward()
{step}
optimizer.load_state_dict(optimizer.state_dict())
print("torch._dynamo" in sys.modules)
"""


@pytest.mark.parametrize(
    ("ours", "torchs"), [(UnwrappedAdam, torch.optim.Adam), (UnwrappedAdamW, torch.optim.AdamW)], ids=["adam", "adamw"]
)
def test_the_steps_are_torch_s(ours, torchs):
    start = torch.randn(2, 7, 3, generator=torch.Generator().manual_seed(0))
    weights = [[part.clone().requires_grad_() for part in start] for _ in range(2)]
    optimizers = [kind(own, lr=0.1, weight_decay=0.3) for kind, own in zip((ours, torchs), weights, strict=True)]
    for turn in range(6):
        for own, optimizer in zip(weights, optimizers, strict=True):
            optimizer.param_groups[0]["lr"] = 0.1 / (1 + turn)
            optimizer.zero_grad()
            (own[0].sin() * own[1]).sum().backward()
            optimizer.step()
        assert all(torch.equal(a, b) for a, b in zip(*weights, strict=True))
    assert not torch.equal(weights[0][0], start[0])
    optimizers[0].load_state_dict(optimizers[1].state_dict())
    assert optimizers[0].state_dict()["param_groups"] == optimizers[1].state_dict()["param_groups"]


@pytest.mark.parametrize(("name", "step"), [("UnwrappedAdam", ""), ("UnwrappedAdamW", "optimizer.step()")])
def test_making_and_using_them_imports_no_compiler(name, step):
    program = PROGRAM.format(name=name, step=step)
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
