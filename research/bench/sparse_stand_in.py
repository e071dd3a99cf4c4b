"""What the public codes of OCN, Neo-GNN, NBFNet and SUREL+ call of torch_sparse, torch_scatter and pygho, which are not
installed here; for `public_code.py` and `public_training.py`.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import torch
from torch import Tensor


class SparseTensor:
    """What the compared classes use of torch_sparse's and pygho's class of this name."""

    def __init__(self, row: Any = None, col: Any = None, value: Any = None, sparse_sizes: Any = None, **_: Any) -> None:
        index = torch.stack([row, col])
        filled = torch.ones(index.shape[1], dtype=torch.get_default_dtype()) if value is None else value
        self.coo_tensor = torch.sparse_coo_tensor(index, filled, tuple(sparse_sizes)).coalesce()

    @classmethod
    def from_edge_index(cls, index: Tensor, value: Any = None, sparse_sizes: Any = None, **_: Any) -> SparseTensor:
        return cls(index[0], index[1], value, sparse_sizes)

    @classmethod
    def from_torch_sparse_coo_tensor(cls, matrix: Tensor, has_value: bool = True) -> SparseTensor:
        matrix = matrix.coalesce()
        row, col = matrix.indices()
        return cls(row, col, matrix.values() if has_value else None, matrix.shape)

    @property
    def storage(self) -> Any:
        row, col = self.coo_tensor.indices()
        return types.SimpleNamespace(row=lambda: row, col=lambda: col)

    @property
    def values(self) -> Tensor:
        return self.coo_tensor.values()

    def coo(self) -> tuple[Tensor, Tensor, Tensor]:
        return *self.coo_tensor.indices(), self.values

    def size(self, dim: int) -> int:
        return self.coo_tensor.shape[dim]

    def sizes(self) -> list[int]:
        return list(self.coo_tensor.shape)

    def device(self) -> torch.device:
        return self.coo_tensor.device

    def sum(self, dim: int) -> Tensor:
        return torch.sparse.sum(self.coo_tensor, dim).to_dense()

    def mul(self, row: Tensor) -> SparseTensor:
        i, j, value = self.coo()
        return SparseTensor(i, j, value * row.flatten()[j], self.sizes())

    def to_torch_sparse_coo_tensor(self) -> Tensor:
        return self.coo_tensor

    def to_dense(self) -> Tensor:
        return self.coo_tensor.to_dense()

    def to_device(self, device: Any, **_: Any) -> SparseTensor:
        return self

    def fill_value_(self, value: float) -> SparseTensor:
        row, col, _ = self.coo()
        return SparseTensor(row, col, torch.full(row.shape, value), self.sizes())

    def to_symmetric(self) -> SparseTensor:
        row, col, _ = self.coo()
        both = torch.unique(torch.stack([torch.cat([row, col]), torch.cat([col, row])]), dim=1)
        return SparseTensor(both[0], both[1], None, self.sizes())

    def __getitem__(self, rows: Tensor) -> SparseTensor:
        return SparseTensor.from_torch_sparse_coo_tensor(self.coo_tensor.index_select(0, rows))

    def __matmul__(self, other: Tensor) -> Any:
        """A B of which the diagonal alone is asked for."""
        return types.SimpleNamespace(diag=lambda: (self.to_dense() * other.t()).sum(1))


class PygSparseTensor(SparseTensor):
    """pygho's: indices as one tensor."""

    def __init__(self, indices: Tensor, values: Tensor, shape: Any, **_: Any) -> None:
        super().__init__(indices[0], indices[1], values, shape)


def spmm_add(a: SparseTensor, x: Tensor) -> Tensor:
    out: Tensor = torch.sparse.mm(a.coo_tensor, x)
    return out


def scatter_add(x: Tensor, index: Tensor, dim: int = 0, dim_size: int | None = None) -> Tensor:
    from torch_geometric.utils import scatter

    out: Tensor = scatter(x, index, dim, dim_size)
    return out


def spsphadamard(a: SparseTensor, b: SparseTensor) -> Any:
    return types.SimpleNamespace(values=(a.to_dense() * b.to_dense()).flatten())


def stand_in(folder: Path) -> None:
    """Makes a checkout importable: its folder, and modules with the names that it imports and that are missing."""
    from torch_geometric.utils import scatter

    nothing = dict.fromkeys(("spmm_max", "spmm_mean", "matmul", "fill_diag", "sum", "mul", "spmm", "spspmm"))
    sparse = {"SparseTensor": SparseTensor, "spmm_add": spmm_add, **nothing}
    known: dict[str, dict[str, Any]] = {
        "torch_sparse": sparse,
        "torch_sparse.matmul": sparse,
        "torch_sparse.tensor": sparse,
        "torch_scatter": {"scatter": scatter, "scatter_add": scatter_add},
        "pygho": {"SparseTensor": PygSparseTensor},
        "pygho.backend": {},
        "pygho.backend.Spspmm": {"spsphadamard": spsphadamard, **nothing},
        "pygho.backend.Spmm": nothing,
        "pytorch_indexing": nothing,
    }
    for name, content in known.items():
        module = types.ModuleType(name)
        module.__dict__.update(content)
        sys.modules[name] = module
    sys.path.insert(0, str(folder))
