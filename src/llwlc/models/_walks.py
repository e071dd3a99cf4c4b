"""A and A² of the messages in one sparse matrix: who is linked, and how many walks of two steps join two nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from llwlc._support.ragged import expand
from llwlc.models._messages import Messages


class Walks(NamedTuple):
    """2 A² + A with its diagonal, of integers: `indptr [n + 1]`, `key [e]` (row · n + column, ascending) and
    `code [e]`, whose lowest bit is A and whose others are A².
    """

    indptr: Tensor
    key: Tensor
    code: Tensor

    @property
    def num_nodes(self) -> int:
        return len(self.indptr) - 1

    def rows(self, nodes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The columns and codes of each node's row, concatenated, and the position of the node in `nodes`."""
        at, owner = expand(self.indptr[nodes], self.indptr[nodes + 1] - self.indptr[nodes])
        return self.key[at] % self.num_nodes, self.code[at], owner

    def find(self, u: Tensor, v: Tensor) -> Tensor:
        """The code of each pair, `[k]`."""
        if not len(self.key):
            return torch.zeros_like(u, dtype=self.code.dtype)
        key = u * self.num_nodes + v
        at = torch.searchsorted(self.key, key).clamp(max=len(self.key) - 1)
        return torch.where(torch.eq(self.key[at], key), self.code[at], 0)


def two_step_walks(messages: Messages) -> Walks:
    """The walks of the messages, multiplied on the CPU once and kept with them."""
    kept = messages.kept.get("walks")
    if kept is None:
        n = messages.num_nodes
        row, col = messages.row.cpu().numpy(), messages.col.cpu().numpy()
        a = scipy.sparse.csr_array((np.ones(len(row), dtype=np.int32), (row, col)), shape=(n, n))
        code = scipy.sparse.csr_array(a + 2 * (a @ a))
        code.sort_indices()
        rows = np.repeat(np.arange(n), np.diff(code.indptr))
        parts = code.indptr.astype(np.int64), rows * n + code.indices, code.data.astype(np.int32)
        kept = messages.kept["walks"] = Walks(*(torch.as_tensor(x, device=messages.device) for x in parts))
    walks: Walks = kept
    return walks
