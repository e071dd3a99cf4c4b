"""What a run says of itself to readers who do not know the field, against its stored figures."""

from dataclasses import replace

import pytest

from llwlc._predictor import LinkPredictor
from llwlc._runs.plain_summary import describe_expected, describe_trust
from people import people


@pytest.fixture(scope="module")
def model():
    return LinkPredictor(model="adamic-adar").fit(people())


def test_the_shares_are_those_that_were_measured(model):
    text, report = describe_trust(model.fitted_), model.metrics_.ranking
    ours = report.methods[report.title].precision
    size = max(k for k in ours if k <= 50)
    assert f"{report.hidden} known links were hidden: {100 * ours[size].value:.0f} % of the {size} best" in text
    others = [quality.precision[size].value for name, quality in report.methods.items() if name != report.title]
    assert f"finds {100 * max(others):.0f} %, a random list {100 * report.chance:.2g} %" in text
    assert "rough" in text  # few links were hidden
    assert f"Adamic–Adar gives the hidden link the higher score {100 * model.metrics_['auc']:.0f} times in 100" in text


def test_many_hidden_links_are_not_called_rough(model):
    ranking = replace(model.metrics_.ranking, hidden=400)
    assert "rough" not in describe_trust(replace(model.fitted_, metrics=replace(model.metrics_, ranking=ranking)))


def test_without_candidates_only_pairs_are_judged(model):
    ranking = replace(model.metrics_.ranking, candidates=0)
    text = describe_trust(replace(model.fitted_, metrics=replace(model.metrics_, ranking=ranking)))
    assert text.startswith("Of a hidden link and a random pair without a link")


def test_the_expected_share_names_its_condition(model):
    found = model.recommend(top=5, missing_share=0.1)
    text = describe_expected(found)
    assert text.startswith(f"Of these 5 links, {100 * found.expected[0]:.0f} % are expected")
    assert found.condition in text
