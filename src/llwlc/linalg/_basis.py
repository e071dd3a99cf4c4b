"""Eigenbasis: the result of every function that computes a constrained eigenbasis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from llwlc._support.files import write_tensors
from llwlc._support.ragged import Slots, expand, pad, pointer, slots
from llwlc.errors import InputError
from llwlc.linalg._tape import Tape

FIELDS = ("values", "vectors", "mask", "residual", "ptr")
Selection = int | slice | Sequence[int] | np.ndarray | Tensor


@dataclass(frozen=True, eq=False, repr=False)
class Eigenbasis:
    """Ritz pairs of PLP for a ragged batch of B graphs with N nodes in all. κ is the number of columns; a column is
    *live* where the recurrence found a direction, *dead* behind the last one.

    Shapes: `values [B, κ]` ascending, live columns first, 0 where dead; `vectors [N, κ]` ragged rows, zero where dead;
    `mask [B, κ]`, true where live; `residual [B, κ]` = ‖PLPv − λv‖, 0 where dead; `ptr [B + 1]`, graph b owns the rows
    `ptr[b]` to `ptr[b + 1]`. `tape`, where L, C or the start want gradients, is what `spectral_filter` needs for them;
    the five tensors themselves carry none, since a truncated basis is not a smooth function of L and C.

    >>> from llwlc.linalg._lanczos import constrained_lanczos
    >>> basis = constrained_lanczos(torch.diag(torch.tensor([1.0, 2.0, 3.0])), steps=3, start=torch.ones(3))
    >>> basis.num_graphs, basis.steps, basis.values.round(decimals=6).tolist()
    (1, 3, [[1.0, 2.0, 3.0]])

    The graphs of a batch are taken by `basis[2]`, `basis[3:7]`, a mask or numbers, and put together by `concat`:

    >>> Eigenbasis.concat([basis, basis])[1:].num_graphs
    1
    """

    values: Tensor
    vectors: Tensor
    mask: Tensor
    residual: Tensor
    ptr: Tensor
    tape: Tape | None = field(default=None, repr=False)

    @classmethod
    def uniform(cls, values: Tensor, vectors: Tensor, mask: Tensor, residual: Tensor) -> Eigenbasis:
        """A basis whose graphs all have the same number of rows, zero rows where a graph had fewer: its layout is known
        without reading from the device.

        Args:
            values: `[B, κ]`.
            vectors: `[B · width, κ]`.
            mask: `[B, κ]`.
            residual: `[B, κ]`.
        """
        graphs = len(values)
        width = len(vectors) // max(graphs, 1)
        basis = cls(values, vectors, mask, residual, torch.arange(graphs + 1, device=values.device) * width)
        basis.__dict__["slots"] = Slots(None, graphs, width)  # where `cached_property` stores its value
        return basis

    @classmethod
    def from_batch(cls, data: Any, name: str = "basis") -> Eigenbasis:
        """The basis that `llwlc.transforms.AddConstrainedBasis` stored in a PyG `Data` or `Batch`, on its device.

        Args:
            data: a `Data` or `Batch` that the transform was applied to, its graphs with N rows in all.
            name: the transform's `name`.

        >>> from llwlc.transforms import AddConstrainedBasis
        >>> from torch_geometric.data import Batch, Data
        >>> ring = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), num_nodes=3)
        >>> batch = Batch.from_data_list([AddConstrainedBasis(steps=3)(ring)] * 2)
        >>> Eigenbasis.from_batch(batch).ptr.tolist()
        [0, 3, 6]
        """
        tensors: dict[str, Any] = {key: getattr(data, f"{name}_{key}", None) for key in (*FIELDS[:-1], "sizes")}
        missing = [f"{name}_{key}" for key, x in tensors.items() if not isinstance(x, Tensor)]
        if missing:
            if isinstance(data, list | tuple):
                raise InputError("a Data or Batch is needed, got a list: Batch.from_data_list(list) makes one of it")
            keys = data.keys() if callable(getattr(data, "keys", None)) else []
            raise InputError(
                f"{type(data).__name__} has no {missing[0]}, it has {', '.join(sorted(map(str, keys))) or 'nothing'}:"
                f" apply AddConstrainedBasis(name={name!r}) to the data first, as transform= or pre_transform= of its"
                " dataset"
            )
        sizes = tensors.pop("sizes")
        return cls(**tensors, ptr=pointer(sizes))._checked(f"{type(data).__name__}'s {name}")

    @staticmethod
    def concat(parts: Sequence[Eigenbasis]) -> Eigenbasis:
        """Several batches as one, with gradients where they have any. Where one has fewer columns than others, it gets
        dead ones.

        Args:
            parts: one or more bases, on one device and of one dtype.
        """
        parts = list(parts)
        if not parts or not all(isinstance(p, Eigenbasis) for p in parts):
            given = ", ".join(sorted({type(p).__name__ for p in parts})) or "none"
            raise InputError(f"concat needs a list of one or more Eigenbasis, got {given}")
        kinds = sorted({f"{p.values.dtype} on {p.values.device}" for p in parts})
        if len(kinds) > 1:
            raise InputError(
                f"bases to be put together differ: {' and '.join(kinds)}; basis.to(device, dtype) moves one"
            )
        width = max(p.steps for p in parts)

        def joined(name: str) -> Tensor:
            each = (getattr(p, name) for p in parts)
            return torch.cat([torch.nn.functional.pad(x, (0, width - x.shape[1])) for x in each])

        tensors: dict[str, Any] = {name: joined(name) for name in FIELDS[:-1]}
        ptr = pointer(torch.cat([p.ptr.diff() for p in parts]))
        return Eigenbasis(**tensors, ptr=ptr, tape=Tape.concat([p.tape for p in parts]))

    def rows(self, which: Selection) -> Tensor:
        """Where the rows of `basis[which]` are in this basis, `[M]`: what other values of its rows are taken by.

        Args:
            which: the number of a graph, a slice, a mask or numbers.

        >>> from llwlc.linalg._lanczos import constrained_lanczos
        >>> basis = constrained_lanczos(torch.diag(torch.tensor([1.0, 2.0])), steps=2)
        >>> Eigenbasis.concat([basis] * 3).rows([2, 0]).tolist()
        [4, 5, 0, 1]
        """
        graphs = _numbers(which, self.num_graphs, self.ptr.device)
        return expand(self.ptr[graphs], self.ptr.diff()[graphs])[0]

    def __getitem__(self, which: Selection) -> Eigenbasis:
        graphs = _numbers(which, self.num_graphs, self.ptr.device)
        sizes, rows = self.ptr.diff()[graphs], self.rows(graphs)
        tape = None if self.tape is None else self.tape.select(graphs)
        tensors: dict[str, Any] = {name: getattr(self, name)[graphs] for name in ("values", "mask", "residual")}
        return Eigenbasis(**tensors, vectors=self.vectors[rows], ptr=pointer(sizes), tape=tape)

    def __len__(self) -> int:
        return self.num_graphs

    def __repr__(self) -> str:
        tape = ", with gradients" if self.tape is not None else ""
        return f"Eigenbasis({self.num_graphs} graphs, {len(self.vectors)} rows, {self.steps} columns{tape})"

    def __iter__(self) -> Iterator[Eigenbasis]:
        return (self[b] for b in range(self.num_graphs))

    def to(
        self, device: torch.device | str | torch.dtype | None = None, dtype: torch.dtype | None = None
    ) -> Eigenbasis:
        """A copy on another device, with real numbers of this type; gradients are kept.

        Args:
            device: "cpu", "cuda" or a torch device; None leaves it where it is.
            dtype: float32 or float64; None keeps it.
        """
        if isinstance(device, torch.dtype):  # torch's Tensor.to takes either first
            device, dtype = None, device
        device = self.values.device if device is None else device
        dtype = self.values.dtype if dtype is None else dtype
        values, vectors, residual = (x.to(device, dtype) for x in (self.values, self.vectors, self.residual))
        mask = self.mask.to(device)
        layout = self.__dict__.get("slots")
        if layout is not None and layout.at is None:
            copy = Eigenbasis.uniform(values, vectors, mask, residual)
        else:
            copy = Eigenbasis(values, vectors, mask, residual, self.ptr.to(device))
        if self.tape is not None:
            object.__setattr__(copy, "tape", self.tape.to(device))
        return copy

    def detach(self) -> Eigenbasis:
        """The same numbers without what gradients need."""
        return replace(self, tape=None)

    def save(self, path: str | Path) -> None:
        """Writes the basis to a safetensors file. One that carries gradients has to be detached first, as a file holds
        numbers alone.

        Args:
            path: the file.
        """
        if self.tape is not None:
            raise InputError("this basis carries gradients, which a file cannot hold: save basis.detach()")
        write_tensors(Path(path), {name: getattr(self, name).cpu() for name in FIELDS}, {"llwlc": "eigenbasis"})

    @staticmethod
    def load(path: str | Path) -> Eigenbasis:
        """The basis of a file that `save` wrote, on the CPU.

        Args:
            path: the file.

        >>> import tempfile
        >>> from llwlc.linalg._lanczos import constrained_lanczos
        >>> basis = constrained_lanczos(torch.diag(torch.tensor([1.0, 2.0])), steps=2)
        >>> file = Path(tempfile.mkdtemp()) / "basis.safetensors"
        >>> basis.save(file)
        >>> torch.equal(Eigenbasis.load(file).values, basis.values)
        True
        """
        if not Path(path).is_file():
            raise InputError(f"there is no file {path}: basis.save(path) writes one")
        try:
            tensors: dict[str, Any] = load_file(path)
        except SafetensorError as error:
            raise InputError(
                f"{path} is not a safetensors file, or damaged ({error}): write it again by basis.save"
            ) from error
        if sorted(tensors) != sorted(FIELDS):
            raise InputError(f"{path} holds {', '.join(sorted(tensors)) or 'nothing'}, not an Eigenbasis")
        return Eigenbasis(**tensors)._checked(str(path))

    def _checked(self, where: str) -> Eigenbasis:
        """Itself; refuses tensors that do not belong together."""
        shape, rows = self.values.shape, len(self.vectors)
        fits = (
            self.values.ndim == self.vectors.ndim == 2
            and self.mask.shape == self.residual.shape == shape
            and self.mask.dtype == torch.bool
            and self.vectors.shape[1] == shape[1]
            and self.ptr.shape == (shape[0] + 1,)
            and self.ptr.dtype == torch.long
        )
        # on a GPU the pointer would have to be waited for
        if fits and not self.ptr.is_cuda:
            fits = int(self.ptr[0]) == 0 and int(self.ptr[-1]) == rows and bool((self.ptr.diff() >= 0).all())
        if not fits:
            shapes = ", ".join(f"{name} {tuple(getattr(self, name).shape)}" for name in FIELDS)
            raise InputError(
                f"the tensors of {where} do not belong together ({shapes}; {rows} rows): they were changed after the"
                " basis was made, make it again"
            )
        return self

    @property
    def num_graphs(self) -> int:
        """B, the number of graphs."""
        return len(self.ptr) - 1

    @property
    def steps(self) -> int:
        """κ, the number of columns, live or dead."""
        return self.values.shape[1]

    @cached_property
    def graph(self) -> Tensor:
        """The graph that each row belongs to, `[N]`: what PyG calls `batch`."""
        return torch.repeat_interleave(torch.arange(self.num_graphs, device=self.ptr.device), self.ptr.diff())

    @cached_property
    def slots(self) -> Slots:
        """The positions of its rows in a padded layout."""
        return slots(self.ptr)

    @cached_property
    def padded(self) -> Tensor:
        """The vectors `[B, width, κ]`, zero where a graph has no row."""
        return pad(self.vectors, self.slots)


def _numbers(which: Selection, count: int, device: torch.device) -> Tensor:
    """The numbers of the graphs that an index, slice, mask or list of numbers selects."""
    if isinstance(which, slice):
        return torch.tensor(range(count)[which], dtype=torch.long, device=device)
    try:
        index = torch.as_tensor(which, device=device)
    except (TypeError, ValueError, RuntimeError):
        index = torch.empty(0)
    index = index.long() if isinstance(which, list | tuple) and not len(which) else index
    if index.dtype == torch.bool:
        if index.shape != (count,):
            raise InputError(f"a mask must have one entry for each of the {count} graphs, got {tuple(index.shape)}")
        return index.nonzero()[:, 0]
    if index.is_floating_point() or index.is_complex() or index.ndim > 1:
        raise InputError(
            f"a basis is indexed by the numbers of its {count} graphs, a slice of them or a mask, got {which!r}; rows"
            " and columns are in basis.vectors"
        )
    index = index.reshape(-1).long()
    outside = (index < -count) | (index >= count)
    if bool(outside.any()):
        raise InputError(f"there is no graph {int(index[outside][0])} in a basis of {count}: 0 to {count - 1}")
    return torch.where(index < 0, index + count, index)
