"""Each metric equals its reference, ties included."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import average_precision_score, roc_auc_score

from llwlc import metrics
from llwlc.errors import InputError

# scores on a coarse grid, so that ties are the rule
scores = arrays(np.float64, st.integers(1, 40), elements=st.integers(-3, 6).map(lambda i: i / 4))


@pytest.fixture(scope="module")
def evaluator():
    """ogb's evaluator for a dataset name; importing ogb imports PyG, which warns that torch.jit is going away."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from ogb.linkproppred import Evaluator
    return Evaluator


@settings(deadline=None, max_examples=100)
@given(pos=scores, neg=scores, k=st.integers(1, 45))
def test_hits_are_ogbs(evaluator, pos, neg, k):
    reference = evaluator("ogbl-collab")
    reference.K = k
    expected = reference.eval({"y_pred_pos": torch.from_numpy(pos), "y_pred_neg": torch.from_numpy(neg)})[f"hits@{k}"]
    found = metrics.hits_at_k(pos, torch.from_numpy(neg), k)
    assert found.value == pytest.approx(expected)
    assert found.num_negatives == len(neg)
    assert found.false_positive_rate == min(k / len(neg), 1)


@settings(deadline=None, max_examples=60)
@given(data=st.data(), pos=scores, width=st.integers(1, 12))
def test_mrr_of_own_negatives_is_ogbs(evaluator, data, pos, width):
    neg = data.draw(arrays(np.float64, (len(pos), width), elements=st.integers(-3, 6).map(lambda i: i / 4)))
    expected = evaluator("ogbl-citation2").eval(
        {"y_pred_pos": torch.from_numpy(pos), "y_pred_neg": torch.from_numpy(neg)}
    )
    assert metrics.mrr(pos, neg) == pytest.approx(float(expected["mrr_list"].double().mean()), rel=1e-6)
    for k in (1, 3, 10):
        assert metrics.hits_at_k(pos, neg, k).value == pytest.approx(float(expected[f"hits@{k}_list"].double().mean()))


@settings(deadline=None, max_examples=60)
@given(pos=scores, neg=scores)
def test_pooled_metrics_are_ogbs_and_sklearns(evaluator, pos, neg):
    pool = torch.from_numpy(neg).expand(len(pos), -1)
    expected = evaluator("ogbl-citation2").eval({"y_pred_pos": torch.from_numpy(pos), "y_pred_neg": pool})["mrr_list"]
    assert metrics.mrr(pos, neg) == pytest.approx(float(expected.double().mean()), rel=1e-6)
    label, score = np.r_[np.ones(len(pos)), np.zeros(len(neg))], np.r_[pos, neg]
    assert metrics.auc(pos, neg) == pytest.approx(roc_auc_score(label, score))
    assert metrics.average_precision(pos, neg) == pytest.approx(average_precision_score(label, score))


@settings(deadline=None, max_examples=60)
@given(neg=scores, k=st.integers(1, 40))
def test_hits_at_a_rate_are_hits_at_its_k(neg, k):
    k = min(k, len(neg))
    pos = np.linspace(-1, 2, 17)
    assert metrics.hits_at_fpr(pos, neg, k / len(neg)) == metrics.hits_at_k(pos, neg, k)


def test_the_rate_beside_hr_100_is_that_of_the_protocol_table():
    rate = {
        n: metrics.hits_at_k([1.0], np.zeros(n), 100).false_positive_rate
        for n in (1013, 1055, 527, 735, 910, 455, 8864, 4432)
    }
    assert [round(100 * r, 1) for r in rate.values()] == [9.9, 9.5, 19.0, 13.6, 11.0, 22.0, 1.1, 2.3]


@settings(deadline=None, max_examples=40)
@given(
    prob=arrays(np.float64, st.integers(1, 60), elements=st.floats(0, 1)),
    bins=st.integers(1, 20),
    seed=st.integers(0, 9),
)
def test_calibration_error_by_its_definition(prob, bins, seed):
    label = np.random.default_rng(seed).integers(0, 2, len(prob))
    expected = 0.0
    for i in range(bins):
        inside = (np.floor(prob * bins) == i) | ((i == bins - 1) & (prob == 1))
        if inside.any():
            expected += inside.mean() * abs(label[inside].mean() - prob[inside].mean())
    assert metrics.calibration_error(prob, label, bins=bins) == pytest.approx(expected, abs=1e-12)


def test_evaluate_collects_everything():
    rng = np.random.default_rng(0)
    pos, neg = torch.from_numpy(rng.normal(1, 1, 50)).float(), torch.from_numpy(rng.normal(0, 1, 200)).float()
    found = metrics.evaluate(pos, neg, ks=(10, 300), rates=(0.05,))
    flat = found.as_dict()
    assert flat["hits@10"] == metrics.hits_at_k(pos, neg, 10).value == flat["hits@fpr0.05"]
    assert flat["hits@10_fpr"] == 0.05
    assert (flat["hits@300"], flat["hits@300_fpr"]) == (1.0, 1.0)
    assert (flat["auc"], flat["ap"], flat["mrr"]) == (
        metrics.auc(pos, neg),
        metrics.average_precision(pos, neg),
        metrics.mrr(pos, neg),
    )
    assert (found.num_positives, found.num_negatives) == (50, 200)
    own = metrics.evaluate(pos, neg.reshape(50, 4))
    assert own.num_negatives == 4
    assert own.auc == found.auc
    assert str(found.hits[0]) == f"HR@10 {100 * flat['hits@10']:.2f} (200 negatives, 5.0 % false positives)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.hits_at_k([0.5, float("nan")], [0.1], 1), "pos: 1 of 2 values are NaN"),
        (lambda: metrics.auc([0.5], torch.tensor([float("nan")])), "neg: 1 of 1"),
        (lambda: metrics.mrr([], [0.1]), "at least one link"),
        (lambda: metrics.mrr([1, 2], [[0.1]]), r"\[m, k\] with m = 2"),
        (lambda: metrics.hits_at_k([1], [0], 0), "K of at least 1"),
        (lambda: metrics.hits_at_fpr([1], [0], 0), "above 0"),
        (lambda: metrics.calibration_error([1.5], [1]), "between 0 and 1"),
        (lambda: metrics.calibration_error([0.5], [2]), "labels must be 0 or 1"),
        (lambda: metrics.calibration_error([0.5], [1, 0]), "as many labels"),
        (lambda: metrics.calibration_error([0.5], [1], bins=0), "bins=0"),
    ],
)
def test_bad_scores_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
