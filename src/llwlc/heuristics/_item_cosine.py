"""The cosine of items by the users that they share, summed over the items of a user."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc._support.compiler import in_order
from llwlc._support.threads import choose_num_threads, run_over_links
from llwlc.graph._graph import Graph
from llwlc.heuristics._implicit_als import require_sides
from llwlc.heuristics._local_walks import LONGEST_ROW, shorten_rows
from llwlc.heuristics._pair_statistics import check_inside

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def item_cosine(graph: Graph, pairs: Tensor, *, longest_row: int = LONGEST_ROW) -> Tensor:
    """Σ_{j ∈ N(u)} |N(i) ∩ N(j)| / √(d_i d_j) of user u and item i, on the graph without their link: how similar the
    item is to those of the user. 0 for two nodes of one side.

    Args:
        graph: the links that are known, bipartite; items are the side of the larger numbers, that of the second column.
        pairs: `[m, 2]`, or any shape `[..., 2]`.
        longest_row: maximum number of neighbours of a node that are used, those of lowest degree.

    Returns:
        Scores `[m]`, or `[...]`.

    >>> graph = Graph.from_edges(torch.tensor([[0, 3], [1, 3], [1, 4], [2, 4]]))
    >>> item_cosine(graph, torch.tensor([[0, 4], [0, 3], [0, 1]])).round(decimals=4).tolist()
    [0.5, 0.0, 0.0]
    """
    sides = require_sides(graph)
    flat = check_inside(pairs.reshape(-1, 2).cpu().numpy(), graph.num_nodes)
    indptr, indices = graph.indptr.cpu().numpy(), graph.indices.cpu().numpy()
    rows = shorten_rows(indptr, indices, longest_row)
    degree, code, out, n = np.diff(indptr), sides.code, np.zeros(len(flat)), graph.num_nodes

    def make_work() -> Callable[[int, int], None]:
        weight = np.zeros(n)
        return lambda begin, end: _fill(
            *rows, indptr, indices, degree, code, flat[begin:end], weight, out[begin:end]
        )  # fmt: skip

    run_over_links(len(flat), choose_num_threads(len(flat), 8 * n), make_work)
    return torch.from_numpy(out).reshape(pairs.shape[:-1])


@in_order
def _fill(
    rows: Integers,
    columns: Integers,
    indptr: Integers,
    indices: Integers,
    degree: Integers,
    code: Integers,
    pairs: Integers,
    weight: Floats,
    out: Floats,
) -> None:
    # weight of an item j: 1/√d_j where the user has it, else 0
    last = -1
    for p in range(len(pairs)):
        user, item = pairs[p, 0], pairs[p, 1]
        if code[user] == 1:
            user, item = item, user
        if code[user] != 0 or code[item] != 1:
            continue
        if user != last:
            if last >= 0:
                for j in indices[indptr[last] : indptr[last + 1]]:
                    weight[j] = 0
            for j in indices[indptr[user] : indptr[user + 1]]:
                weight[j] = 1 / np.sqrt(degree[j])
            last = user
        own = degree[item] - (weight[item] > 0)
        if own == 0:
            continue
        total = 0.0
        for w in columns[rows[item] : rows[item + 1]]:
            if w != user:
                for j in columns[rows[w] : rows[w + 1]]:
                    if j != item:
                        total += weight[j]
        out[p] = total / np.sqrt(own)
    if last >= 0:
        for j in indices[indptr[last] : indptr[last + 1]]:
            weight[j] = 0
