"""The index of a large graph's nodes: nearly all of the largest products, the same ones each time."""

import numpy as np
import pytest

from llwlc._candidates.inner_product_index import InnerProductIndex

faiss = pytest.importorskip("faiss")


def clustered(n: int, width: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found = rng.normal(size=(40, width))[rng.integers(40, size=n)] + 0.5 * rng.normal(size=(n, width))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("width", [3, 24])
@pytest.mark.parametrize("degree", [0.0, 0.3])
def test_nearly_all_of_the_largest_products(width, degree):
    """Beside all products by numpy, among a third of the nodes, each raised by a number of its own."""
    vectors = clustered(20_000, width)
    raised = degree * np.log1p(np.random.default_rng(1).integers(20, size=len(vectors))).astype(np.float32)
    members = np.sort(np.random.default_rng(2).permutation(len(vectors))[:7_000])
    queries = vectors[:200]
    found = InnerProductIndex(vectors, raised, members)(queries, 20)
    product = queries @ vectors[members].T + raised[members]
    wanted = members[np.argsort(-product, axis=1)[:, :20]]
    share = np.mean([len(set(a) & set(b)) / 20 for a, b in zip(found.tolist(), wanted.tolist(), strict=True)])
    assert share > 0.85


def test_the_same_each_time_and_threads_as_they_were():
    """Threads that build an index together build another one each time: it is built by one."""
    vectors, before = clustered(30_000, 8), faiss.omp_get_max_threads()
    raised, members = np.zeros(len(vectors), np.float32), np.arange(len(vectors))
    one, two = (InnerProductIndex(vectors, raised, members)(vectors[:500], 50) for _ in range(2))
    assert np.array_equal(one, two)
    assert faiss.omp_get_max_threads() == before


def test_fewer_members_than_asked_for():
    vectors = clustered(50, 4)
    found = InnerProductIndex(vectors, np.zeros(50, np.float32), np.arange(5))(vectors[:3], 9)
    assert found.shape == (3, 5)
    assert np.array_equal(np.sort(found, axis=1), np.tile(np.arange(5), (3, 1)))
