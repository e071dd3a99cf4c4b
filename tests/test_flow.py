"""On the way of a pair to its probability, and of a fit, nothing is done twice."""

import subprocess

import pytest
import torch

import llwlc
from llwlc import _predictor as predictor
from llwlc import splits
from llwlc._predictor import LinkPredictor
from llwlc._runs import scoring as run_scoring
from llwlc.bases import _kernel_compilation as warmup
from llwlc.graph._graph import Graph
from llwlc.models._llwlc import scoring
from llwlc.splits._heart import with_hard_negatives
from llwlc.subgraphs import _link_inputs as link_inputs
from people import QUICK, people

PAIRS = torch.tensor([[a, b] for a in range(60) for b in range(a + 1, 90)])


@pytest.fixture(scope="module")
def model() -> LinkPredictor:
    return LinkPredictor(cache=None, minutes=None, device="cpu", **QUICK).fit(people())


def counted(monkeypatch, owner, name: str) -> list:
    """The calls of a function from now on."""
    calls, real = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *a, **k: calls.append(a) or real(*a, **k))
    return calls


def test_the_network_is_packed_once_however_many_pairs_and_calls(model, tmp_path, monkeypatch):
    model.save(tmp_path / "run")
    read = LinkPredictor.load(tmp_path / "run", device="cpu")
    monkeypatch.setattr(scoring, "CHUNK", 100)
    packed = counted(monkeypatch, scoring, "CompiledNetwork")
    read.score(PAIRS[:1000])
    read.score(PAIRS[1000:])
    assert len(packed) == 1


def test_pairs_are_looked_at_once(model, monkeypatch):
    monkeypatch.setattr(scoring, "CHUNK", 100)
    looked = counted(monkeypatch, run_scoring, "check_pairs")
    again = counted(monkeypatch, link_inputs, "check_pairs")
    model.score(PAIRS[:1000])
    assert len(looked) == 1
    assert not again


def test_scores_do_not_depend_on_the_size_of_chunks(model, monkeypatch):
    whole = model.score(PAIRS[:1000])
    monkeypatch.setattr(scoring, "CHUNK", 97)
    parts = model.score(PAIRS[:1000])
    torch.testing.assert_close(parts.score, whole.score, rtol=0, atol=1e-9)


def test_no_process_is_started_on_the_way_of_a_pair(model, monkeypatch):
    model.score(PAIRS[:3])
    started = counted(monkeypatch, subprocess, "run")
    warmup._READY.clear()
    model.score(PAIRS[:3])
    model.recommend(top=3)
    llwlc.link_bases(model.graph_, PAIRS[:3])
    assert not started


def test_validation_links_are_scored_once_an_epoch_and_no_more(monkeypatch):
    calls, real = [], scoring.Scorer.__call__
    monkeypatch.setattr(
        scoring.Scorer,
        "__call__",
        lambda self, data, output=0: calls.append((len(data), output)) or real(self, data, output),
    )
    split = splits.make(people(), protocol="seal", seed=1)
    epochs = []
    LinkPredictor(cache=None, minutes=None, device="cpu", **QUICK).fit(people(), split=split, on_epoch=epochs.append)
    random = [links for links, output in calls if output == scoring.RANDOM_OUTPUT]
    assert random.count(len(split.valid_pos)) == 2 * len(epochs)  # links and as many negatives
    assert len(random) == 2 * len(epochs)
    among = [links for links, output in calls if output == scoring.CANDIDATES_OUTPUT]
    assert (
        len(set(among[: 2 * len(epochs)])) <= 2
    )  # the same candidates at each epoch; the rest calibrates and measures
    assert sum(among[2 * len(epochs) :]) < 3 * 90 * 100


def test_no_graph_is_hashed_twice(tmp_path, monkeypatch):
    hashed = []
    real = Graph.__dict__["digest"].func
    watched = type(Graph.__dict__["digest"])(lambda self: hashed.append(id(self)) or real(self))
    watched.__set_name__(Graph, "digest")
    monkeypatch.setattr(Graph, "digest", watched)
    split = splits.make(people(), protocol="seal", seed=1)  # one message graph for all stages
    LinkPredictor(cache=tmp_path, minutes=None, device="cpu", **QUICK).fit(people(), split=split)
    assert len(set(hashed)) == len(hashed)


def test_the_forecast_comes_before_the_work_and_never_for_a_finished_run(tmp_path):
    order: list[str] = []

    def fit() -> LinkPredictor:
        return LinkPredictor(cache=None, minutes=None, device="cpu", **QUICK).fit(
            people(),
            out=tmp_path / "run",
            on_forecast=lambda ahead: order.append(f"forecast of {ahead.links} links"),
            on_epoch=lambda record: order.append(f"epoch {record.epoch}"),
        )

    fit()
    assert order[0].startswith("forecast of ")
    assert order[1:] == ["epoch 0", "epoch 1"]
    order.clear()
    fit()
    assert order == []


def test_hard_negatives_are_ranked_by_the_same_features_in_fit_and_evaluate(tmp_path, monkeypatch):
    """The compact features of a run would give other negatives under the same name."""
    graph = people()
    LinkPredictor(cache=None, minutes=None, device="cpu", features=2, **QUICK).fit(graph, out=tmp_path / "run")
    loaded = LinkPredictor.load(tmp_path / "run", device="cpu", cache=None)

    def few(split, *, num_hard):
        return with_hard_negatives(split, num_hard=6)

    monkeypatch.setattr("llwlc.splits._heart.with_hard_negatives", few)
    wanted, seen = splits.make(graph, protocol="heart", seed=2), []
    monkeypatch.setattr(predictor, "fit_model", lambda model, graph, split, **k: seen.append(split) or loaded.fitted_)
    loaded.evaluate("heart", seed=2)
    assert torch.equal(seen[0].test_neg, wanted.test_neg)
    assert torch.equal(seen[0].valid_neg, wanted.valid_neg)
    assert torch.equal(loaded.graph_.x, graph.x)


def test_sparse_features_come_back_from_a_run(tmp_path):
    import scipy.sparse

    graph = people()
    sparse = Graph(graph.indptr, graph.indices, x=scipy.sparse.csr_array((graph.x > 1).numpy().astype("float32")))
    model = LinkPredictor(cache=None, minutes=None, device="cpu", **QUICK).fit(sparse, out=tmp_path / "run")
    again = LinkPredictor.load(tmp_path / "run")
    assert (again.graph_.x != sparse.x).nnz == 0
    assert torch.equal(again.score(PAIRS[:5]).score, model.score(PAIRS[:5]).score)
