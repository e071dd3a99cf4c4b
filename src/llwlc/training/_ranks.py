"""Ranks: this process among several that train one network, on one machine or many, as `torchrun` starts them.

Rank 0 is the run: it plans, validates, keeps checkpoints and writes the folder. The others compute the bases of their
own links and take part in every step. A link belongs to a rank by its position among all links, and every rank draws
the same order of all links, so a batch is the same whatever the number of ranks; only the rounding of sums differs.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor
from torch import distributed as dist
from torch.distributed.rendezvous import rendezvous

from llwlc.errors import InputError

TIMEOUT = timedelta(hours=24)
"""The longest time that the others wait for rank 0 to plan or to validate; if a process dies, torchrun ends the others
at once.
"""
END_OF_TRAINING = -1
"""Stands for an epoch number: training is over."""


@dataclass(frozen=True)
class Ranks:
    """This process is number `rank` of `size`."""

    rank: int
    size: int

    @classmethod
    def join(cls, device: torch.device) -> Ranks:
        """Connects to the other processes; with GPUs, each process takes the GPU of its local rank."""
        if device.type == "cuda":
            place, there = int(os.environ.get("LOCAL_RANK", 0)), torch.cuda.device_count()
            if place >= there:
                raise InputError(
                    f"torchrun started more processes on this machine than it has GPUs ({there}): use --nproc-per-node"
                    f" {there}, or --device cpu"
                )
            torch.cuda.set_device(place)
        backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
        store, rank, size = next(rendezvous("env://", timeout=TIMEOUT))
        store = dist.PrefixStore(_met(store, rank, size), store)  # type: ignore[attr-defined]
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=TIMEOUT)
        return cls(rank, size)

    @staticmethod
    def leave() -> None:
        if dist.is_initialized():
            dist.destroy_process_group()

    @property
    def first(self) -> bool:
        return self.rank == 0

    def own(self, links: int) -> Tensor:
        """The positions of this rank's links among all links."""
        if links < self.size:
            raise InputError(
                f"{self.size} processes have {links} links to train on, fewer than one each: use fewer processes"
            )
        return torch.arange(self.rank, links, self.size)

    def part(self, index: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        """This rank's links of a batch `index [b]`, as positions among its own links, and their labels; if it has none,
        its first link with a label that does not count.
        """
        own = index % self.size == self.rank
        if not bool(own.any()):
            return torch.zeros(1, dtype=index.dtype), label.new_zeros(1, label.shape[1])
        return index[own] // self.size, label[own]

    def gather_sizes(self, sizes: Tensor, links: int) -> Tensor:
        """The sizes of all links, from each rank's own."""
        most = -(-links // self.size)
        own = torch.zeros(most, dtype=torch.long)
        own[: len(sizes)] = sizes.cpu()
        parts = [torch.zeros_like(own) for _ in range(self.size)]
        dist.all_gather(parts, own)
        return torch.stack(parts, 1).flatten()[:links]

    def total(self, value: Tensor) -> Tensor:
        """The sum over all ranks."""
        dist.all_reduce(value)
        return value

    def announce(self, about: Mapping[str, Any] | None, tensors: Mapping[str, Tensor] | None = None) -> None:
        """Rank 0 sends the others their task; None: there is nothing to do."""
        data = save({k: t.contiguous() for k, t in (tensors or {}).items()}, {"about": json.dumps(about)})
        message = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        dist.broadcast(torch.tensor([len(message)]), 0)
        dist.broadcast(message, 0)

    def receive(self) -> tuple[Any, dict[str, Tensor]]:
        """Receives what rank 0 announces."""
        length = torch.zeros(1, dtype=torch.long)
        dist.broadcast(length, 0)
        message = torch.zeros(int(length), dtype=torch.uint8)
        dist.broadcast(message, 0)
        data = message.numpy().tobytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        return json.loads(header["__metadata__"]["about"]), load(data)

    def begin(self, epoch: int | None, state: Iterable[Tensor]) -> int:
        """The epoch that begins, as rank 0 states it, or `END_OF_TRAINING`; copies the state of rank 0, which may have
        continued from a checkpoint, to all ranks.
        """
        announced = torch.tensor([END_OF_TRAINING if epoch is None else epoch])
        dist.broadcast(announced, 0)
        if int(announced) != END_OF_TRAINING:
            for tensor in state:
                dist.broadcast(tensor, 0)
        return int(announced)


def _met(store: Any, rank: int, size: int) -> str:
    """A token that all processes of this start share, and none of an earlier start: torchrun's store survives a
    restart, and gloo would find the addresses of ended processes in it.

    Each process registers under a number that no process had before, so that the answer is for it alone; rank 0 answers
    every registration, also of ended processes, until all others are there.
    """
    word, waiting = secrets.token_hex(16), set(range(1, size))
    if rank:
        store.set(f"llwlc/hello/{rank}", word)
        word = str(store.get(f"llwlc/welcome/{word}").decode())
        store.set(f"llwlc/here/{word}/{rank}", "")
        return word
    while waiting:
        for other in sorted(waiting):
            if store.check([f"llwlc/hello/{other}"]):
                store.set(f"llwlc/welcome/{store.get(f'llwlc/hello/{other}').decode()}", word)
        waiting = {other for other in waiting if not store.check([f"llwlc/here/{word}/{other}"])}
        time.sleep(0.02)
    return word
