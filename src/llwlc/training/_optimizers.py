"""torch's optimizers without the wrappers that import torch's compiler: one to two seconds of computing, for something
that is not used here. The steps are the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

UNWRAPPED = ("add_param_group", "state_dict", "load_state_dict", "zero_grad")


def _plain(name: str, of: type[torch.optim.Optimizer]) -> Any:
    return inspect.unwrap(getattr(of, name))


class UnwrappedAdam(torch.optim.Adam):
    """`torch.optim.Adam`, quick to make; its `step` is torch's, since `FlatAdam` takes the steps."""

    add_param_group, state_dict, load_state_dict, zero_grad = (_plain(name, torch.optim.Adam) for name in UNWRAPPED)


class UnwrappedAdamW(torch.optim.AdamW):
    """`torch.optim.AdamW`, quick to make and to use."""

    add_param_group, state_dict, load_state_dict, zero_grad = (_plain(name, torch.optim.AdamW) for name in UNWRAPPED)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """A step against the gradients of the parameters."""
        found: float | None = inspect.unwrap(torch.optim.AdamW.step)(self, closure)
        return found
