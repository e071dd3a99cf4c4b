"""Bytes, JSON and tensors, altered at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

Rng = np.random.Generator
TOKENS = [
    *(
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b'"',
        b'""',
        b"'",
        b",",
        b"\t",
        b";",
        b"\n",
        b"\r\n",
        b"\r",
        b" ",
        b"#",
        b"%",
        b"\\",
    ),
    *(
        b"nan",
        b"inf",
        b"-inf",
        b"1e39",
        b"1e-46",
        b"-1",
        b"0",
        b"99999999999999999999",
        b"null",
        b"true",
        b"[",
        b"{",
        b"}",
    ),
    *(
        b"=cmd()",
        b"\x1b[2J",
        b"[/x]",
        "雪".encode(),
        b"\xed\xa0\x80",
        b"PAR1",
        b"\x1f\x8b",
        b"PK\x03\x04",
        b"x" * 140_000,
    ),
]
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 10**9, -(10**9), 2**63, 10**30, 0.5, -0.0, 1e308, float("nan"), float("inf")),
    *(
        "",
        "x",
        "nan",
        "\x1b[2J",
        "\ud800",
        "neumann",
        "none",
        "..",
        "x" * 10_000,
        [],
        {},
        [[]],
        [1] * 100,
        {"a": {"b": {}}},
    ),
]


def pick(rng: Rng, choices: list[Any]) -> Any:
    return choices[int(rng.integers(len(choices)))]


def mutated_bytes(data: bytes, rng: Rng, times: int | None = None) -> bytes:
    """A few small changes: flipped bits, lost, doubled and inserted pieces, a cut."""
    found = bytearray(data)
    for _ in range(int(rng.integers(1, 5)) if times is None else times):
        at = int(rng.integers(len(found) + 1))
        end = min(len(found), at + int(rng.integers(1, 40)))
        kind = int(rng.integers(7))
        if kind <= 1 and found:
            found[min(at, len(found) - 1)] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            del found[at:end]
        elif kind == 3:
            found[at:at] = found[at:end] * int(rng.integers(1, 4))
        elif kind == 4:
            found[at:at] = pick(rng, TOKENS)
        elif kind == 5:
            found[at:end] = pick(rng, TOKENS)
        elif rng.random() < 0.3:
            del found[at:]
    return bytes(found)


def mutated_json(value: Any, rng: Rng) -> Any:
    """One entry, anywhere inside, replaced, removed or doubled under another name."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = pick(rng, list(value))
        kind = rng.random()
        if kind < 0.1:
            return {k: v for k, v in value.items() if k != key}
        if kind < 0.15:
            return value | {f"{key}_": value[key]}
        return value | {key: mutated_json(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = int(rng.integers(len(value)))
        return [*value[:at], mutated_json(value[at], rng), *value[at + 1 :]]
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.4:
        return value * pick(rng, [-1, 2, 1000, 10**12, 0.5])
    return pick(rng, VALUES)


def mutated_tensors(tensors: dict[str, Tensor], rng: Rng) -> dict[str, Tensor]:
    """One tensor with another entry, type, shape or length, or none."""
    name = pick(rng, sorted(tensors))
    tensor = tensors[name].clone()
    kind = int(rng.integers(9))
    if kind == 0:
        return {k: t for k, t in tensors.items() if k != name}
    if kind == 1:
        return tensors | {
            name: tensor.to(pick(rng, [torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8]))
        }
    if kind == 2 and tensor.ndim:
        return tensors | {name: tensor[: int(rng.integers(len(tensor) + 1))].clone()}
    if kind == 3:
        return tensors | {name: torch.cat([tensor.flatten()] * 2)}
    if kind == 4:
        return tensors | {name: tensor.reshape(1, *tensor.shape)}
    if kind == 5 and tensor.ndim:
        return tensors | {name: tensor.flip(0).clone()}
    if kind == 6:
        return tensors | {f"{name}_": tensor}
    if kind == 7 and tensor.is_floating_point():
        return tensors | {name: tensor * pick(rng, [-1, 1e10, 1e30, 1e37, 1e-30, 1e300])}
    if tensor.numel():
        values = [0, -1, 1, 7, 1 << 40, -(1 << 60)]
        values = [*values, float("nan"), float("inf"), 1e30] if tensor.is_floating_point() else values
        wide = tensor.dtype in (torch.int64, torch.float32, torch.float64)
        tensor.view(-1)[int(rng.integers(tensor.numel()))] = pick(rng, values) if wide else 1
    return tensors | {name: tensor}
