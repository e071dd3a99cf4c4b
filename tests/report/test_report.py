"""The report of a run: one file that needs nothing else, in which every name is text, and whose numbers are the
run's.
"""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from sklearn.calibration import calibration_curve
from typer.testing import CliRunner

from browsing import browser, quiet_page
from hostile_names import HOSTILE, hostile_model
from llwlc._cli.app import app
from llwlc._predictor import LinkPredictor
from llwlc._report.measurements import FALSE_POSITIVE_RATE, Bin, bin_reliability, measure_test_links
from llwlc._report.page import _bins, escape_for_script, report_html, write_report
from llwlc._support.charts import choose_ticks, lines
from llwlc.errors import InputError
from people import people

TOP = 40


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(hostile_model(), path, top=TOP)
    return path


def embedded(text: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


class Elements(HTMLParser):
    """What a browser would find: scripts, and everything that is fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.fetched += [
            v for k, v in attrs if k in ("src", "srcset", "data") or (k == "href" and not v.startswith("#"))
        ]


def test_the_report_is_self_contained(report):
    found = Elements()
    found.feed(report.read_text())
    assert found.tags.count("script") == 2
    assert "img" not in found.tags
    assert "link" not in found.tags
    assert found.fetched == []
    assert "default-src 'none'" in report.read_text()


def test_report_links_are_those_of_recommend_with_explanations(report):
    model, data = hostile_model(), embedded(report.read_text())
    best = model.recommend(top=TOP)
    assert len(data["links"]) == len(best) == TOP
    for link, shown in zip(best, data["links"], strict=True):
        assert {data["names"][shown[end]] for end in "uv"} == {link.source, link.target}
        assert shown["p"][0] == pytest.approx(link.probability, abs=1e-4)
        assert (shown["cn"], shown["d"]) == (link.common_neighbors, link.distance)
        assert shown["reference"] + sum(shown["parts"]) == pytest.approx(shown["logOdds"], abs=0.05)
    whole = model.explain(best[0].source, best[0].target, population="candidates", max_edges=60)
    first = data["links"][0]
    assert first["edges"][0][1] == pytest.approx(max((e.lost for e in whole.edges), key=abs), abs=0.01)
    assert len(first["vectors"]) == len(whole.eigenvectors)


def test_a_report_of_a_model_that_has_no_reasons_lists_its_links_and_says_why(tmp_path):
    model = LinkPredictor(model="adamic-adar").fit(people())
    write_report(model, tmp_path / "report.html", top=3)
    data = embedded((tmp_path / "report.html").read_text())
    best = model.recommend(top=3)
    assert [(data["names"][link["u"]], data["names"][link["v"]]) for link in data["links"]] == [
        (link.source, link.target) for link in best
    ]
    assert [link["predictions"][0][1] for link in data["links"]] == pytest.approx(
        [link.probability for link in best], abs=1e-4
    )
    assert data["unexplained"].startswith("this is a run of Adamic–Adar, which has no constrained eigenbasis")
    with pytest.raises(InputError, match=re.escape(data["unexplained"])):
        model.explain("Person 00", "Person 41")


def test_the_report_opens_with_a_dated_summary_in_plain_words(report):
    text = re.sub(r"<[^>]*>", " ", report.read_text().split('<section id="links">')[0].split("<main>")[1])
    model = hostile_model()
    assert re.search(r"Summary, \d{4}-\d\d-\d\d", text)
    for words in (
        f"{model.graph_.num_nodes:,} nodes joined by {model.graph_.num_edges:,} known links",
        f"the {TOP} pairs without a link",
        "Each is a suggestion to check, not a fact.",
        f"Of these {TOP} links, ",
        "known links were hidden",
        "times in 100",
    ):
        assert words in text
    for jargon in ("AUC", "HR@", "MRR", "P@", "eigen"):
        assert jargon not in text


def test_five_hundred_links_stay_below_five_megabytes(report):
    data = embedded(report.read_text())
    links = len(json.dumps(data["links"]).encode())
    assert links / TOP * 500 + report.stat().st_size - links < 5_000_000


def test_every_name_is_text(report):
    text = report.read_text()
    assert "<script>window" not in text
    assert "<img" not in text
    assert "<b>circles" not in text
    assert "&lt;b&gt;circles" in text
    assert "<" not in escape_for_script(list(HOSTILE.values()))
    assert json.loads(escape_for_script(list(HOSTILE.values()))) == list(HOSTILE.values())


def test_scores_and_shares_are_those_of_the_test_links():
    model = hostile_model()
    found, split = measure_test_links(model), model.run_.split
    pos = model.score(split.test_pos, graph=split.test_graph).score.numpy()
    neg = model.score(split.test_neg, graph=split.test_graph).score.numpy()
    np.testing.assert_allclose(found.links, pos)
    np.testing.assert_allclose(found.non_links, neg)
    bound = np.quantile(neg, 1 - FALSE_POSITIVE_RATE)
    for bins in (found.by_distance, found.by_degree):
        assert sum(b.links for b in bins) == len(pos)
        assert sum(b.links * b.found for b in bins) == pytest.approx((pos > bound).sum())


def test_reliability_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    said, label = rng.random(400), rng.random(400) < 0.5
    label[:200], label[200:] = True, False  # as many of each, so that weights are equal
    true, mean = calibration_curve(label, said, n_bins=10)
    np.testing.assert_allclose(np.array(bin_reliability(said, label)), np.stack([mean, true], 1))


def test_the_command_writes_it_and_refuses_a_bad_place(tmp_path):
    hostile_model().save(tmp_path / "run")
    run = CliRunner().invoke(app, ["report", str(tmp_path / "run"), "-o", str(tmp_path / "r.html"), "--top", "3"])
    assert run.exit_code == 0, run.output
    assert len(embedded((tmp_path / "r.html").read_text())["links"]) == 3
    for place, sentence in ((tmp_path / "r.pdf", "ends in .html"), (tmp_path / "no" / "r.html", "there is no folder")):
        run = CliRunner().invoke(app, ["report", str(tmp_path / "run"), "-o", str(place)])
        assert run.exit_code == 2
        assert sentence in run.output
    for out, begins in (("why.json", "{"), ("why.html", "<!doctype html>"), ("why.txt", "Person")):
        asked = ["explain", str(tmp_path / "run"), "Person 20", "Person 21", "-o", str(tmp_path / out)]
        run = CliRunner().invoke(app, asked)
        assert run.exit_code == 0, run.output
        assert (tmp_path / out).read_text().startswith(begins)
    run = CliRunner().invoke(app, ["explain", str(tmp_path / "run"), HOSTILE[4], "Person 21", "--candidates"])
    assert run.exit_code == 0
    assert "\x1b" not in run.output
    assert "\\u202eAda" in run.output
    assert "igenvector" not in run.output
    whole = CliRunner().invoke(app, ["explain", str(tmp_path / "run"), "Person 20", "Person 21", "--verbose"])
    assert "Eigenvectors of the constrained Laplacian" in whole.output
    run = CliRunner().invoke(app, ["explain", str(tmp_path / "run"), "Persom 20", "Person 21"])
    assert run.exit_code == 2
    assert "Did you mean 'Person 20'" in run.output


def test_a_graph_without_candidates_has_a_report_too():
    model = hostile_model()
    assert torch.is_tensor(model.graph_.indices)
    assert "The 1 likeliest" in report_html(model, top=1)


def test_in_a_browser_one_sorts_searches_filters_and_sees_reasons(report):
    with browser() as opened:
        page, complaints = quiet_page(opened)
        page.goto(report.as_uri())
        rows = page.locator("#table tbody tr")
        assert rows.count() == TOP
        chance = [float(t) for t in page.locator("#table tbody tr td:nth-child(4)").all_inner_texts()]
        assert chance == sorted(chance, reverse=True)
        page.click("button[data-key=p]")
        page.click("button[data-key=p]")
        chance = [float(t) for t in page.locator("#table tbody tr td:nth-child(4)").all_inner_texts()]
        assert chance == sorted(chance)
        page.click("button[data-key=rank]")
        word = page.locator("#table tbody tr").nth(3).locator("td").nth(1).inner_text()
        page.fill("#search", word)
        assert 0 < rows.count() < TOP
        assert all(word.lower() in text.lower() for text in rows.all_inner_texts())
        page.fill("#search", "")
        page.fill("#least", "0.99999")
        assert rows.count() < TOP
        page.fill("#least", "0")
        page.select_option("#kind", "share")
        assert all(int(t) > 0 for t in page.locator("#table tbody tr td:nth-child(6)").all_inner_texts())
        page.select_option("#kind", "")
        rows.nth(2).focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        row = rows.nth(3).locator("td")
        assert page.locator("#detail h3").first.inner_text() == f"{row.nth(1).inner_text()} – {row.nth(2).inner_text()}"
        assert page.locator("#detail svg circle").count() > 2
        assert page.locator("#detail .predicted").count() == 1
        before = page.locator("#detail svg circle").first.get_attribute("fill")
        fills = set()
        for value in page.locator("#vector option").evaluate_all("found => found.map((option) => option.value)"):
            page.select_option("#vector", value)
            fills.add(page.locator("#detail svg circle").first.get_attribute("fill"))
        assert before in fills
        assert len(fills) > 1
        for i in range(TOP):
            rows.nth(i).click()
        assert page.evaluate("window.owned") is None
        assert complaints == []


def test_charts_have_round_ticks_inside_and_a_legend_in_the_colours_of_its_lines():
    drawn = lines({"one": [(0.0, 0.1), (11.0, 0.9)], "two": [(0.0, 0.5), (11.0, 0.2)]}, ("epoch", "AUC"))
    assert re.findall(r'text-anchor="middle">([\d.]+)<', drawn) == ["0", "2", "4", "6", "8", "10"]
    assert 'style="fill:var(--a)">one<' in drawn
    assert 'style="fill:var(--b)">two<' in drawn
    for low, high in ((0, 1), (0, 19.9), (-1.21, 1.33), (0.84, 0.98), (3, 4), (0, 100), (1e-6, 3e-6)):
        assert 2 <= len(choose_ticks(low, high)) <= 7


@pytest.mark.parametrize(
    "values", [(0.0, 5e-324), (1e300, 1e300), (-1e300, 1e300), (3.0, 3.0), (1.0, 1.0000000000000002)]
)
def test_charts_of_any_finite_numbers_are_drawn(values):
    drawn = lines({"loss": list(enumerate(values))}, ("epoch", "loss"))
    assert "nan" not in drawn
    assert drawn.count("<text") > 4


def test_a_long_name_and_a_rank_of_two_digits_keep_a_row_low(report):
    with browser() as opened:
        for width in (1300, 380):
            page, complaints = quiet_page(opened, viewport={"width": width, "height": 800})
            page.goto(report.as_uri())
            rank = page.locator("#table tbody tr td").first
            assert page.evaluate("cell => getComputedStyle(cell).whiteSpace", rank.element_handle()) == "nowrap"
            legend = page.locator("svg.chart tspan[style]")
            assert len(set(legend.evaluate_all("found => found.map((text) => getComputedStyle(text).fill)"))) > 1
            page.evaluate("name => { data.names[data.links[0].u] = name; list(); choose(data.links[0]); }", HOSTILE[7])
            assert page.locator("#table tbody tr").first.bounding_box()["height"] < 250
            assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
            assert complaints == []


def test_a_kind_without_non_links_has_no_share_of_them():
    assert "<td>–</td>" in _bins((Bin("8 to 15", 9, 0.5, 0, 0.0),), "degree")
    assert "<td>0.0 %</td>" in _bins((Bin("8 to 15", 9, 0.5, 3, 0.0),), "degree")
