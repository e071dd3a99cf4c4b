"""Recommendations measured by hidden links: the candidates are recommend's, the truth is what the split hides."""

import pytest
import torch
from typer.testing import CliRunner

from llwlc.candidates.retrieval import candidates
from llwlc.cli.app import app
from llwlc.errors import InputError
from llwlc.heuristics import adamic_adar
from llwlc.metrics import average_precision
from llwlc.predict.predictor import LinkPredictor
from llwlc.splits.negatives import pair_number
from people import QUICK, people


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranking") / "run"
    LinkPredictor(cache=None, device="cpu", **QUICK).fit(people(), protocol="ncn", seed=3, out=folder)
    return folder


@pytest.fixture(scope="module")
def model(folder):
    return LinkPredictor.load(folder, device="cpu")


@pytest.mark.parametrize("hidden", ["test", "held-out"])
def test_counts_and_a_heuristic_by_hand(model, hidden):
    report, split = model.evaluate_ranking(hidden=hidden), model.run.split
    graph = split.test_graph if hidden == "test" else split.train_graph
    truth = split.test_pos if hidden == "test" else torch.cat([split.valid_pos, split.test_pos])
    pairs = torch.cat(list(candidates(graph, model.fitted.features)))
    number = pair_number(pairs, 90)
    if hidden == "test":  # validation links carry no messages under ncn, and are no negatives
        pairs = pairs[~torch.isin(number, pair_number(split.valid_pos, 90))]
    hit = torch.isin(pair_number(pairs, 90), pair_number(truth, 90))
    assert (report.hidden, report.found, report.candidates) == (len(truth), int(hit.sum()), len(pairs))
    score = adamic_adar(graph, pairs)
    wanted = average_precision(score[hit], score[~hit]) * report.recall
    assert report.methods["Adamic–Adar"].average_precision.value == pytest.approx(wanted)
    assert set(report.methods) == {"llwlc", "common neighbours", "Adamic–Adar", "resource allocation", "cosine of Â²X"}


def test_the_network_is_asked_about_the_same_pairs(model):
    report, split = model.evaluate_ranking(), model.run.split
    pairs = torch.cat(list(candidates(split.test_graph, model.fitted.features)))
    pairs = pairs[~torch.isin(pair_number(pairs, 90), pair_number(split.valid_pos, 90))]
    score = model.score(pairs, graph=split.test_graph).score
    hit = torch.isin(pair_number(pairs, 90), pair_number(split.test_pos, 90))
    best = score.argsort(descending=True)[:10]
    assert report.methods["llwlc"].precision[10].value == pytest.approx(float(hit[best].double().mean()))


def test_what_can_be_hidden(model):
    with pytest.raises(InputError, match="hidden links are test or held-out, got 'valid'"):
        model.evaluate_ranking(hidden="valid")


def test_the_command_prints_the_table_and_its_meaning(folder):
    done = CliRunner().invoke(app, ["evaluate", str(folder), "--ranking", "--hidden", "held-out"])
    assert done.exit_code == 0, done.output
    assert "P@200" in done.stdout
    assert "hidden links (held-out)" in done.stdout
    assert "lower bounds" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--hidden", "test"], "--hidden has no effect without --ranking"),
        (["--ranking", "--protocol", "ncn"], "leave --protocol out"),
        (["--ranking", "--hidden", "all"], "hidden links are test or held-out"),
        (["--ranking", "--seeds", "3"], "--seeds has no effect"),
    ],
)
def test_options_that_do_not_go_together_are_refused(folder, arguments, why):
    done = CliRunner().invoke(app, ["evaluate", str(folder), *arguments])
    assert done.exit_code == 2
    assert why in done.output
