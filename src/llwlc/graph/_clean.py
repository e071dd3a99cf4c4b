"""From ends of pairs to a clean Graph, with an account of what was dropped and merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from llwlc._support.repeated_warnings import warn
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.graph._report import GraphReport, GraphWarning, is_bipartite, looks_directed


def assemble_graph(
    source: np.ndarray,
    target: np.ndarray,
    *,
    num_nodes: int,
    weight: np.ndarray | None = None,
    time: np.ndarray | None = None,
    x: Tensor | scipy.sparse.csr_array | None = None,
    names: Sequence[str] | None = None,
    directed: bool | None = None,
    notes: tuple[str, ...] = (),
    keep_direction: bool = False,
) -> Graph:
    """A graph with its report, from the ends `[m]` of pairs in any direction; `directed` as the input says, None where
    it does not; `keep_direction`: whether the graph is to know which way its links point.

    >>> assemble_graph(np.array([0, 1, 1, 2]), np.array([1, 0, 2, 2]), num_nodes=3).report.line
    '4 rows gave 3 nodes and 2 edges: 1 self-loop dropped, 1 reversed duplicate merged.'
    """
    values = torch.empty(0) if x is None else x if isinstance(x, Tensor) else torch.from_numpy(x.data)
    if not torch.isfinite(values).all():
        raise InputError(f"{int((~torch.isfinite(values)).sum())} values of x are NaN or infinite: fill them in")
    proper = source != target
    s, t = source[proper], target[proper]
    one_way, inverse = np.unique(s * num_nodes + t, return_inverse=True)
    pairs = np.unique(np.minimum(s, t) * num_nodes + np.maximum(s, t))
    both = len(one_way) - len(pairs)
    mirrored = 0 < both == len(pairs) and not keep_direction
    if mirrored and weight is not None:
        total = np.bincount(inverse, weights=weight[proper])
        back = np.searchsorted(one_way, one_way % num_nodes * num_nodes + one_way // num_nodes)
        mirrored = bool(np.allclose(total, total[back], rtol=1e-6))
        weight = weight / 2 if mirrored else weight  # from_edges adds the two directions up again
    graph = Graph.from_edges(
        np.stack([source, target], 1),
        num_nodes=num_nodes,
        weight=None if weight is None else torch.from_numpy(weight),
        time=None if time is None else torch.from_numpy(time),
        x=x,
        names=names,
        directed=keep_direction,
    )
    report = GraphReport(
        rows=len(source),
        nodes=num_nodes,
        edges=graph.num_edges,
        self_loops=int((~proper).sum()),
        duplicates=len(s) - len(one_way),
        reversed_pairs=both,
        isolated=int((graph.degree == 0).sum()),
        mirrored=mirrored,
        weighted=weight is not None,
        timed=time is not None,
        directed=not keep_direction and looks_directed(num_edges=graph.num_edges, both=both, declared=directed),
        keeps_direction=keep_direction,
        bipartite=is_bipartite(graph.indptr.numpy(), graph.indices.numpy()),
        notes=notes,
    )
    return replace(graph, weight=None if graph.weight is None else graph.weight.float(), report=report)


def issue_warnings(graph: Graph) -> Graph:
    """Issues each warning of the graph's report once, and returns the graph."""
    for text in graph.report.warnings if graph.report else ():
        warn(text, GraphWarning, stacklevel=4)
    return graph


MIN_WEIGHT, MAX_WEIGHT = 1e-15, 1e15
"""The range of weights: they are kept in single precision, where their squares and sums must neither overflow nor
vanish.
"""


def check_weights(values: np.ndarray, *, where: str) -> np.ndarray:
    """Refuses weights that are not finite, not above zero, or outside `MIN_WEIGHT` to `MAX_WEIGHT`."""
    bad = ~(np.isfinite(values) & (values > 0))
    if bad.any():
        at = int(bad.argmax())
        what = "nothing or NaN" if np.isnan(values[at]) else f"{values[at]:g}"
        raise InputError(
            f"{where} has {what} in row {at + 1}: weights must be finite and above zero. Drop such rows, or use no"
            " weights: --weight none"
        )
    out = (values < MIN_WEIGHT) | (values > MAX_WEIGHT)
    if out.any():
        at = int(out.argmax())
        raise InputError(
            f"{where} has {values[at]:g} in row {at + 1}: single precision computes with {MIN_WEIGHT:g} to"
            f" {MAX_WEIGHT:g}. Scale the weights, or use none: --weight none"
        )
    return values
