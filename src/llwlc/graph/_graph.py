"""Graph: one undirected graph in CSR, with whatever is known of its nodes and edges."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from llwlc._support.charts import new_figure
from llwlc._support.html_table import html_table
from llwlc.errors import InputError
from llwlc.graph._identity import get_cached_identities
from llwlc.graph._report import GraphReport
from llwlc.graph._sorted_search import are_linked

if TYPE_CHECKING:
    from llwlc._io.feature_encoding import FeatureEncoding
    from llwlc._io.memory_table import TableSource
    from llwlc.graph._edge_file import ReadOptions
    from llwlc.graph._link_attributes import LinkAttributes


@dataclass(frozen=True)
class Origin:
    """The dataset that a graph was loaded as: its name, and how to get the split that it brings, where it brings
    one.
    """

    name: str
    split: Callable[..., Any] | None = None


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph without self-loops or parallel edges.

    Every edge is stored in both directions, sorted by row, then by column.

    Shapes: `indptr [n + 1]`, `indices [2m]`, `weight [2m]` or None, `time [2m]` or None, `x [n, F]` (a dense tensor, or
    a scipy CSR array where the features are sparse) or None, `names` n strings or None (then a node is called by its
    number). `report` counts what reading or converting dropped and merged, or is None. `origin` names the dataset it
    was loaded as, or is None. `encoding`: how a table became `x`, so that further rows are read alike, or None.
    `folder`: the packed graph that its arrays are mapped from, or those of the graph that it is a part of; None in
    memory. `forward [2m]`: whether the link from the row to the column is there, for a graph that keeps its direction;
    else None. `attributes`: numbers of the links beyond their weight, or None.

    >>> graph = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]), names=["Ada", "Bob", "Cleo"])
    >>> graph, graph.degree.tolist(), graph.name(2)
    (Graph(num_nodes=3, num_edges=2, names), [1, 2, 1], 'Cleo')
    """

    indptr: Tensor
    indices: Tensor
    weight: Tensor | None = None
    time: Tensor | None = None
    x: Tensor | scipy.sparse.csr_array | None = None
    names: Sequence[str] | None = None
    report: GraphReport | None = None
    origin: Origin | None = None
    encoding: FeatureEncoding | None = None
    folder: Path | None = None
    forward: Tensor | None = None
    attributes: LinkAttributes | None = None

    @classmethod
    def from_edges(
        cls,
        edges: Tensor | np.ndarray,
        *,
        num_nodes: int | None = None,
        weight: Tensor | np.ndarray | None = None,
        time: Tensor | np.ndarray | None = None,
        x: Tensor | scipy.sparse.csr_array | None = None,
        names: Sequence[str] | None = None,
        directed: bool = False,
    ) -> Graph:
        """The graph of an edge list, each pair in either direction.

        Self-loops are dropped; of repeated pairs, weights are summed and the latest time is kept.

        Args:
            edges: integers `[m, 2]`.
            num_nodes: the number of nodes; by default one more than the largest number in `edges`.
            weight: a weight for each edge, `[m]`.
            time: a time for each edge, `[m]`.
            x: node features, `[n, F]`.
            names: a name for each node.
            directed: whether to keep which way each pair points: from its first node to its second.

        >>> g = Graph.from_edges(torch.tensor([[0, 1], [1, 0], [1, 2], [2, 2]]))
        >>> g.num_nodes, g.num_edges, g.edges.tolist()
        (3, 2, [[0, 1], [1, 2]])
        >>> Graph.from_edges(torch.tensor([[2, 1], [0, 1], [1, 0]]), directed=True).arcs.tolist()
        [[0, 1], [1, 0], [2, 1]]
        """
        pairs = torch.as_tensor(edges)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.is_floating_point():
            raise InputError(f"edges must be integers of shape [m, 2], got {tuple(pairs.shape)} of {pairs.dtype}")
        pairs = pairs.long()
        n = num_nodes if num_nodes is not None else (int(pairs.max()) + 1 if len(pairs) else 0)
        if len(pairs) and (int(pairs.min()) < 0 or int(pairs.max()) >= n):
            raise InputError(
                f"edges name node {int(pairs.max())} (or a negative one), but there are {n} nodes: 0 to {n - 1}"
            )
        _require_lengths(len(pairs), "edges", weight=weight, time=time)
        _require_lengths(n, "nodes", x=x, names=names)
        proper = pairs[:, 0] != pairs[:, 1]
        lo, hi = pairs[proper].amin(1), pairs[proper].amax(1)
        key, inverse = torch.unique(lo * n + hi, return_inverse=True)
        lo, hi = key // max(n, 1), key % max(n, 1)
        row, col = torch.cat([lo, hi]), torch.cat([hi, lo])
        order = torch.argsort(row * n + col)
        indptr = torch.zeros(n + 1, dtype=torch.long)
        indptr[1:] = torch.bincount(row, minlength=n).cumsum(0)

        def both(value: Tensor | np.ndarray | None, how: str) -> Tensor | None:
            if value is None:
                return None
            values = torch.as_tensor(value)
            merged = torch.zeros(len(key), dtype=values.dtype).scatter_reduce(
                0, inverse, values[proper], how, include_self=False
            )
            return merged.repeat(2)[order]

        one_way = (row * n + col)[order]
        return cls(
            indptr,
            col[order],
            both(weight, "sum"),
            both(time, "amax"),
            x,
            names,
            forward=torch.isin(one_way, pairs[proper, 0] * n + pairs[proper, 1]) if directed else None,
        )

    @property
    def num_nodes(self) -> int:
        """The number of nodes, n."""
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        """The number of undirected edges."""
        return len(self.indices) // 2

    @cached_property
    def degree(self) -> Tensor:
        """Number of neighbours, `[n]`."""
        return self.indptr.diff()

    @cached_property
    def edge_index(self) -> Tensor:
        """PyG's `[2, 2m]`, both directions."""
        row = torch.repeat_interleave(torch.arange(self.num_nodes, device=self.indptr.device), self.degree)
        return torch.stack([row, self.indices])

    @cached_property
    def edges(self) -> Tensor:
        """Each undirected edge once, smaller node first, `[m, 2]`, sorted."""
        row, col = self.edge_index
        return torch.stack([row, col], 1)[row < col]

    @property
    def arcs(self) -> Tensor:
        """The links as they point, from the first node to the second, `[a, 2]`, sorted; one that comes in both
        directions is two. Of a graph without directions, every link is two.
        """
        arcs = self.edge_index.T
        return arcs if self.forward is None else arcs[self.forward]

    @property
    def arc_weight(self) -> Tensor | None:
        """The weight of each of `arcs`, `[a]`, or None: of a link that comes in both directions, half for each."""
        if self.weight is None or self.forward is None:
            return self.weight
        arcs, n = self.arcs, self.num_nodes
        both = torch.isin(arcs[:, 1] * n + arcs[:, 0], arcs[:, 0] * n + arcs[:, 1])
        return torch.where(both, self.weight[self.forward] / 2, self.weight[self.forward])

    def without_direction(self) -> Graph:
        """The same links, whichever way they point."""
        return self if self.forward is None else replace(self, forward=None)

    @cached_property
    def digest(self) -> str:
        """A hash of the links and their weights, which are all that subgraphs and bases depend on."""
        hasher = hashlib.sha256()
        for tensor in (self.indptr, self.indices, self.weight):
            if tensor is not None:
                hasher.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
                # hashed in place, so that a mapped array is not copied
                hasher.update(tensor.detach().cpu().contiguous().numpy().data)
        return hasher.hexdigest()

    @cached_property
    def identity(self) -> Tensor | None:
        """The number by which random draws identify each node, `[n]` (see `compute_identities`); None where nodes have
        no names: then the node's own number is used.
        """
        return None if self.names is None else get_cached_identities(self.names).to(self.indptr.device)

    def name(self, node: int) -> str:
        """The name of a node, or its number as text where nodes have no names.

        Args:
            node: number of the node.
        """
        return str(node) if self.names is None else self.names[node]

    def with_edges(self, edges: Tensor) -> Graph:
        """The graph with all its nodes and only these of its edges; each keeps its weight, time and direction.

        Args:
            edges: the edges to keep, `[k, 2]`.

        >>> g = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
        >>> g.with_edges(torch.tensor([[1, 2]]))
        Graph(num_nodes=3, num_edges=1)
        """
        n = self.num_nodes
        keep = Graph.from_edges(edges, num_nodes=n)
        if self.weight is None and self.time is None and self.forward is None:
            return replace(self, indptr=keep.indptr, indices=keep.indices, report=None)
        row, col = self.edge_index
        key = row * n + col
        kept_key = keep.edge_index[0] * n + keep.edge_index[1]
        at = torch.searchsorted(key, kept_key).clamp(max=max(len(key) - 1, 0))
        if len(kept_key) and not torch.equal(key[at], kept_key):
            raise InputError(
                "with_edges: some of these pairs are not edges of the graph, so they have no weight, time or direction"
            )
        return replace(
            self,
            indptr=keep.indptr,
            indices=keep.indices,
            weight=None if self.weight is None else self.weight[at],
            time=None if self.time is None else self.time[at],
            forward=None if self.forward is None else self.forward[at],
            report=None,
        )

    def to(self, device: torch.device | str) -> Graph:
        """The graph with its tensors on a device: `extract`, `link_bases` and networks then compute there. Sparse
        features stay on the CPU.

        Args:
            device: "cpu", "cuda" or a torch device.
        """
        kept = ("indptr", "indices", "weight", "time", "x", "forward")
        tensors: dict[str, Any] = {name: getattr(self, name) for name in kept}
        tensors = {name: t.to(device) for name, t in tensors.items() if isinstance(t, Tensor)}
        return replace(self, **tensors)

    def has_edges(self, pairs: Tensor) -> Tensor:
        """Which pairs are edges.

        Args:
            pairs: node numbers `[m, 2]`.

        Returns:
            Truth values `[m]`.

        >>> g = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
        >>> g.has_edges(torch.tensor([[1, 0], [0, 2]])).tolist()
        [True, False]
        """
        if len(pairs) and not 0 <= int(pairs.min()) <= int(pairs.max()) < self.num_nodes:
            bad = pairs[(pairs < 0).any(1) | (pairs >= self.num_nodes).any(1)][0].tolist()
            raise InputError(f"pair {tuple(bad)} names a node outside the graph: nodes are 0 to {self.num_nodes - 1}")
        linked = torch.zeros(len(pairs), dtype=torch.bool)
        array = pairs.cpu().long().contiguous().numpy()
        are_linked(self.indptr.cpu().numpy(), self.indices.cpu().numpy(), array, linked.numpy())
        return linked.to(pairs.device)

    @staticmethod
    def open(folder: str | Path, *, verify: bool = True) -> Graph:
        """The graph of a folder that `llwlc data pack` wrote, its files mapped into memory, not read.

        Args:
            folder: the packed graph.
            verify: check all files against their digests, and their contents, first; without, only sizes are compared.
        """
        from llwlc.graph._packed_folder import open_graph

        return open_graph(folder, verify=verify)

    @staticmethod
    def read(path: TableSource, **options: Unpack[ReadOptions]) -> Graph:
        """The graph of an edge list.

        Args:
            path: a file (CSV, TSV, Parquet, GraphML, GEXF, Matrix Market, graph6, SNAP's or KONECT's, also gzipped), a
                pandas or polars frame, an arrow table or a list of pairs of names.
            **options: those of `llwlc.graph.read_graph`.

        >>> Graph.read([("Ada", "Bob"), ("Bob", "Cleo"), ("Cleo", "Ada")])
        Graph(num_nodes=3, num_edges=3, names)
        """
        from llwlc.graph._edge_file import read_graph

        return read_graph(path, **options)

    @staticmethod
    def from_csv(path: str | Path, **options: Unpack[ReadOptions]) -> Graph:
        """The graph of a text file, one edge a row.

        Args:
            path: the file.
            **options: those of `llwlc.graph.read_graph`.

        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "friends.csv"
        >>> _ = file.write_text("from,to\\nAda,Bob\\nBob,Cleo\\nCleo,Ada\\nBob,Ada\\n")
        >>> g = Graph.from_csv(file)
        >>> g, g.names
        (Graph(num_nodes=3, num_edges=3, names), ['Ada', 'Bob', 'Cleo'])
        >>> print(g.report)
        4 rows gave 3 nodes and 3 edges: 1 reversed duplicate merged.
        """
        return Graph.read(path, **options)

    @staticmethod
    def from_parquet(path: str | Path, **options: Unpack[ReadOptions]) -> Graph:
        """The graph of a Parquet file, one edge a row.

        Args:
            path: the file.
            **options: those of `llwlc.graph.read_graph`.
        """
        return Graph.read(path, **options)

    @staticmethod
    def from_networkx(graph: Any, *, directed: bool = False) -> Graph:
        """The graph of a networkx graph with its `weight`, `time` and `x` attributes; nodes are sorted by name, as in a
        file.

        Args:
            graph: a `networkx.Graph`, or any other of its graph classes.
            directed: whether to keep which way its edges point.

        >>> import networkx
        >>> Graph.from_networkx(networkx.complete_graph(3))
        Graph(num_nodes=3, num_edges=3)
        """
        from llwlc.graph._convert import from_networkx

        return from_networkx(graph, directed=directed)

    @staticmethod
    def from_pyg(data: Any, *, directed: bool = False) -> Graph:
        """The graph of a homogeneous PyG `Data` with its `edge_weight`, `edge_time` and `x`.

        Args:
            data: a `torch_geometric.data.Data`.
            directed: whether to keep which way its edges point.
        """
        from llwlc.graph._convert import from_pyg

        return from_pyg(data, directed=directed)

    @staticmethod
    def from_scipy(
        matrix: Any,
        *,
        x: Tensor | scipy.sparse.csr_array | None = None,
        names: Sequence[str] | None = None,
        directed: bool = False,
    ) -> Graph:
        """The graph of a sparse adjacency matrix; entries are weights unless all are 1.

        Args:
            matrix: `[n, n]`, symmetric or one triangle.
            x: node features, `[n, F]`.
            names: a name for each node.
            directed: whether to keep which way entries point: from the row to the column.
        """
        from llwlc.graph._convert import from_scipy

        return from_scipy(matrix, x=x, names=names, directed=directed)

    @staticmethod
    def from_numpy(
        matrix: np.ndarray, *, x: Tensor | scipy.sparse.csr_array | None = None, names: Sequence[str] | None = None
    ) -> Graph:
        """The graph of a dense adjacency matrix, read as `from_scipy` does; an array of edges `[m, 2]` is for
        `from_edges`.

        Args:
            matrix: `[n, n]`, symmetric or one triangle.
            x: node features, `[n, F]`.
            names: a name for each node.

        >>> Graph.from_numpy(np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])).edges.tolist()
        [[0, 1], [0, 2], [1, 2]]
        """
        return Graph.from_scipy(matrix, x=x, names=names)

    def to_csv(self, path: str | Path) -> None:
        """Writes the edge list as text, each edge once, an isolated node as a self-loop.

        Args:
            path: the file; its ending says whether it is CSV or TSV, also gzipped.
        """
        from llwlc.graph._edge_file import write_graph

        if Path(path).suffix.lower() in (".parquet", ".jsonl"):
            raise InputError(
                f"to_csv writes text, and {path} is not the name of a text file: call to_parquet, or end it in .csv"
            )
        write_graph(self, path)

    def to_parquet(self, path: str | Path) -> None:
        """Writes the edge list as Parquet, with the columns of `to_csv`.

        Args:
            path: the file, which ends in .parquet, since readers know the format by it.
        """
        from llwlc.graph._edge_file import write_graph

        if Path(path).suffix.lower() != ".parquet":
            raise InputError(
                f"to_parquet writes Parquet, and {path} does not end in .parquet: rename it, or call to_csv"
            )
        write_graph(self, path)

    def to_networkx(self) -> Any:
        """A `networkx.Graph` with `weight`, `time` and `x` attributes."""
        from llwlc.graph._convert import to_networkx

        return to_networkx(self)

    def to_pyg(self) -> Any:
        """A PyG `Data` with `edge_weight`, `edge_time` and `x`."""
        from llwlc.graph._convert import to_pyg

        return to_pyg(self)

    def to_scipy(self) -> scipy.sparse.csr_array:
        """The symmetric adjacency matrix `[n, n]`."""
        from llwlc.graph._convert import to_scipy

        return to_scipy(self)

    def to_numpy(self) -> np.ndarray:
        """The symmetric adjacency matrix `[n, n]`, dense."""
        dense: np.ndarray = self.to_scipy().toarray()
        return dense

    def _repr_html_(self) -> str:
        mean = 2 * self.num_edges / max(self.num_nodes, 1)
        rows = [("nodes", f"{self.num_nodes:,}"), ("links", f"{self.num_edges:,}"), ("links per node", f"{mean:.2f}")]
        rows += [(k, "yes") for k in ("weight", "time", "names") if getattr(self, k) is not None]
        if self.x is not None:
            rows.append(("features per node", f"{self.x.shape[1]:,}"))
        return html_table("Graph", (), rows)

    def plot(self) -> Any:
        """The distribution of degrees on logarithmic axes, as a matplotlib figure (extra `plots`)."""
        figure, axes = new_figure()
        counts = np.bincount(self.degree.cpu().numpy())
        at = np.flatnonzero(counts)
        axes.loglog(at + 1, counts[at], "o", markersize=4)
        axes.set(xlabel="links of a node + 1", ylabel="nodes")
        return figure

    def __repr__(self) -> str:
        extras = [k for k in ("weight", "time", "x", "names") if getattr(self, k) is not None]
        extras += [] if self.forward is None else ["directed"]
        extras += [] if self.attributes is None else [f"{len(self.attributes.names)} link attributes"]
        return (
            f"Graph(num_nodes={self.num_nodes}, num_edges={self.num_edges}{', ' if extras else ''}{', '.join(extras)})"
        )


def _require_lengths(expected: int, what: str, **given: Any) -> None:
    for name, values in given.items():
        # a sparse matrix has no length
        rows = expected if values is None else values.shape[0] if hasattr(values, "shape") else len(values)
        if rows != expected:
            raise InputError(f"{name} has {rows} entries, the graph has {expected} {what}: give one each")
