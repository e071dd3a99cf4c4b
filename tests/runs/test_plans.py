"""A fit within a budget: its plan is written first, kept to, repeated, and survives a kill; a heuristic may take
the network's place.
"""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from typer.testing import CliRunner

from llwlc import splits
from llwlc._cli.app import app
from llwlc._cli.fit import describe_overrun
from llwlc._fitting.fit import fit_model
from llwlc._planning import plan as plans
from llwlc._planning.candidate_rates import CandidateRates
from llwlc._predictor import LinkPredictor
from llwlc._runs import plan_source as planning
from llwlc._runs.plan_file import read_plan
from llwlc.errors import InputError
from llwlc.models import Blend
from llwlc.models import make as make_model
from llwlc.models._llwlc.link_rates import LinkRates
from llwlc.models._llwlc.presets import find_preset
from llwlc.splits._making import make
from llwlc.training._node_features import NodeFeatures
from people import people

PAIRS = torch.tensor([[a, b] for a in range(20) for b in range(40, 90, 3)])


class Stopped(Exception):
    pass


def stop(record):
    raise Stopped


def model(minutes: float | None = None, *, model: str = "llwlc", **options) -> LinkPredictor:
    return LinkPredictor(model=model, device="cpu", cache=None, minutes=minutes, verbose=True, **options)


@pytest.fixture
def rates(monkeypatch):
    """Links cost so many seconds each, one-hop ones a tenth of it: nothing is measured, nor compiled before that, which
    would take longer than these budgets.
    """

    def rate(seconds: float) -> None:
        def links(split, preset, features, reach, device, sample):
            each = seconds if reach.hops > 1 else seconds / 10
            return LinkRates(each, each, each, each, 50.0, 500)

        monkeypatch.setattr(plans, "compile_kernels", lambda *a: None)
        monkeypatch.setattr(plans, "probe_links", lambda *a: 0.0)
        monkeypatch.setattr(plans, "measure_link_rates", links)
        monkeypatch.setattr(plans, "measure_candidate_rates", lambda *a: CandidateRates(0.0, 0.0, 0.0, 0.0, 0.0))

    return rate


def test_the_plan_is_there_before_training_and_the_same_command_goes_on_by_it(tmp_path, rates):
    make(people())  # the first split of a process loads compiled code, out of the first budget alone
    rates(5e-2)
    with pytest.raises(Stopped):
        model(minutes=2).fit(people(), out=tmp_path / "run", on_epoch=stop)
    written = read_plan(tmp_path / "run")
    assert written is not None
    assert written.cost > 0
    rates(1e-9)  # the machine is idle now: planned again, nothing would be left out
    seen = []
    after = model(minutes=2).fit(people(), out=tmp_path / "run", on_plan=seen.append)
    assert not seen
    assert after.model_.preset.train.epochs == written.preset.train.epochs
    rates(5e-2)
    whole = model(minutes=2).fit(people(), out=tmp_path / "whole")
    assert read_plan(tmp_path / "whole").preset == written.preset
    assert torch.equal(after.score(PAIRS).score, whole.score(PAIRS).score)
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["files"]["plan.json"]
    again = model(minutes=2).fit(people(), out=tmp_path / "run")
    assert torch.equal(again.score(PAIRS).score, whole.score(PAIRS).score)
    assert LinkPredictor.load(tmp_path / "run").run_.plan == read_plan(tmp_path / "run")


def test_a_new_folder_is_planned_anew_and_another_run_s_plan_is_repeated(tmp_path, rates):
    rates(5e-2)
    first = model(minutes=2).fit(people(), out=tmp_path / "first")
    rates(1e-9)
    full = model(minutes=2, epochs=3).fit(people())
    assert full.model_.preset.basis.hops == 2
    same = model(minutes=10).fit(people(), plan=tmp_path / "first")
    assert same.model_.preset == first.model_.preset
    assert torch.equal(same.score(PAIRS).score, first.score(PAIRS).score)
    kept = model(minutes=10, epochs=1).fit(people(), plan=tmp_path / "first", out=tmp_path / "second")
    assert kept.model_.preset.train.epochs == 1
    assert kept.model_.preset.basis == first.model_.preset.basis


