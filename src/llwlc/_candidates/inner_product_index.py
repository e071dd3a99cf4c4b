"""Largest inner products on large graphs, by faiss."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llwlc._support.repeated_warnings import warn

EXACT_NODES = 50_000
"""Up to here all products are computed; beyond, their number, quadratic in the nodes, takes too long."""
PROBED = 16  # lists of the inverted file that a query looks through
ROUNDS = 4  # of k-means; ten find no more
LINKED, LOOKED_AT = 16, 32  # links of a centre in the graph of centres, and centres that a search keeps in sight
Vectors = NDArray[np.float32]
Integers = NDArray[np.int64]


def is_available(nodes: int) -> bool:
    """Whether neighbours can be found among this many nodes; where not, a warning says what to install."""
    if nodes <= EXACT_NODES or importlib.util.find_spec("faiss") is not None:
        return True
    warn(
        f"nodes of like features are not looked for among more than {EXACT_NODES:,} nodes without faiss: pip install"
        " 'llwlc[ann]'",
        stacklevel=2,
    )
    return False


class InnerProductIndex:
    """An index of the nodes `members`, each raised by a number of its own: a query finds those with the largest ⟨query,
    vector⟩ + raise.

    faiss's inverted file with exact products inside its lists: vectors are kept once. Which list a vector belongs to is
    found by a graph of the lists' centres, not by a look at all of them: 3.5 million nodes are indexed in half a
    minute.
    """

    def __init__(self, vectors: Vectors, node_bias: Vectors, members: Integers) -> None:
        import faiss  # type: ignore[import-not-found,import-untyped,unused-ignore]

        self.members = members
        table = np.column_stack([vectors[members], node_bias[members]]).astype(np.float32)
        lists = max(1, min(int(4 * np.sqrt(len(table))), len(table) // 40))  # faiss wants some 40 vectors for each
        self._coarse = faiss.IndexHNSWFlat(table.shape[1], LINKED, faiss.METRIC_INNER_PRODUCT)
        self._coarse.hnsw.efSearch = LOOKED_AT
        self._index: Any = faiss.IndexIVFFlat(self._coarse, table.shape[1], lists, faiss.METRIC_INNER_PRODUCT)
        sample = np.random.default_rng(0).permutation(len(table))[: 40 * lists]
        self._index.cp.niter = ROUNDS
        self._index.quantizer_trains_alone = 2  # centres by k-means, then added to the graph of centres
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # threads would add the centres in another order each time
        try:
            self._index.train(table[np.sort(sample)])
        finally:
            faiss.omp_set_num_threads(threads)
        self._index.add(table)
        self._index.nprobe = PROBED

    def __call__(self, queries: Vectors, most: int) -> Integers:
        """For each query the `most` best members it finds, `[m, most]`, −1 where there are fewer."""
        extended = np.column_stack([queries, np.ones(len(queries), dtype=np.float32)])
        at = self._index.search(extended, min(most, len(self.members)))[1]
        return np.where(at >= 0, self.members[at], -1)
