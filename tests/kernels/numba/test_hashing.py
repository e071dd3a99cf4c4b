"""Draws in the kernels are those of `llwlc._support.counter_hash`, bit for bit."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llwlc._kernels.numba import hashing
from llwlc._support import counter_hash

word = st.integers(-(2**63), 2**63 - 1)
identity = st.integers(0, 2**63 - 1)


@settings(max_examples=100, deadline=None)
@given(seed=word, epoch=st.integers(0, 2**31), stream=st.integers(0, 9), nodes=st.tuples(identity, identity, identity))
def test_every_draw_is_the_reference_one(seed, epoch, stream, nodes):
    """By the numbers of nodes, and by what else they are known by."""
    a, b, x = (torch.tensor(node) for node in nodes)
    bits = counter_hash.draw(seed, epoch, torch.minimum(a, b), torch.maximum(a, b), x, stream)
    for draw_ids, (u, v, w) in ((np.array([], np.uint64), nodes), (np.array(nodes, np.uint64), (0, 1, 2))):
        key = np.uint64(hashing.link_key(seed, epoch, stream, u, v, draw_ids))
        who = np.uint64(hashing.identity(draw_ids, w))
        assert hashing.draw(key, who) == bits.item()
        how = hashing.CapDraw(*map(np.uint64, hashing.cap_draw(seed, stream, u, v, draw_ids)))
        of_cap = counter_hash.window(seed, torch.minimum(a, b), torch.maximum(a, b), x, stream)
        assert hashing.window_draw(how, who) == of_cap.item()
        assert np.isclose(hashing.normal(key, who), counter_hash.normal(bits).item(), rtol=1e-12, atol=1e-12)
