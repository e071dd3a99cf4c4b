"""The usual ways from a link to its subgraph and from a subgraph to eigenpairs, each as its users write it.

Per-link extraction: (a) scipy CSR slices with Python sets and DRNL by shortest paths, the approach of SEAL; (b) PyG's
`k_hop_subgraph`. Eigenpairs: (c) scipy's `lobpcg` with Y = C and `eigsh` on the projected operator, stopped at the
residual that ours reaches; (d) dense batched `eigh`; (e) dense batched Lanczos as in LanczosNet, without constraints.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.csgraph import shortest_path
from scipy.sparse.linalg import LinearOperator, eigsh, lobpcg
from torch import Tensor

from llwlc.bases._laplacian import laplacian_of
from llwlc.constraints._boundary import neumann
from llwlc.graph._graph import Graph
from llwlc.linalg._basis import Eigenbasis
from llwlc.subgraphs._batch import Subgraphs


def to_csr(graph: Graph) -> scipy.sparse.csr_matrix:
    ones = np.ones(len(graph.indices))
    n = graph.num_nodes
    return scipy.sparse.csr_matrix((ones, graph.indices.numpy(), graph.indptr.numpy()), shape=(n, n))


def run_slicing_and_drnl(adjacency: scipy.sparse.csr_matrix, pairs: Tensor, hops: int = 2) -> int:
    """(a). Returns the number of nodes of all subgraphs, so that it can be compared."""
    total = 0
    for u, v in pairs.tolist():
        inside, label = _slice_and_label(adjacency, u, v, hops)
        # the inputs of a network: an edge list and labels, as tensors
        row, col, _ = scipy.sparse.find(inside)
        torch.stack([torch.from_numpy(row), torch.from_numpy(col)]).long()
        total += len(torch.from_numpy(label).long())
    return total


def _slice_and_label(
    adjacency: scipy.sparse.csr_matrix, u: int, v: int, hops: int
) -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    nodes, seen, fringe = [u, v], {u, v}, {u, v}
    for _ in range(hops):
        fringe = set(adjacency[list(fringe)].indices.tolist()) - seen
        if not fringe:
            break
        seen |= fringe
        nodes += list(fringe)
    whole = adjacency[nodes][:, nodes].tolil()
    whole[0, 1] = whole[1, 0] = 0
    inside = whole.tocsr()
    rest = np.arange(2, len(nodes))
    without_v, without_u = np.r_[0, rest], np.r_[1, rest]
    to_u = shortest_path(inside[without_v][:, without_v], directed=False, unweighted=True, indices=0)[1:]
    to_v = shortest_path(inside[without_u][:, without_u], directed=False, unweighted=True, indices=0)[1:]
    total = to_u + to_v
    with np.errstate(invalid="ignore"):
        half, odd = np.floor_divide(total, 2), np.mod(total, 2)
        label = 1 + np.minimum(to_u, to_v) + half * (half + odd - 1)
    label[~np.isfinite(label)] = 0
    return inside, np.r_[1, 1, label]


def run_k_hop(edge_index: Tensor, num_nodes: int, pairs: Tensor, hops: int = 2) -> int:
    """(b)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it scripts some functions at import, which torch deprecates
        from torch_geometric.utils import k_hop_subgraph
    total = 0
    for pair in pairs:
        nodes, edges, ends, _ = k_hop_subgraph(pair, hops, edge_index, relabel_nodes=True, num_nodes=num_nodes)
        u, v = ends
        edges = edges[:, ~(((edges[0] == u) & (edges[1] == v)) | ((edges[0] == v) & (edges[1] == u)))]
        total += len(nodes)
    return total


Problem = tuple[scipy.sparse.csr_matrix, np.ndarray, float]
"""One graph's L, an orthonormal basis Y of its constraints, and the median residual of our pairs on it."""


def make_problems(subs: Subgraphs, basis: Eigenbasis) -> list[Problem]:
    """The inputs of (c), so that only its own work is timed."""
    operator = laplacian_of(subs, "normalized")
    columns = neumann(subs).columns.numpy()
    ends = torch.searchsorted(operator.row, operator.ptr).tolist()
    found = []
    for b, (p, q) in enumerate(zip(subs.ptr[:-1].tolist(), subs.ptr[1:].tolist(), strict=True)):
        at = slice(ends[b], ends[b + 1])
        row, col = operator.row[at].numpy() - p, operator.col[at].numpy() - p
        L = scipy.sparse.csr_matrix((operator.value[at].numpy(), (row, col)), shape=(q - p, q - p))
        L = L + scipy.sparse.diags(operator.diagonal[p:q].numpy())
        U, size, _ = np.linalg.svd(columns[p:q], full_matrices=False)
        live = basis.residual[b][basis.mask[b]]
        reached = float(live.median()) if len(live) else 0.0
        found.append((L.tocsr(), U[:, size > 1e-9 * max(size.max(initial=0), 1e-300)], reached))
    return found


def run_lobpcg(found: list[Problem], pairs: int = 10) -> int:
    """(c), first half: the smallest eigenpairs under the constraints, block by block."""
    return sum(len(_lobpcg(L, Y, tolerance, pairs)) for L, Y, tolerance in found)


