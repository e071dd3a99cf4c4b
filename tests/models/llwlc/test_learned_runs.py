"""constraints=learned through fit, score, recommend, the run folder and an interrupted fit."""

import pytest
import torch

from llwlc._predictor import LinkPredictor
from people import people

PAIRS = torch.tensor([[a, b] for a in range(6) for b in range(40, 60, 3)])
OPTIONS = {
    "constraints": "learned",
    "learned_columns": 1,
    "epochs": 3,
    "copies": 0,
    "steps": 4,
    "hops": 1,
    "device": "cpu",
    "cache": None,
    "minutes": None,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "learned"
    return folder, LinkPredictor(**OPTIONS).fit(people(), out=folder)


def test_a_run_is_read_with_its_learned_constraints(run):
    folder, model = run
    again = LinkPredictor.load(folder, device="cpu")
    torch.testing.assert_close(again.score(PAIRS).probability, model.score(PAIRS).probability, rtol=0, atol=1e-6)
    ours, theirs = model.recommend(top=10), again.recommend(top=10)
    assert [(a.source, a.target) for a in ours] == [(b.source, b.target) for b in theirs]


def test_the_constraints_were_trained(run):
    _, model = run
    fitted = model.run_.fitted.model
    state = fitted.state()
    assert any(name.startswith("constraints.layers") for name in state)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        fresh = type(model.run_.fitted.model.fitted)(
            model.run_.fitted.model.preset.net, model.run_.fitted.model.preset.basis
        )
    weight = fresh.state_dict()["constraints.layers.0.weight"]
    assert not torch.allclose(state["constraints.layers.0.weight"], weight)


def test_an_interrupted_fit_goes_on_to_the_same_scores(run, tmp_path):
    _, model = run

    class Stop(Exception):
        pass

    def stop(epoch, *rest):
        raise Stop

    with pytest.raises(Stop):
        LinkPredictor(**OPTIONS).fit(people(), out=tmp_path / "run", on_epoch=stop)
    resumed = LinkPredictor(**OPTIONS).fit(people(), out=tmp_path / "run")
    torch.testing.assert_close(resumed.score(PAIRS).score, model.score(PAIRS).score, rtol=0, atol=1e-9)
