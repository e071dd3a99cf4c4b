"""Recommendations measured by hidden links: the candidates are recommend's, the truth is what the split hides."""

import pytest
import torch
from typer.testing import CliRunner

from llwlc._candidates.retrieval import find_candidates
from llwlc._cli.app import app
from llwlc._predictor import LinkPredictor
from llwlc.errors import InputError
from llwlc.heuristics import HEURISTICS, adamic_adar
from llwlc.heuristics._neighbors import common_neighbors
from llwlc.metrics import average_precision
from llwlc.models._llwlc.scoring import CANDIDATES_OUTPUT, Scorer
from llwlc.ranking import _ranking as ranking
from llwlc.ranking._curve_fitting import fit_candidate_calibration
from llwlc.ranking._evaluation import hide_links, rank_hidden, report_ranking
from llwlc.ranking._list_quality import RankingReport
from llwlc.ranking._ranking import make_candidate_scorer, retriever_of
from llwlc.splits._negatives import pair_number
from people import QUICK, people


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranking") / "run"
    LinkPredictor(cache=None, minutes=None, device="cpu", seed=3, **QUICK).fit(people(), protocol="ncn", out=folder)
    return folder


@pytest.fixture(scope="module")
def model(folder):
    return LinkPredictor.load(folder, device="cpu")


@pytest.mark.parametrize("hidden", ["test", "held-out"])
def test_counts_and_a_heuristic_by_hand(model, hidden):
    report, split = model.evaluate_ranking(hidden=hidden), model.run_.split
    graph = split.test_graph if hidden == "test" else split.train_graph
    truth = split.test_pos if hidden == "test" else torch.cat([split.valid_pos, split.test_pos])
    pairs = find_candidates(retriever_of(graph, model.fitted_.features, model.fitted_.ranking.candidates)).pairs
    number = pair_number(pairs, 90)
    if hidden == "test":  # validation links carry no messages under ncn, and are no negatives
        pairs = pairs[~torch.isin(number, pair_number(split.valid_pos, 90))]
    hit = torch.isin(pair_number(pairs, 90), pair_number(truth, 90))
    assert (report.hidden, report.found, report.candidates) == (len(truth), int(hit.sum()), len(pairs))
    score = adamic_adar(graph, pairs)
    wanted = average_precision(score[hit], score[~hit]) * report.recall
    assert report.methods["Adamic–Adar"].average_precision.value == pytest.approx(wanted)
    assert set(report.methods) == {"llwlc", *(record.title for record in HEURISTICS.records() if not record.sides)}


def test_curves_are_those_of_the_scores_that_the_stored_network_gives(model):
    """Its output for candidates was adjusted on validation links before: what is stored is the adjusted one."""
    split, fitted = model.run_.split, model.fitted_
    graph = split.valid_graph
    found = find_candidates(retriever_of(graph, fitted.features, fitted.ranking.candidates))
    score = torch.cat(
        list(
            Scorer(fitted.model.fitted, fitted.features).pairs(
                graph, found.pairs, fitted.model.basis, CANDIDATES_OUTPUT
            )
        )
    )
    sharing = fitted.features.pair_inputs(graph, found.pairs)[:, 0] > 0
    hidden = torch.isin(pair_number(found.pairs, 90), pair_number(split.valid_pos, 90))
    rho, other = (len(links) / graph.num_edges for links in (split.valid_pos, split.test_pos))
    again = fit_candidate_calibration(score, sharing, hidden, rho=rho, other=other)
    stored = fitted.ranking.calibration
    assert torch.allclose(again.log_ratio(score, sharing), stored.log_ratio(score, sharing), atol=1e-3)


def test_a_shortlist_made_in_parts_is_the_same(model, monkeypatch):
    whole = model.recommend(top=30)
    monkeypatch.setattr(ranking, "PAIRS_PER_BLOCK", 11)
    assert model.recommend(top=30) == whole


def test_the_network_is_asked_about_the_same_pairs(model):
    """All of so few candidates are on the shortlist, so the ten best are those of the network and its calibration."""
    report, split, fitted = model.evaluate_ranking(), model.run_.split, model.fitted_
    graph = split.test_graph
    pairs = find_candidates(retriever_of(graph, fitted.features, fitted.ranking.candidates)).pairs
    pairs = pairs[~torch.isin(pair_number(pairs, 90), pair_number(split.valid_pos, 90))]
    scorer = Scorer(fitted.model.fitted, fitted.features)
    score = torch.cat(list(scorer.pairs(graph, pairs, fitted.model.basis, CANDIDATES_OUTPUT)))
    log_ratio = fitted.ranking.calibration.log_ratio(score, common_neighbors(graph, pairs) > 0)
    hit = torch.isin(pair_number(pairs, 90), pair_number(split.test_pos, 90))
    best = log_ratio.argsort(descending=True)[:10]
    assert report.methods["llwlc"].precision[10].value == pytest.approx(float(hit[best].double().mean()))


def test_every_fit_measures_its_list_and_the_run_keeps_the_report(model, folder):
    kept = model.metrics_.ranking
    assert kept is not None
    assert kept == model.evaluate_ranking()
    assert RankingReport.from_dict(kept.as_dict()) == kept
    assert "Recommendations, measured" in (folder / "MODEL_CARD.md").read_text()
    assert (folder / "reliability.svg").read_text().startswith("<svg")
    assert len(kept.reliability.bins) == min(10, -(-kept.candidates // 100))


def test_a_sample_of_nodes_is_measured_on_their_own_pairs(model):
    run, fitted = model.run_, model.fitted_
    scores = make_candidate_scorer(fitted.model)
    task = hide_links(run.split)
    some = report_ranking(rank_hidden(task, fitted.features, scores, fitted.ranking, sample=30))
    whole = report_ranking(rank_hidden(task, fitted.features, scores, fitted.ranking, sample=90))
    assert (some.sampled, whole.sampled) == (True, False)
    assert some.candidates < whole.candidates
    assert some.hidden < whole.hidden == len(task.links)


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
