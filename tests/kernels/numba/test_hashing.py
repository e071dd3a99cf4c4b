"""Draws in the kernels are those of `llwlc.support.counter`, bit for bit."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llwlc.kernels.numba import hashing
from llwlc.support import counter

word = st.integers(-(2**63), 2**63 - 1)
node = st.integers(0, 2**40)


@settings(max_examples=100, deadline=None)
@given(seed=word, epoch=st.integers(0, 2**31), stream=st.integers(0, 9), a=node, b=node, x=node)
def test_every_draw_is_the_reference_one(seed, epoch, stream, a, b, x):
    low, high = torch.tensor(min(a, b)), torch.tensor(max(a, b))
    bits = counter.draw(seed, epoch, low, high, torch.tensor(x), stream)
    key = np.uint64(hashing.link_key(seed, epoch, stream, a, b))
    assert hashing.draw(key, x) == bits.item()
    assert np.isclose(hashing.normal(key, x), counter.normal(bits).item(), rtol=1e-12, atol=1e-12)
