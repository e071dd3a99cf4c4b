"""AddConstrainedBasis: a constrained eigenbasis as attributes of a PyG `Data`."""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from llwlc.bases._config import DEFAULT_CAP, BasisConfig, ConstraintFunction, Laplacian
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.bases._starts import STARTS
from llwlc.constraints._registry import VertexCount
from llwlc.errors import InputError
from llwlc.linalg._basis import Eigenbasis
from llwlc.linalg._matrix import check_dtype
from llwlc.subgraphs._batch import Subgraphs
from llwlc.subgraphs._edge_lists import read_edges

Roots = Literal["graph", "node", "edge", "link"]
IN_FORWARD = "compute the basis in forward, eigenbasis(Subgraphs.from_batch(batch), columns, complete=True)"
DEFAULT_START = {"graph": "random", "node": "query", "edge": "query", "link": "query"}


class AddConstrainedBasis(BaseTransform):  # type: ignore[misc]  # PyG's classes have no types here
    """Adds Ritz pairs of PLP, on whole graphs or on subgraphs around nodes, edges or candidate links, to a `Data`.

    A model gets them from a `Data` or `Batch` by `Eigenbasis.from_batch(batch)`. What is stored are plain tensors, so
    that PyG batches, caches, saves and moves them like any other; R bases with M rows in all:

    - `basis_values`, `basis_mask`, `basis_residual [R, κ]`, `basis_vectors [M, κ]`, `basis_sizes [R]`, the rows of
      each;
    - around nodes, edges and links also `basis_row_index [M]`, the node of `data.x` that a row is, `basis_hop [M]`, its
      distance from the root, and `basis_root_index`, nodes `[R]` or pairs `[2, R]`; for edges and links
      `basis_dist_u`, `basis_dist_v [M]`, the distances to each end without the other.

    The edges are read as by `Subgraphs.from_batch`: in any order and direction, without self-loops. A graph without
    nodes has rows for nothing and no live column.

    Args:
        roots: `"graph"`, one basis of the whole graph (R = 1); `"node"`, one around each node; `"edge"`, one around
            each edge of the graph, which stays in it (each undirected edge once, the smaller node first); `"link"`, one
            around each pair of `data.edge_label_index [2, R]`, without the link itself, for link prediction.
        constraints: names of `llwlc.constraints.FAMILIES` joined by "+", or a function from `Subgraphs` to
            `Constraints`. `"none"`, `"components"` and `"vertex_deleted"` fit all roots; `"shells"`, `"neumann"` and
            `"neumann_vertex"` need a root, `"contraction"` and `"marking"` a pair. Learned columns cannot be stored:
            see `llwlc.nn.LearnedConstraints`.
        steps: κ, the number of columns.
        start: a name of `llwlc.bases.STARTS`, or the name of a node attribute such as `"x"`, a block of start vectors.
            None is `"random"` for whole graphs, else `"query"`, e_u of the root.
        complete: all eigenpairs on the null space, exact and whatever the start, for graphs with at most κ of them.
        hops: how far the subgraph of a root reaches.
        laplacian: `"normalized"` or `"combinatorial"`.
        count: number of deleted vertices of `"vertex_deleted"`.
        weight: the attribute with edge weights, not used where `edge_weight` is not there; None for none.
        root_key: an attribute with the nodes `[R]` (or a mask such as `train_mask`) or pairs `[2, R]` to take, instead
            of all nodes, all edges or `edge_label_index`.
        max_nodes_per_hop: a hop that finds more new nodes keeps that many; None for no limit.
        seed: seed of what is drawn at random.
        dtype: float32 or float64, of what is stored.
        name: the first part of the attributes' names.

    >>> import torch, llwlc
    >>> from torch_geometric.data import Batch, Data
    >>> ring = Data(edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), num_nodes=4)
    >>> transform = AddConstrainedBasis("node", constraints="shells", steps=3, hops=1)
    >>> batch = Batch.from_data_list([transform(ring), transform(ring)])
    >>> llwlc.Eigenbasis.from_batch(batch)
    Eigenbasis(8 graphs, 24 rows, 3 columns)
    >>> batch.basis_row_index[-3:].tolist()
    [7, 4, 6]
    """

    def __init__(
        self,
        roots: Roots = "graph",
        *,
        constraints: str | ConstraintFunction = "none",
        steps: int = 10,
        start: str | None = None,
        complete: bool = False,
        hops: int = 2,
        laplacian: Laplacian = "normalized",
        count: VertexCount = 10,
        weight: str | None = "edge_weight",
        root_key: str | None = None,
        max_nodes_per_hop: int | None = DEFAULT_CAP,
        seed: int = 0,
        dtype: torch.dtype = torch.float32,
        name: str = "basis",
    ) -> None:
        if roots not in get_args(Roots):
            raise InputError(f"roots must be {', '.join(map(repr, get_args(Roots)))}, got {roots!r}")
        if roots == "graph" and root_key is not None:
            raise InputError(
                f"root_key={root_key!r} names roots, and roots='graph' has none: give roots='node' or 'link'"
            )
        _check_constraints(constraints)
        start = DEFAULT_START[roots] if start is None else start
        if not isinstance(start, str):
            raise InputError(
                f"start must be {', '.join(map(repr, STARTS))} or the name of a node attribute, got"
                f" {type(start).__name__}: store the tensor in the Data and give its name"
            )
        if roots == "graph" and start == "query" and not complete:
            raise InputError(
                "start='query' begins at a root, and roots='graph' has none: give start='random', 'constraint' or a"
                " node attribute, or complete=True, or roots='node'"
            )
        if not isinstance(weight, str | None):
            raise InputError(f"weight must be the name of an attribute or None, got {type(weight).__name__}")
        if (
            not isinstance(name, str)
            or not name.isidentifier()
            or any(x in name for x in ("index", "batch", "node", "edge"))
        ):
            raise InputError(
                "name must be an identifier without 'index', 'batch', 'node' and 'edge', by which PyG tells attributes"
                f" apart, got {name!r}"
            )
        check_dtype(dtype)
        self.roots, self.start, self.complete, self.root_key = roots, start, complete, root_key
        self.weight, self.dtype, self.name = weight, dtype, name
        begin: dict[str, Any] = {"start": start} if start in STARTS else {}
        self.config = BasisConfig(
            constraints=constraints,
            steps=steps,
            hops=hops,
            laplacian=laplacian,
            count=count,
            max_nodes_per_hop=max_nodes_per_hop,
            seed=seed,
            **begin,
        )

    def forward(self, data: Any) -> Any:
        """The data with the basis.

        Args:
            data: a homogeneous `Data`.
        """
        if isinstance(data, Batch):
            raise InputError(
                "AddConstrainedBasis takes one Data at a time, got a Batch: give it to the dataset as transform= or"
                " pre_transform=, or use Subgraphs.from_batch(batch) and eigenbasis"
            )
        subs = self.subgraphs(data)
        basis = self.basis(subs, data)
        attributes = {key: getattr(basis, key) for key in ("values", "vectors", "mask", "residual")}
        attributes["sizes"] = basis.ptr.diff()
        if subs.roots != "graph":
            attributes |= {"row_index": subs.node, "hop": subs.hop}
            attributes["root_index"] = subs.node[subs.u]
        if subs.roots == "link":
            attributes |= {"dist_u": subs.dist_u, "dist_v": subs.dist_v, "root_index": subs.pairs.t().contiguous()}
        for key, value in attributes.items():
            data[f"{self.name}_{key}"] = value
        return data

    def subgraphs(self, data: Any) -> Subgraphs:
        """The graph, or the subgraphs around its roots, that the bases are of.

        Args:
            data: a homogeneous `Data`.
        """
        config = self.config
        return Subgraphs.from_batch(
            data,
            self._find_roots(data),
            hops=config.hops,
            keep_link=self.roots == "edge",
            weight=self.weight,
            max_nodes_per_hop=config.max_nodes_per_hop,
            seed=config.seed,
        )

    def basis(self, subs: Subgraphs, data: Any) -> Eigenbasis:
        """The basis of these subgraphs.

        Args:
            subs: subgraphs of the data.
            data: the `Data`, for a start that is a node attribute.
        """
        config = self.config
        cons = config.columns(subs)
        start: str | Tensor = self.start if self.start in STARTS else self._signal(data)[subs.node]
        _refuse_gradients({"constraints": cons.columns, str(self.weight): subs.weight, f"start={self.start!r}": start})
        with torch.no_grad():
            basis = eigenbasis(
                subs,
                cons,
                steps=config.steps,
                start=start,
                laplacian=config.laplacian,
                complete=self.complete,
                dtype=self.dtype,
                seed=config.seed,
            )
        return self._same_width(basis) if self.complete else basis

    def _find_roots(self, data: Any) -> Tensor | None:
        if self.roots == "graph":
            return None
        key = self.root_key or ("edge_label_index" if self.roots == "link" else None)
        if key is not None:
            roots: Tensor | None = getattr(data, key, None)
            if roots is None:
                raise InputError(
                    f"data has no {key}, it has {', '.join(sorted(data.keys()))}: roots={self.roots!r} takes its pairs"
                    " or nodes from there; RandomLinkSplit sets edge_label_index, root_key names another attribute"
                )
            if self.roots == "node" and isinstance(roots, Tensor) and roots.dtype == torch.bool:
                roots = roots.nonzero()[:, 0]  # a mask such as PyG's train_mask
            ndim = 1 if self.roots == "node" else 2
            if isinstance(roots, Tensor) and roots.ndim != ndim:
                shape = "nodes [R]" if ndim == 1 else "pairs [2, R]"
                raise InputError(f"roots={self.roots!r} needs {shape} in data.{key}, got {tuple(roots.shape)}")
            return roots
        edges = read_edges(data, None)
        if self.roots == "node":
            return torch.arange(int(edges.ptr[-1]), device=edges.ptr.device)
        once = edges.row < edges.col
        return torch.stack([edges.row[once], edges.col[once]])

    def _signal(self, data: Any) -> Tensor:
        signal: Any = getattr(data, self.start, None)
        if not isinstance(signal, Tensor) or signal.ndim not in (1, 2) or len(signal) != data.num_nodes:
            got = f"its shape is {tuple(signal.shape)}" if isinstance(signal, Tensor) else "there is none"
            raise InputError(
                f"start={self.start!r} is none of {', '.join(map(repr, STARTS))} and no attribute of the data with a"
                f" row for each of its {data.num_nodes} nodes ({got}; there are {', '.join(sorted(data.keys()))})"
            )
        return signal

    def _same_width(self, basis: Eigenbasis) -> Eigenbasis:
        """A complete basis with κ columns, as those of all graphs of a batch have."""
        steps, most = self.config.steps, int(basis.mask.sum(1).max()) if len(basis) else 0
        if most > steps:
            raise InputError(
                f"complete=True finds {most} eigenpairs here, and steps={steps} columns are stored: give steps={most}"
                " or more, the same for all graphs, or complete=False"
            )

        def widened(x: Tensor) -> Tensor:
            return torch.nn.functional.pad(x[:, :steps], (0, max(steps - x.shape[1], 0)))

        parts: dict[str, Any] = {key: widened(getattr(basis, key)) for key in ("values", "vectors", "mask", "residual")}
        return Eigenbasis(**parts, ptr=basis.ptr)

    def __repr__(self) -> str:
        constraints = self.config.constraints
        named = constraints if isinstance(constraints, str) else getattr(constraints, "__name__", "function")
        return f"{type(self).__name__}({self.roots!r}, constraints={named!r}, steps={self.config.steps})"


def _check_constraints(constraints: Any) -> None:
    if isinstance(constraints, torch.nn.Module) and any(weight.requires_grad for weight in constraints.parameters()):
        raise InputError(
            f"constraints must be names or a function, got the module {type(constraints).__name__}: a stored basis has"
            f" no gradients, so {IN_FORWARD}"
        )
    if not isinstance(constraints, str) and not callable(constraints):
        raise InputError(
            "constraints must be names joined by '+' or a function from Subgraphs to Constraints, got"
            f" {type(constraints).__name__}: eigenbasis(subs, columns) takes columns"
        )


def _refuse_gradients(inputs: dict[str, Any]) -> None:
    """A stored basis is plain numbers: gradients would be lost silently."""
    for name, x in inputs.items():
        if torch.is_grad_enabled() and isinstance(x, Tensor) and x.requires_grad:
            raise InputError(
                f"{name} requires gradients, which a stored basis does not carry: to train, {IN_FORWARD}; for its"
                " values alone, apply the transform under torch.no_grad()"
            )