def test_the_folder_of_another_fit_is_refused_before_anything_is_measured(tmp_path, rates, monkeypatch):
    rates(5e-2)
    model(minutes=2).fit(people(), out=tmp_path / "run")
    monkeypatch.setattr(planning, "make_plan", lambda *a, **k: pytest.fail("measured"))
    with pytest.raises(InputError, match="holds another run"):
        model(minutes=2, steps=5).fit(people(), out=tmp_path / "run")


def test_a_damaged_plan_is_refused_by_name(tmp_path, rates):
    rates(5e-2)
    with pytest.raises(Stopped):
        model(minutes=2).fit(people(), out=tmp_path / "run", on_epoch=stop)
    (tmp_path / "run" / "plan.json").write_text('{"format": 1, "base": 3}')
    with pytest.raises(InputError, match=r"plan.json is damaged"):
        model(minutes=2).fit(people(), out=tmp_path / "run")


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf")])
def test_a_budget_that_is_no_time_is_refused(minutes, tmp_path):
    with pytest.raises(InputError, match="minutes is above 0"):
        model(minutes=minutes).fit(people(), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_a_blend_chose_is_said_first(tmp_path):
    """A network that has learned nothing, beside trees that know three circles."""
    options = {"members": "llwlc,stack", "epochs": 1, "learning_rate": 1e-9}
    graph = people(features=False)
    split = splits.make(graph, protocol="random", seed=0, val=0.2)
    made = model(minutes=5, model="blend", **options).fit(graph, split=split, out=tmp_path / "run")
    card = (tmp_path / "run" / "MODEL_CARD.md").read_text()
    said = "This run blends llwlc and topological stack, mostly the latter, which did better on"
    assert card.splitlines()[2].startswith(said)
    shown = CliRunner().invoke(app, ["evaluate", str(tmp_path / "run")]).output
    assert " ".join(shown.split()).startswith(said)
    again = model(minutes=5, model="blend", **options).fit(graph, split=split, out=tmp_path / "run")  # read
    assert torch.equal(again.score(PAIRS).score, made.score(PAIRS).score)
    assert len(made.recommend(top=5)) == 5


def test_where_nothing_can_be_learned_it_says_so():
    from llwlc._runs.model_card import first_sentence

    found = model(epochs=1).fit(people())

    def said(auc: float) -> str:
        test = replace(found.metrics_.test, auc=auc)
        return first_sentence(replace(found.fitted_, metrics=replace(found.metrics_, test=test, ranking=None)))

    assert said(0.51).startswith("Nothing could be learned from this graph: llwlc tells test links")
    assert said(0.40).startswith("Nothing could be learned")
    assert said(0.99) == ""


def test_a_first_sentence_agrees_with_the_table_of_recommendations():
    from llwlc._runs.model_card import first_sentence
    from llwlc.ranking._list_quality import Estimate

    found = model(epochs=1).fit(people())
    report = found.metrics_.ranking
    title = report.title

    def said(precision: float, links: int = 58) -> str:
        quality = replace(report.methods[title], average_precision=Estimate(precision, 0.01))
        ranking = replace(report, methods={**report.methods, title: quality})
        test = replace(found.metrics_.test, auc=0.5, num_positives=links, num_negatives=links)
        return first_sentence(replace(found.fitted_, metrics=replace(found.metrics_, test=test, ranking=ranking)))

    random = report.chance * report.recall
    assert said(random + 0.03).endswith("yet its recommendations find more hidden links than a random list does.")
    assert said(random + 0.01).endswith("Its recommendations are worth nothing.")
    few = said(0.0, links=14)
    assert few.startswith("Whether anything was learned, 14 test links and 14 negatives cannot tell: the AUC of llwlc")
    assert said(random + 0.03, links=14).endswith("find more hidden links than a random list does.")
    assert said(0.5, links=3) == "Whether anything was learned, 3 test links and 3 negatives cannot tell."


@pytest.fixture
def costly(monkeypatch):
    """A baseline that would take a minute."""
    from llwlc.models import Baseline

    monkeypatch.setattr(Baseline, "cost", lambda *a, **k: 60.0)


def test_a_blend_is_planned_and_leaves_out_members_that_take_too_long(tmp_path, rates, costly, capfd):
    rates(1e-2)
    how = {"model": "blend", "members": "llwlc,mlp,adamic-adar"}
    with pytest.raises(Stopped):
        model(minutes=2, **how).fit(people(), out=tmp_path / "run", on_epoch=stop)
    written = read_plan(tmp_path / "run")
    assert written.left_out == ("mlp",)
    assert written.cost > 0
    assert re.search(
        r"left out of the blend, as time does not allow them: mlp; --minutes \d+ would", capfd.readouterr().err
    )
    rates(1e-9)
    after = model(minutes=2, **how).fit(people(), out=tmp_path / "run")
    assert [member.name for member in after.model_.members] == ["llwlc", "adamic-adar"]
    assert after.model_.members[0].preset.train.epochs == written.preset.train.epochs
    repeated = model(minutes=2, **how).fit(people(), plan=tmp_path / "run")
    assert torch.equal(repeated.score(PAIRS).score, after.score(PAIRS).score)


@pytest.mark.parametrize(("slowdown", "left_out"), [(1.5, ()), (15.0, ("stack",))])
def test_a_busy_machine_leaves_members_of_a_blend_out_where_nothing_else_ends_in_time(
    slowdown, left_out, tmp_path, rates, monkeypatch
):
    monkeypatch.setattr(Blend, "member_costs", lambda *a, **k: {"stack": 9.0})
    monkeypatch.setattr(planning.LoadMeter, "slowdown", slowdown)
    rates(1e-6)
    with pytest.raises(Stopped):
        model(minutes=2, model="blend", members="llwlc,stack").fit(people(), out=tmp_path / "run", on_epoch=stop)
    written = read_plan(tmp_path / "run")
    assert written.left_out == left_out
    assert not written.network_left_out
    assert written.forecast["slowdown"] == slowdown


def test_a_budget_bounds_the_candidates_of_a_heuristic_too(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(planning, "FEW_EDGES", 0)
    every = make_model("adamic-adar").limits
    for seconds, bounded in ((0.0, False), (1.0, True)):
        rates = CandidateRates(0.0, 0.0, 0.0, 0.0, seconds)
        monkeypatch.setattr(plans, "measure_candidate_rates", lambda *a, rates=rates: rates)
        found = model(minutes=1, model="adamic-adar").fit(people(), out=tmp_path / f"run-{seconds}")
        said = capfd.readouterr().err
        assert (found.model_.limits != every) == bounded
        assert ("to end within 1 min: the 1,000 most promising candidates" in said) == bounded
        assert found.model_.limits.num_eval_links == every.num_eval_links
        assert len(found.recommend(top=5)) == 5


def test_a_fit_beyond_its_budget_says_why(rates):
    rates(1e-6)
    plan = plans.make_plan(make(people()), find_preset("anchored"), 1, features=NodeFeatures())
    plan = replace(plan, slowdown=2.0)
    busier = describe_overrun(plan, SimpleNamespace(wall=60.0, idle=10.0), 75.0)
    assert busier == (
        "This took 75 seconds of a budget of 1 min. Other work on this machine made it 6.0 times slower, and 2.0 times"
        " when the plan was made; the plan was kept."
    )
    as_busy = describe_overrun(plan, SimpleNamespace(wall=60.0, idle=30.0), 75.0)
    assert as_busy.endswith("seconds were enough for what took 60 seconds.")


def test_the_forecast_of_a_blend_counts_its_other_members(rates, monkeypatch):
    from llwlc.models import Baseline

    monkeypatch.setattr(Baseline, "cost", lambda *a, **k: 1.0)
    rates(1e-3)
    seen = []
    for how in ({"model": "llwlc"}, {"model": "blend", "members": "llwlc,mlp"}):
        with pytest.raises(Stopped):
            model(minutes=9, epochs=40, **how).fit(people(), on_plan=seen.append, on_epoch=stop)
    alone, blended = (plan.forecast for plan in seen)
    assert blended.members == 1.0
    assert blended.stages["training"] == pytest.approx(alone.stages["training"])
    assert alone.at_most == alone.seconds
    assert blended.at_most == blended.seconds + 1.0


def test_all_of_it_is_what_it_was(tmp_path, rates):
    """Where nothing has to be left out, the budget changes no bit."""
    rates(1e-9)
    planned = model(minutes=5, epochs=2).fit(people())
    graph = people()
    plain = fit_model(make_model("llwlc", epochs=2), graph, splits.make(graph, protocol="random", seed=0))
    for ours, theirs in zip(planned.model_.net.parameters(), plain.model.net.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_from_the_command_line(tmp_path):
    rows = "\n".join(f"{a},{b}" for a, b in people().edges.tolist())
    (tmp_path / "edges.csv").write_text("source,target\n" + rows + "\n")
    call, edges = CliRunner().invoke, str(tmp_path / "edges.csv")
    ran = call(app, ["fit", edges, "--minutes", "0.0001", "--out", str(tmp_path / "no time")])
    assert ran.exit_code == 0, ran.output
    assert "our network is left out, as its smallest plan" in ran.output
    again = call(app, ["fit", edges, "--minutes", "0.0001", "--out", str(tmp_path / "no time")])
    assert again.exit_code == 0, again.output
    ran = call(app, ["fit", edges, "--plan", "full", "--minutes", "3", "--out", str(tmp_path / "no")])
    assert ran.exit_code == 2
    ran = call(app, ["fit", edges, "--minutes", "5", "--set", "epochs=2", "--out", str(tmp_path / "run")])
    assert ran.exit_code == 0, ran.output
    assert "Plan for 5 minutes" in ran.output
    ran = call(
        app, ["fit", edges, "--plan", str(tmp_path / "run"), "--out", str(tmp_path / "two"), "--set", "epochs=2"]
    )
    assert ran.exit_code == 0, ran.output
    ran = call(app, ["fit", edges, "--plan", str(tmp_path / "nowhere"), "--out", str(tmp_path / "three")])
    assert ran.exit_code == 2


def test_a_fit_that_lists_the_partners_of_some_nodes_only(tmp_path):
    fitted = model(sources=40, epochs=1, copies=0).fit(people(), out=tmp_path / "run")
    assert fitted.metrics_.ranking is not None
    assert fitted.metrics_.ranking.nodes == 40
    read = LinkPredictor.load(tmp_path / "run", device="cpu")
    assert read.model_.limits.sources == 40
    some, everyone = read.recommend(top=5, sources=40), read.recommend(top=5)
    assert (some.sources, everyone.sources) == (40, None)
    assert some.candidates < everyone.candidates
    assert read.recommend(top=5, sources=1000).sources is None
    with pytest.raises(InputError, match="give one of them"):
        read.recommend(node="Person 01", sources=3)


def test_a_kept_plan_is_said_and_that_it_is_for_other_minutes(tmp_path, rates, capfd):
    rates(1e-9)
    made = model(minutes=5, epochs=1).fit(people(), out=tmp_path / "run")
    assert "by the plan" not in capfd.readouterr().err
    model(minutes=5, epochs=1).fit(people(), out=tmp_path / "run")
    said = capfd.readouterr().err
    assert "by the plan in" in said
    assert "choose another --out" not in said
    model(minutes=30, epochs=1).fit(people(), out=tmp_path / "run")
    assert "It was made for 5 minutes: for 30, choose another --out" in capfd.readouterr().err
    model(minutes=10, epochs=1).fit(people(), plan=tmp_path / "run", out=tmp_path / "other")
    assert f"as in {tmp_path / 'run'}: nothing has to be left out" in capfd.readouterr().err
    assert made.model_.preset.train.epochs == 1


def test_a_bad_cache_limit_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("LLWLC_CACHE_LIMIT", "abc")
    with pytest.raises(InputError, match="LLWLC_CACHE_LIMIT is a number of gigabytes"):
        LinkPredictor(device="cpu", cache=tmp_path / "cache", minutes=5).fit(people(), out=tmp_path / "run")
    assert not any(tmp_path.iterdir())
