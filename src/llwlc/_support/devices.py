"""The device that tensors are on."""

from __future__ import annotations

import torch

from llwlc.errors import InputError

DEVICE_TYPES = ("cpu", "cuda")


def pick_device(name: str) -> torch.device:
    """The device of this name; refused where this package cannot run on it or it is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in DEVICE_TYPES:
        raise InputError(f"no device is called {name!r}: use auto, cpu or cuda")
    if device.type == "cpu":
        return torch.device("cpu")
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not there:
        raise InputError("device cuda was asked for, but there is none here: use auto or cpu")
    if device.index is not None and device.index >= there:
        raise InputError(f"device {name} was asked for, but there are {there} of them here: cuda:0 is the first")
    return device
