"""A ranked list against hidden links: equal to scikit-learn and to plain loops, ties in no order, missed links
counted.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from llwlc.errors import InputError
from llwlc.ranking._list_quality import NODE_TOP, RankingReport, Reliability, compute_list_quality

ALL = np.array([[u, v] for u in range(12) for v in range(u + 1, 12)])


def problem(seed: int, levels: int):
    """Candidates among twelve nodes, some of them hidden links, scores with ties, and hidden links that are no
    candidates.
    """
    rng = np.random.default_rng(seed)
    candidate = rng.random(len(ALL)) < 0.7
    link = rng.random(len(ALL)) < 0.3
    link[0] = True
    pairs, hidden = ALL[candidate], ALL[link]
    return rng.integers(levels, size=len(pairs)).astype(float), link[candidate], pairs, hidden


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), levels=st.sampled_from([1, 3, 8, 10**6]))
def test_average_precision_is_scikit_learns_times_the_share_that_are_candidates(seed, levels):
    score, hit, pairs, hidden = problem(seed, levels)
    found = compute_list_quality(score, hit, pairs, hidden).average_precision.value
    wanted = average_precision_score(hit, score) * hit.sum() / len(hidden) if hit.any() else 0.0
    assert found == pytest.approx(wanted, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), levels=st.sampled_from([2, 4, 10**6]))
def test_precision_at_ten_is_the_mean_over_orders_of_equals(seed, levels):
    score, hit, pairs, hidden = problem(seed, levels)
    if len(score) < 10:
        return
    rng, shares = np.random.default_rng(seed), []
    for _ in range(400):
        order = np.lexsort((rng.random(len(score)), -score))
        shares.append(hit[order[:10]].mean())
    assert compute_list_quality(score, hit, pairs, hidden).precision[10].value == pytest.approx(
        np.mean(shares), abs=0.05
    )


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_node_metrics_without_ties_equal_a_plain_loop(seed):
    score, hit, pairs, hidden = problem(seed, 10**9)
    score = np.random.default_rng(seed).permutation(len(score)).astype(float)
    mrr, top = [], []
    for node in np.unique(hidden):
        mine = (pairs == node).any(1)
        order = np.argsort(-score[mine])
        hits = hit[mine][order]
        mrr.append(1 / (1 + int(np.flatnonzero(hits)[0])) if hits.any() else 0.0)
        top.append(hits[:NODE_TOP].sum() / NODE_TOP)
    found = compute_list_quality(score, hit, pairs, hidden)
    assert found.node_mrr.value == pytest.approx(np.mean(mrr))
    assert found.node_precision.value == pytest.approx(np.mean(top))
    assert found.node_mrr.error == pytest.approx(np.std(mrr, ddof=1) / np.sqrt(len(mrr)))


def test_no_candidate_and_no_hidden_link():
    nothing = np.zeros((0, 2), dtype=np.int64)
    found = compute_list_quality(np.zeros(0), np.zeros(0, bool), nothing, np.array([[0, 1]]))
    assert (found.average_precision.value, found.node_mrr.value, dict(found.precision)) == (0.0, 0.0, {})
    with pytest.raises(InputError, match="no link is hidden"):
        compute_list_quality(np.ones(1), np.ones(1, bool), np.array([[0, 1]]), nothing)


def test_recall_and_chance_follow_from_the_counts_of_a_report():
    report = RankingReport("test", 50, 20, 400, 30, 90, {}, Reliability((), 0.0))
    assert (report.recall, report.chance, report.sampled) == (0.4, 0.05, True)
    assert RankingReport.from_dict(report.as_dict()) == report
