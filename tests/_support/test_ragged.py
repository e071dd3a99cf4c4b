"""Ragged index arithmetic: against Python's own lists, and pad as the transpose of unpad."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from llwlc._support.ragged import expand, pad, pointer, slots, unpad

SIZES = st.lists(st.integers(0, 5), max_size=6)


@settings(deadline=None, max_examples=40)
@given(sizes=SIZES, data=st.data())
def test_pointer_and_expand_are_ranges_one_behind_the_other(sizes, data):
    starts = data.draw(st.lists(st.integers(0, 50), min_size=len(sizes), max_size=len(sizes)))
    long = torch.long
    at, owner = expand(torch.tensor(starts, dtype=long), torch.tensor(sizes, dtype=long))
    assert at.tolist() == [i for a, n in zip(starts, sizes, strict=True) for i in range(a, a + n)]
    assert owner.tolist() == [b for b, n in enumerate(sizes) for _ in range(n)]
    assert pointer(torch.tensor(sizes, dtype=long)).tolist() == [sum(sizes[:b]) for b in range(len(sizes) + 1)]


@settings(deadline=None, max_examples=40)
@given(sizes=SIZES)
def test_padding_puts_every_row_at_its_place_and_back(sizes):
    ptr = pointer(torch.tensor(sizes, dtype=torch.long))
    layout = slots(ptr)
    width = max(sizes, default=0)
    assert (layout.graphs, layout.width) == (len(sizes), width)
    x = 1 + torch.arange(2 * sum(sizes), dtype=torch.float64).reshape(-1, 2)
    padded = pad(x, layout)
    assert padded.shape == (len(sizes), width, 2)
    for b, n in enumerate(sizes):
        assert torch.equal(padded[b, :n], x[ptr[b] : ptr[b + 1]])
        assert not padded[b, n:].any()
    assert torch.equal(unpad(padded, layout), x)


@pytest.mark.parametrize("sizes", [[], [0], [0, 0], [3], [2, 0, 4]])
def test_pad_and_unpad_are_transposes(sizes):
    """⟨pad x, y⟩ = ⟨x, unpad y⟩, and the gradients that rest on it, also where nothing is there."""
    layout = slots(pointer(torch.tensor(sizes, dtype=torch.long)))
    g = torch.Generator().manual_seed(0)
    x = torch.randn(sum(sizes), 2, dtype=torch.float64, generator=g)
    y = torch.randn(layout.graphs, layout.width, 2, dtype=torch.float64, generator=g)
    torch.testing.assert_close((pad(x, layout) * y).sum(), (x * unpad(y, layout)).sum())


@pytest.mark.parametrize("sizes", [[3], [2, 0, 4]])
def test_gradients_of_padding(sizes):
    layout = slots(pointer(torch.tensor(sizes)))
    g = torch.Generator().manual_seed(0)
    x = torch.randn(sum(sizes), 2, dtype=torch.float64, generator=g, requires_grad=True)
    y = torch.randn(layout.graphs, layout.width, 2, dtype=torch.float64, generator=g, requires_grad=True)
    for check in (gradcheck, gradgradcheck):
        assert check(lambda x: pad(x, layout), (x,))
        assert check(lambda y: unpad(y, layout), (y,))