def _lobpcg(L: scipy.sparse.csr_matrix, Y: np.ndarray, tolerance: float, pairs: int) -> np.ndarray:
    n, k = Y.shape
    if n - k < 5 * pairs:  # below that lobpcg itself goes over to a dense solver
        return _dense(L, Y)[:pairs]
    X = np.random.default_rng(0).standard_normal((n, pairs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = lobpcg(L, X, Y=Y if k else None, tol=max(tolerance, 1e-8), maxiter=200, largest=False)[0]
        except ValueError:  # it fails on one graph in a thousand; the time until then counts
            found = np.empty(0)
    return np.asarray(found)


def run_eigsh(found: list[Problem], pairs: int = 10) -> int:
    """(c), second half: ARPACK on x ↦ PLPx."""
    return sum(len(_eigsh(L, Y, tolerance, pairs)) for L, Y, tolerance in found)


def _eigsh(L: scipy.sparse.csr_matrix, Y: np.ndarray, tolerance: float, pairs: int) -> np.ndarray:
    n = len(Y)
    if n <= 2 * pairs + 1:
        return _dense(L, Y)[:pairs]

    def shifted(x: np.ndarray) -> np.ndarray:
        # PLP has a 0 for every constraint; 2(I − P) lifts it above the spectrum, out of the way of the smallest pairs
        y = Y.T @ x
        inside = x - Y @ y
        z = L @ inside
        return np.asarray(z - Y @ (Y.T @ z) + 2 * (Y @ y))

    operator = LinearOperator((n, n), matvec=shifted, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(eigsh(operator, k=pairs, which="SA", tol=max(tolerance, 1e-8), v0=start)[0])


def _dense(L: scipy.sparse.csr_matrix, Y: np.ndarray) -> np.ndarray:
    P = np.eye(len(Y)) - Y @ Y.T
    return np.asarray(np.linalg.eigh(P @ L.toarray() @ P)[0])


def run_dense_eigh(subs: Subgraphs, *, batch: int = 64) -> int:
    """(d): padded batches of PLP, `torch.linalg.eigh`, sorted by size so that padding is fair."""
    columns = neumann(subs).columns
    order = torch.argsort(subs.ptr.diff())
    done = 0
    for graphs in torch.split(order, batch):
        L, C = _padded(subs, columns, graphs)
        Q, _ = torch.linalg.qr(C + 1e-12)
        LP = L - (L @ Q) @ Q.mT
        values, _ = torch.linalg.eigh(LP - Q @ (Q.mT @ LP))
        done += len(values)
    return done


def run_dense_lanczos(subs: Subgraphs, *, steps: int = 10, batch: int = 64) -> int:
    """(e): the recurrence on dense padded matrices with full reorthogonalisation, then `eigh` of T; float32, no
    constraints.
    """
    empty = torch.zeros(subs.num_nodes, 0, dtype=torch.float64)
    done = 0
    for graphs in torch.split(torch.arange(subs.num_graphs), batch):
        L = _padded(subs, empty, graphs)[0].float()
        m, n, _ = L.shape
        q = torch.randn(m, n, 1, generator=torch.Generator().manual_seed(0))
        q = q / q.norm(dim=1, keepdim=True)
        Q, alphas, betas = q, [], []
        for _ in range(steps):
            z = torch.bmm(L, q)
            alphas.append((q * z).sum(1))
            z = z - torch.bmm(Q, torch.bmm(Q.mT, z))
            z = z - torch.bmm(Q, torch.bmm(Q.mT, z))
            beta = z.norm(dim=1, keepdim=True)
            betas.append(beta[:, :, 0])
            q = z / beta.clamp(min=1e-6)
            Q = torch.cat([Q, q], 2)
        T = torch.diag_embed(torch.cat(alphas, 1))
        off = torch.cat(betas[:-1], 1)
        T = T + torch.diag_embed(off, 1) + torch.diag_embed(off, -1)
        _, B = torch.linalg.eigh(T)
        done += len(torch.bmm(Q[:, :, :steps], B))
    return done


def _padded(subs: Subgraphs, columns: Tensor, graphs: Tensor) -> tuple[Tensor, Tensor]:
    """L `[m, n, n]` and C `[m, n, k]` of some graphs, dense in float64."""
    size = subs.ptr.diff()[graphs]
    rank = torch.full((subs.num_graphs,), -1)
    rank[graphs] = torch.arange(len(graphs))
    mine = rank[subs.graph] >= 0
    n = int(size.max())
    slot = rank[subs.graph] * n + torch.arange(subs.num_nodes) - subs.ptr[subs.graph]
    edges = mine[subs.row]
    row, col = slot[subs.row[edges]], slot[subs.col[edges]]
    degree = subs.degree.double().clamp(min=1).rsqrt()
    L = torch.zeros(len(graphs) * n, n, dtype=torch.float64)
    L[row, col % n] = -degree[subs.row[edges]] * degree[subs.col[edges]]
    linked = mine & (subs.degree > 0)
    L[slot[linked], slot[linked] % n] = 1.0
    C = torch.zeros(len(graphs) * n, columns.shape[1], dtype=torch.float64)
    C[slot[mine]] = columns[mine]
    return L.view(len(graphs), n, n), C.view(len(graphs), n, -1)
