"""Runs of format 1, written by the code before format 2 and committed beside this file, load and keep their scores."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from llwlc.errors import InputError
from llwlc.predict.predictor import LinkPredictor
from llwlc.predict.run_format import FORMAT, is_finished
from people import people

HERE = Path(__file__).parent / "format_1"
RUNS = ("anchored", "paper", "lanczosnet")


@pytest.fixture(params=RUNS)
def name(request) -> str:
    return request.param


def expected(name: str) -> dict:
    return json.loads((HERE / f"{name}.json").read_text())


def test_scores_and_probabilities_are_what_they_were(name):
    model, then = LinkPredictor.load(HERE / name), expected(name)
    now = model.score(torch.tensor(then["pairs"]), prior=0.2)
    torch.testing.assert_close(now.score, torch.tensor(then["score"], dtype=torch.float64), rtol=0, atol=1e-6)
    torch.testing.assert_close(
        now.probability, torch.tensor(then["probability"], dtype=torch.float64), rtol=0, atol=1e-6
    )


def test_recommendations_are_ranked_as_then_and_say_that_nothing_calibrates_them(name):
    """Candidates are found in another way now; what both ways find has the probability it had."""
    model, then = LinkPredictor.load(HERE / name), expected(name)
    found = model.recommend(top=10**6)
    assert not found.calibrated
    now = {frozenset((r.source, r.target)): r.probability for r in found}
    both = [(now[frozenset((s, t))], p) for s, t, _, p in then["recommend"] if frozenset((s, t)) in now]
    assert both
    assert [a for a, _ in both] == pytest.approx([b for _, b in both], abs=1e-6)


def test_the_run_says_what_it_lacks_and_how_it_was_made(name):
    info = LinkPredictor.load(HERE / name).run.info
    assert (info.format, info.lacks, info.graph_name, info.preset_name) == (
        1,
        ("raw features", "calibrated candidates"),
        "graph",
        {"lanczosnet": "unconstrained"}.get(name, name),
    )
    assert is_finished(HERE / name)


def test_saved_again_it_is_of_this_format_with_the_same_scores(name, tmp_path):
    model = LinkPredictor.load(HERE / name)
    model.save(tmp_path / "run")
    again, pairs = LinkPredictor.load(tmp_path / "run"), torch.tensor(expected(name)["pairs"])
    assert again.run.info.format == FORMAT
    assert torch.equal(again.score(pairs).score, model.score(pairs).score)
    assert again.metrics == model.metrics


def test_the_same_fit_finds_its_run_of_format_1():
    """The fingerprint of options that could be chosen then has not changed."""
    small = {"channels": 8, "filters": 2, "filter_hidden": 8, "head": 8, "filtered_channels": 8, "features": 4}
    then = {
        "ranking": False,
        "pair_inputs": False,
        "select": "auc",
        "draw_by": "number",
        "cap_by": "pair",
    }  # what there was no choice of
    model = LinkPredictor("anchored", epochs=2, copies=0, negative_pool=1, cache=None, device="cpu", **small, **then)
    model.fit(people(), protocol="seal", seed=1, out=HERE / "anchored", on_epoch=lambda _: pytest.fail("trained again"))
    assert model.run.info.format == 1


def test_hard_negatives_by_raw_features_are_refused_as_it_has_none():
    with pytest.raises(InputError, match="keeps compact ones only: fit again"):
        LinkPredictor.load(HERE / "anchored", device="cpu", cache=None).evaluate("heart")


def test_a_damaged_one_is_refused(tmp_path):
    run = Path(shutil.copytree(HERE / "anchored", tmp_path / "run"))
    data = bytearray((run / "graph.safetensors").read_bytes())
    data[-3] ^= 1
    (run / "graph.safetensors").write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"graph\.safetensors is damaged"):
        LinkPredictor.load(run)
