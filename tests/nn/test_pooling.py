"""Poolings: PyG's and plain loops as oracles, ties, short graphs."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from llwlc._support.ragged import pointer, slots
from llwlc.nn import class_pool, max_pool, sort_pool
from llwlc.nn._pooling import sort_pool_by_last
from llwlc.nn._readouts import DGCNNReadout

F64 = torch.float64
SIZES = [4, 1, 9, 2, 6]
# torch_geometric, on import
quiet = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def shuffle_within(ptr: torch.Tensor, seed: int) -> torch.Tensor:
    """A permutation of the rows that leaves every graph its own."""
    g = torch.Generator().manual_seed(seed)
    return torch.cat([int(a) + torch.randperm(int(n), generator=g) for a, n in zip(ptr, ptr.diff(), strict=False)])


@quiet
@pytest.mark.parametrize("k", [1, 4, 9, 12])
def test_sort_pool_is_pygs_where_nothing_ties(k):
    from torch_geometric.nn import SortAggregation

    ptr = pointer(torch.tensor(SIZES))
    x = randn(int(ptr[-1]), 3)
    expected = SortAggregation(k)(x, torch.repeat_interleave(ptr.diff())).reshape(len(SIZES), k, 3)
    assert torch.equal(sort_pool(x, ptr, k), expected)
    assert torch.equal(sort_pool_by_last(x, ptr, k), expected)


@settings(deadline=None, max_examples=30)
@given(
    sizes=st.lists(st.integers(0, 8), min_size=1, max_size=5),
    k=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_sort_pool_with_ties_does_not_see_node_order(sizes, k, seed):
    ptr = pointer(torch.tensor(sizes))
    # after a ReLU most entries are zero; a few levels make the others tie too
    x = randn(int(ptr[-1]), 3, seed=seed).round().relu()
    pooled = sort_pool(x, ptr, k)
    assert torch.equal(sort_pool(x[shuffle_within(ptr, seed)], ptr, k), pooled)
    for b, n in enumerate(sizes):
        rows = x[ptr[b] : ptr[b + 1]].tolist()
        expected = sorted(rows, key=lambda row: row[::-1], reverse=True)[:k] + [[0.0] * 3] * max(0, k - n)
        assert pooled[b].tolist() == expected


@quiet
def test_ties_are_where_pygs_pooling_depends_on_node_order():
    """Why there is a `sort_pool` of our own."""
    from torch_geometric.nn import SortAggregation

    x, ptr = torch.tensor([[1.0, 0.0], [3.0, 0.0]]), torch.tensor([0, 2])
    pyg, index = SortAggregation(1), torch.tensor([0, 0])
    assert not torch.equal(pyg(x, index), pyg(x.flip(0), index))
    assert torch.equal(sort_pool(x, ptr, 1), sort_pool(x.flip(0), ptr, 1))


def test_a_graph_with_fewer_rows_is_filled_with_zeros():
    x, ptr = torch.tensor([[-1.0], [2.0]]), torch.tensor([0, 2, 2])
    assert sort_pool(x, ptr, 3).squeeze(2).tolist() == [[2, -1, 0], [0, 0, 0]]


def test_sort_pool_has_gradients():
    x, ptr = randn(10, 2).requires_grad_(), torch.tensor([0, 4, 5, 10])
    assert gradcheck(lambda x: sort_pool(x, ptr, 4), (x,))


def test_class_pool_is_the_mean_and_log_size_of_each_class():
    ptr = pointer(torch.tensor([5, 0, 7]))
    x, label = randn(12, 3), torch.randint(4, (12,), generator=torch.Generator().manual_seed(1))
    pooled = class_pool(x, label, ptr, 4)
    assert pooled.shape == (3, 4, 4)
    for b in range(3):
        s = slice(int(ptr[b]), int(ptr[b + 1]))
        for c in range(4):
            rows = x[s][label[s] == c]
            mean = rows.mean(0) if len(rows) else torch.zeros(3, dtype=F64)
            size = torch.log(torch.tensor([1.0 + len(rows)], dtype=F64))
            torch.testing.assert_close(pooled[b, c], torch.cat([mean, size]))


def test_class_pool_does_not_see_node_order_and_has_gradients():
    ptr = pointer(torch.tensor(SIZES))
    n = int(ptr[-1])
    x, label = randn(n, 2), torch.arange(n) % 3
    order = shuffle_within(ptr, 5)
    torch.testing.assert_close(
        class_pool(x[order], label[order], ptr, 3), class_pool(x, label, ptr, 3), rtol=1e-14, atol=1e-14
    )
    assert gradcheck(lambda x: class_pool(x, label, ptr, 3), (x.requires_grad_(),))


def test_max_pool_is_the_largest_entry_of_each_channel():
    ptr = pointer(torch.tensor(SIZES))
    x = randn(int(ptr[-1]), 3).relu()
    expected = torch.stack([x[a:b].amax(0) for a, b in pairwise(ptr)])
    assert torch.equal(max_pool(x, slots(ptr)), expected)


def test_ties_in_the_last_channel_are_ordered_by_the_sum_not_by_place():
    ptr = pointer(torch.tensor([5]))
    x = torch.tensor([[1.0, 0.0], [3.0, 0.0], [2.0, 5.0], [4.0, 0.0], [-1.0, 7.0]], dtype=F64)
    expected = [[-1, 7], [2, 5], [4, 0], [3, 0]]
    for seed in range(5):
        order = shuffle_within(ptr, seed)
        assert sort_pool_by_last(x[order], ptr, 4)[0].tolist() == expected


@pytest.mark.parametrize("rows", [3, 10, 15, 30])
def test_seals_readout_has_the_width_it_says_and_does_not_see_node_order(rows):
    ptr = pointer(torch.tensor(SIZES))
    x = torch.tanh(randn(int(ptr[-1]), 7))
    readout = DGCNNReadout(7, rows).double()
    found = readout.pool(x, ptr)
    assert found.shape == (len(SIZES), readout.out_channels)
    # SEAL's: what is left of k after pooling by two, and a kernel of five
    assert readout.out_channels == 32 * ((max(rows, 10) - 2) // 2 + 1 - 5 + 1)
    assert torch.equal(readout.pool(x[shuffle_within(ptr, 1)], ptr), found)
