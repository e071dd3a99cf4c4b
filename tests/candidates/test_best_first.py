"""Lists by rows, against plain Python on random and ragged proposals."""

import networkx as nx
import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llwlc._candidates.candidate_lists import list_proposals
from llwlc.graph._graph import Graph

seeds = st.integers(0, 999)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(2, 25), st.floats(0, 0.6), st.integers(1, 6), st.integers(0, 6), st.integers(1, 8), st.booleans(), seeds
)
def test_lists_hold_each_open_proposal_once_best_first_of_equals_the_smaller_number_first(
    n, chance, walked, similar, length, told, seed
):
    rng = np.random.default_rng(seed)
    graphs = [nx.gnp_random_graph(n, chance, seed=seed), nx.gnp_random_graph(n, 0.1, seed=seed + 1)][: 1 + seed % 2]
    closed = [
        Graph.from_edges(torch.tensor(list(g.edges), dtype=torch.long).reshape(-1, 2), num_nodes=n) for g in graphs
    ]
    sources = rng.integers(n, size=9)
    partner = rng.integers(-1, n, (9, walked + similar))
    for row in partner[:, :walked]:  # one search names nobody twice
        row[:] = np.where(np.isin(np.arange(walked), np.unique(row, return_index=True)[1]), row, -1)
    walk = rng.integers(0, 3, (9, walked)) / 4
    # whole numbers, so that many scores are equal and every sum is exact
    vectors, bias = rng.integers(-1, 2, (n, 3)).astype(np.float32), rng.integers(0, 3, n).astype(np.float32)
    found = list_proposals(
        partner[:, :walked].copy(),
        walk,
        partner[:, walked:].copy(),
        sources,
        closed,
        bias,
        0.5,
        vectors if told else None,
        length,
    )
    for i, u in enumerate(sources.tolist()):
        said = {int(v): w for v, w in zip(partner[i, :walked], walk[i], strict=True)}
        live = []
        for v in {v for v in partner[i].tolist() if v >= 0 and v != u and not any(g.has_edge(u, v) for g in graphs)}:
            near = float(vectors[u] @ vectors[v]) if told else 0.0
            if not told or near > 0 or said.get(v, 0.0) > 0:
                live.append((-(near + bias[v] + 0.5 * said.get(v, 0.0)), v))
        wanted = sorted(live)[:length]
        assert found.partner[i].tolist() == [v for _, v in wanted] + [-1] * (length - len(wanted))
        assert found.score[i].tolist() == [-s for s, _ in wanted] + [-np.inf] * (length - len(wanted))
