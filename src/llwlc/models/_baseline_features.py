"""Raw node features as methods read them: sparse ones stay sparse, dropout included."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch.nn import Parameter
from torch.nn import functional as F

from llwlc.models._messages import csr

SPARSE_SHARE = 0.25  # dense features with fewer non-zeros than this are multiplied as sparse ones


class DeviceFeatures:
    """Features `[n, F]` of all nodes on a device, and their product with a matrix of weights."""

    def __init__(
        self, x: Tensor | scipy.sparse.csr_array, device: torch.device | str, *, row_sums: bool = False
    ) -> None:
        """`row_sums`: every row is divided by its sum, as DGL's and SEAL's citation graphs are."""
        self.shape: tuple[int, int] = (x.shape[0], x.shape[1])
        self.device = torch.device(device)
        dense = x.float() if isinstance(x, Tensor) else None
        if row_sums:
            x = _over_sums(x)
            dense = x if isinstance(x, Tensor) else None
        if dense is not None and float((dense != 0).float().mean()) < SPARSE_SHARE:
            x, dense = scipy.sparse.csr_array(dense.numpy()), None
        self.dense = None if dense is None else dense.to(self.device)
        if dense is None:
            self._keep_sparse(scipy.sparse.csr_array(x))

    def _keep_sparse(self, x: Any) -> None:
        """Stores the matrix and its transpose: the backward pass multiplies by the transpose."""
        x.sort_indices()
        place = scipy.sparse.csr_array((np.arange(x.nnz), x.indices, x.indptr), shape=x.shape).tocsc()

        def there(a: Any) -> Tensor:
            return torch.as_tensor(np.asarray(a, dtype=np.int64), device=self.device)

        self.forth = there(x.indptr), there(x.indices)
        self.back, self.order = (there(place.indptr), there(place.indices)), there(place.data)
        self.value = torch.as_tensor(x.data, dtype=torch.float32, device=self.device)

    def move(self, device: torch.device | str) -> None:
        """Moves everything to another device."""
        self.device = torch.device(device)
        if self.dense is not None:
            self.dense = self.dense.to(device)
            return
        self.forth = self.forth[0].to(device), self.forth[1].to(device)
        self.back = self.back[0].to(device), self.back[1].to(device)
        self.order, self.value = self.order.to(device), self.value.to(device)

    def product(self, weight: Tensor, dropout: float = 0.0) -> Tensor:
        """dropout(X) W, `[n, d]`; dropout of a sparse matrix's entries is dropout of all its entries."""
        if self.dense is not None:
            return F.dropout(self.dense.to(weight.dtype), dropout, dropout > 0) @ weight
        value = F.dropout(self.value.to(weight.dtype), dropout, dropout > 0)
        n, width = self.shape
        forth = csr(*self.forth, value, (n, width))
        back = csr(*self.back, value[self.order], (width, n))
        out: Tensor = _Product.apply(forth, back, weight)  # type: ignore[no-untyped-call]
        return out


class _Product(torch.autograd.Function):
    """X W of a sparse X without gradient; the transpose is passed in, since torch would compute it at every step."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, transposed: Tensor, weight: Tensor) -> Tensor:
        ctx.transposed = transposed
        return x @ weight

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, Tensor]:
        return None, None, ctx.transposed @ grad.contiguous()


class BaselineInput(torch.nn.Module):
    """The first rows of every node, `[n, out_channels]`: dropout(X) W + b of its features, and where there are none (or
    `embedding` is set) a learned row of its own, initialised orthogonal.

    With `bias` it is initialised as `torch.nn.Linear`, without as the matrix of a GCN (Glorot), as in the published
    codes.
    """

    def __init__(
        self,
        num_nodes: int,
        in_channels: int,
        out_channels: int,
        *,
        embedding: int = 0,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if not in_channels and not embedding:
            embedding = out_channels
        self.dropout = dropout
        self.weight = Parameter(torch.empty(in_channels, out_channels)) if in_channels else None
        self.bias = Parameter(torch.empty(out_channels)) if in_channels and bias else None
        self.embedding = Parameter(torch.empty(num_nodes, embedding)) if embedding else None
        self.mix = Parameter(torch.empty(embedding, out_channels)) if embedding not in (0, out_channels) else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.weight is not None and self.bias is not None:
            bound = 1 / math.sqrt(len(self.weight))
            torch.nn.init.uniform_(self.weight, -bound, bound)
            torch.nn.init.uniform_(self.bias, -bound, bound)
        elif self.weight is not None:
            torch.nn.init.xavier_uniform_(self.weight)
        if self.embedding is not None:
            torch.nn.init.orthogonal_(self.embedding)
        if self.mix is not None:
            torch.nn.init.xavier_uniform_(self.mix)

    def forward(self, features: DeviceFeatures | None) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        parts = []
        if self.weight is not None and features is not None:
            product = features.product(self.weight, dropout)
            parts.append(product if self.bias is None else product + self.bias)
        if self.embedding is not None:
            own = F.dropout(self.embedding, dropout, dropout > 0)
            parts.append(own if self.mix is None else own @ self.mix)
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _over_sums(x: Tensor | scipy.sparse.csr_array) -> Tensor | scipy.sparse.csr_array:
    if isinstance(x, Tensor):
        total = x.float().sum(1, keepdim=True)
        return x.float() / torch.where(total == 0, torch.ones_like(total), total)
    sums = np.asarray(x.sum(1), dtype=np.float64).ravel()
    return scipy.sparse.csr_array(x * np.divide(1.0, sums, out=np.ones_like(sums), where=sums != 0)[:, None])
