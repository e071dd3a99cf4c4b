"""True eigenpairs under constraints, against scipy's eigsh on the projected operator: the table of docs/numerics.md.

    python research/benchmarks/eigenpairs.py                        # all graphs up to 1e5 nodes
    python research/benchmarks/eigenpairs.py --only regular,grid --nodes 1000,10000
    python research/benchmarks/eigenpairs.py --nodes 1000000 --only regular --ours

One line a graph in research/results/eigenpairs.jsonl. Both sides get the combinatorial Laplacian, the same three
columns (ones and two random ones), k = 20, `which="SA"`, tolerance 1e-8, one thread, and take turns; the least CPU
time of `--turns` counts (the machine is shared), with the largest residual ‖PLPv − λv‖ of each. eigsh sees P L P +
2‖L‖ (I − P), so that the constraints' own zeros do not count. Only ours looks for repeated eigenvalues. An eigsh that
takes longer than `--limit` CPU seconds is stopped and has no time.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, eigsh
from scipy.spatial import Delaunay
from threadpoolctl import threadpool_limits

# a script finds modules beside itself only
sys.path.insert(0, str(Path(__file__).parents[2]))

from llwlc import constrained_eigsh, datasets
from research.bench.clock import describe_machine

RESULTS = Path(__file__).parents[1] / "results" / "eigenpairs.jsonl"
K, TOL = 20, 1e-8


def laplacian(n: int, edges: np.ndarray) -> scipy.sparse.csr_array:
    """D − A of undirected edges `[m, 2]`, each counted once."""
    u, v = edges.min(1), edges.max(1)
    u, v = np.divmod(np.unique((u * n + v)[u != v]), n)
    index = (np.concatenate([u, v]).astype(np.int32), np.concatenate([v, u]).astype(np.int32))
    A = scipy.sparse.csr_array((np.ones(2 * len(u)), index), shape=(n, n))
    L = scipy.sparse.csr_array(scipy.sparse.diags_array(A.sum(1)) - A)
    linked = np.flatnonzero(L.diagonal())
    return L if len(linked) == n else L[linked][:, linked]


def regular(n: int) -> np.ndarray:
    """Two random Hamiltonian cycles: 4-regular up to a few double links, an expander."""
    rng = np.random.default_rng(0)
    cycles = [rng.permutation(n) for _ in range(2)]
    return np.concatenate([np.stack([c, np.roll(c, 1)], 1) for c in cycles])


def powerlaw(n: int) -> np.ndarray:
    """Preferential attachment, four links a node."""
    rng, ends = np.random.default_rng(0), np.zeros(8 * n, dtype=np.int64)
    ends[:8] = [0, 1, 1, 2, 2, 3, 3, 0]
    size = 8
    for node in range(4, n):
        ends[size : size + 8 : 2] = ends[rng.integers(0, size, 4)]
        ends[size + 1 : size + 8 : 2] = node
        size += 8
    return ends[:size].reshape(-1, 2)


def small_world(n: int) -> np.ndarray:
    """A ring with six neighbours, a tenth of the links moved."""
    rng, node = np.random.default_rng(0), np.arange(n)
    edges = np.concatenate([np.stack([node, (node + step) % n], 1) for step in (1, 2, 3)])
    moved = rng.random(len(edges)) < 0.1
    edges[moved, 1] = rng.integers(0, n, int(moved.sum()))
    return edges


def grid(n: int) -> np.ndarray:
    side = int(np.sqrt(n))
    at = np.arange(side * side).reshape(side, side)
    pairs = [(at[:-1], at[1:]), (at[:, :-1], at[:, 1:])]
    return np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in pairs])


def path(n: int) -> np.ndarray:
    return np.stack([np.arange(n - 1), np.arange(1, n)], 1)


def road(n: int) -> np.ndarray:
    """Half of the links of a Delaunay triangulation of random points, and a spanning tree of it."""
    rng = np.random.default_rng(0)
    triangles = Delaunay(rng.random((n, 2))).simplices
    edges = np.unique(
        np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]]), 1), axis=0
    )
    length = scipy.sparse.csr_array((rng.random(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    tree = scipy.sparse.csgraph.minimum_spanning_tree(length).tocoo()
    return np.concatenate([np.stack([tree.row, tree.col], 1), edges[rng.random(len(edges)) < 0.2]])


FAMILIES: dict[str, Callable[[int], np.ndarray]] = {
    "regular": regular,
    "powerlaw": powerlaw,
    "small_world": small_world,
    "grid": grid,
    "path": path,
    "road": road,
}


class TooSlow(Exception):
    """Raised by the product of an eigsh that is over its limit."""


def run_eigsh(
    L: scipy.sparse.csr_array, C: np.ndarray, limit: float
) -> tuple[float, np.ndarray | None, np.ndarray | None]:
    begin, far = time.process_time(), 2 * float(abs(L).sum(1).max())
    Y = np.linalg.qr(C)[0]

    def product(x: np.ndarray) -> np.ndarray:
        if time.process_time() - begin > limit:
            raise TooSlow
        inside = x - Y @ (Y.T @ x)
        y = L @ inside
        return y - Y @ (Y.T @ y) + far * (x - inside)

    start = np.random.default_rng(1).standard_normal(len(C))
    try:
        values, V = eigsh(LinearOperator(L.shape, matvec=product, dtype=float), k=K, which="SA", tol=TOL, v0=start)
    except TooSlow:
        return float("inf"), None, None
    return time.process_time() - begin, values, V


def measure(name: str, L: scipy.sparse.csr_array, turns: int, limit: float, ours_only: bool) -> dict[str, Any]:
    n = L.shape[0]
    C = np.column_stack([np.ones(n), np.random.default_rng(2).standard_normal((n, 2))])
    ours, theirs = float("inf"), float("inf")
    theirs_residual, gap, stopped = None, None, False
    for _ in range(turns):
        begin = time.process_time()
        found = constrained_eigsh(L, C, k=K, tol=TOL)
        ours = min(ours, time.process_time() - begin)
        if ours_only or stopped:
            continue
        took, values, V = run_eigsh(L, C, limit)
        theirs = min(theirs, took)
        stopped = V is None
        if V is not None and values is not None:
            Y = np.linalg.qr(C)[0]
            R = L @ V
            theirs_residual = float(np.linalg.norm(R - Y @ (Y.T @ R) - V * values, axis=0).max())
            gap = float(np.abs(np.sort(values) - found.values.numpy()).max())
    return {
        "graph": name,
        "nodes": n,
        "edges": (L.nnz - n) // 2,
        "cpu_seconds": round(ours, 4),
        "eigsh_cpu_seconds": None if theirs == float("inf") else round(theirs, 4),
        "ratio": None if theirs == float("inf") else round(theirs / ours, 2),
        "eigsh_limit": limit,
        "residual": float(found.residual.max()),
        "eigsh_residual": theirs_residual,
        "largest_difference": gap,
        "converged": int(found.converged.sum()),
        "cut": found.cut,
        "method": found.method,
        "products": found.num_products,
        "norm_bound": 2 * float(L.diagonal().max()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", default=",".join([*FAMILIES, "cora-planetoid", "pubmed"]), help="families and datasets"
    )
    parser.add_argument("--nodes", default="1000,10000,100000", help="numbers of nodes of the families")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60, help="seconds for eigsh")
    parser.add_argument("--ours", action="store_true", help="without eigsh")
    asked = parser.parse_args()
    machine = describe_machine()
    with threadpool_limits(1):
        for name in asked.only.split(","):
            if name in FAMILIES:
                problems = [laplacian(int(float(n)), FAMILIES[name](int(float(n)))) for n in asked.nodes.split(",")]
            else:
                graph = datasets.load(name)
                problems = [laplacian(graph.num_nodes, graph.edges.numpy())]
            for L in problems:
                line = measure(name, L, asked.turns, asked.limit, asked.ours)
                line |= {"load": round(os.getloadavg()[0], 1), "machine": machine}
                print(json.dumps({key: value for key, value in line.items() if key != "machine"}), flush=True)
                with RESULTS.open("a") as file:
                    file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
