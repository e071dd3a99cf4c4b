"""Linear constraints Cᵀf = 0 on the signals of enclosing subgraphs, each column a statement about a part of the graph.

A new constraint is one small function from subgraphs to `Constraints`; `custom` wraps its columns, `stack` and
`combine` compose it with the others, and `register` gives it a name that `link_bases`, `LinkPredictor`, the cache and
the command line (`--plugin my_constraints.py`) know. Common neighbours of the pair, for example, made to sum to zero:

    @llwlc.constraints.register("common")
    def common(subs):
        both = (subs.dist_u == 1) & (subs.dist_v == 1)
        return llwlc.constraints.custom(subs, both.double(), names=["common"])

What to know when writing one:
- a row for each node of the batch (N in all), a column for each constraint; `subs.graph` says which graph a node
  belongs to, and no entry mixes graphs. Where a constraint does not apply to a graph, its column is zero there, which
  constrains nothing;
- only the span of the columns matters: neither scale, sign nor order, so a *learnable* constraint is a learnable
  combination of columns (`combine`), while a learnable factor on one column changes nothing at all. Dependent columns
  do no harm;
- build it from tensor operations on `subs.weight` and gradients with respect to edge weights come for free;
- randomness comes from `llwlc._support.counter_hash`, so that a draw belongs to a link and never depends on the batch.
  A function that has a parameter `seed`, `epoch`, `count` or `laplacian` is given that; one with `epoch` is redrawn in
  every epoch of training;
- columns are float64: a column's null space is lost long before a float32 basis is.
"""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.constraints._boundary import neumann as neumann
    from llwlc.constraints._boundary import neumann_vertex as neumann_vertex
    from llwlc.constraints._columns import Constraints as Constraints
    from llwlc.constraints._columns import combine as combine
    from llwlc.constraints._columns import custom as custom
    from llwlc.constraints._columns import none as none
    from llwlc.constraints._columns import stack as stack
    from llwlc.constraints._components import components as components
    from llwlc.constraints._deletion import vertex_deleted as vertex_deleted
    from llwlc.constraints._node_sets import induced as induced
    from llwlc.constraints._pair import contraction as contraction
    from llwlc.constraints._pair import marking as marking
    from llwlc.constraints._registry import FAMILIES as FAMILIES
    from llwlc.constraints._registry import by_name as by_name
    from llwlc.constraints._registry import register as register
    from llwlc.constraints._shells import shells as shells

_HOMES = {
    "Constraints": "_columns",
    "FAMILIES": "_registry",
    "by_name": "_registry",
    "combine": "_columns",
    "components": "_components",
    "contraction": "_pair",
    "custom": "_columns",
    "induced": "_node_sets",
    "marking": "_pair",
    "neumann": "_boundary",
    "neumann_vertex": "_boundary",
    "none": "_columns",
    "register": "_registry",
    "shells": "_shells",
    "stack": "_columns",
    "vertex_deleted": "_deletion",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
