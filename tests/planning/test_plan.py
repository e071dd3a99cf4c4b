"""Plans: the one that costs least among those that end in time; forecasts add up; explicit options stay."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from llwlc import splits
from llwlc._planning import plan as plans
from llwlc._planning.candidate_rates import CandidateRates
from llwlc._planning.forecast import SplitSizes, StageSizes, compute_forecast, count_stored_links
from llwlc._planning.omissions import HALF_PRECISION, apply_effective_options, apply_plan, list_combinations
from llwlc._planning.plan import make_plan
from llwlc.models._llwlc.encoded_split import EncodedSplit
from llwlc.models._llwlc.link_rates import LinkRates, sample_pairs
from llwlc.models._llwlc.presets import find_preset
from llwlc.ranking._ranking import choose_eval_nodes
from llwlc.training._evaluation_links import subsample_evaluation
from llwlc.training._limits import Limits
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources
from people import people

LINK = LinkRates(encode=1e-3, train=1e-3, score=2e-3, score_encoded=1e-3, mean_size=100.0, largest=300)
CANDIDATE = CandidateRates(prepare=1.0, list_node=1e-3, tune_link=1e-3, check_membership=1e-3, describe_pair=1e-6)


@pytest.fixture
def split():
    return splits.make(people(), protocol="random", seed=0)


@pytest.fixture
def rated(monkeypatch):
    """Rates as stated, by hops: nothing is measured."""

    def rate(hop: dict[int, float]):
        def links(split, preset, features, reach, device, seconds):
            slow = hop[reach.hops]
            return LinkRates(slow, slow, slow, slow, 50.0 * reach.hops, 500)

        monkeypatch.setattr(plans, "compile_kernels", lambda *a: None)
        monkeypatch.setattr(plans, "probe_links", lambda *a: 0.0)
        monkeypatch.setattr(plans, "measure_link_rates", links)
        monkeypatch.setattr(plans, "measure_candidate_rates", lambda *a: CANDIDATE)

    return rate


def plan(split, minutes, *, kept=(), **options):
    return make_plan(split, find_preset("anchored", **options), minutes, features=NodeFeatures(), kept=kept)


def test_nothing_is_left_out_where_everything_fits(split, rated):
    rated({1: 1e-6, 2: 1e-6})
    found = plan(split, 10)
    assert found.preset == find_preset("anchored")
    assert found.cost == 0
    assert found.sentence == "nothing has to be left out"


def test_no_cheaper_combination_would_have_ended_in_time(split, rated):
    rated({1: 2e-4, 2: 5e-3})
    found = plan(split, 1)
    assert found.cost > 0
    sizes, wide = SplitSizes.of(split), found.minutes * 60
    for cost, options in list_combinations(find_preset("anchored"), sizes.train):
        if cost < found.cost and round(options.get("fraction", 1) * sizes.train) >= min(1000, sizes.train):
            tried = apply_effective_options(find_preset("anchored"), options).resolve_defaults(sizes.train)
            ahead = compute_forecast(
                sizes, tried, plans.measure_link_rates(None, tried, None, tried.basis, None, 1.0), CANDIDATE
            )
            assert plans.add_margin(ahead) > wide - 5  # what planning itself took
    assert plans.add_margin(found.forecast) <= wide


def test_if_no_plan_fits_the_network_is_left_out_and_the_sentence_states_the_smallest(split, rated):
    rated({1: 10.0, 2: 100.0})
    found = plan(split, 0.1)
    assert re.search(r"smallest plan for this graph takes about \d+ minutes .*one-hop.*--minutes", found.sentence)
    assert found.sentence.startswith("our network is left out, as its smallest plan")
    assert found.forecast.stages["training"] == found.forecast.stages["eigenbases"] == found.forecast.links == 0
    rated({1: 1e-3, 2: 1e-2})
    assert re.search(r"takes about [1-8]?\d seconds .*give --minutes [12],", plan(split, 0.001).sentence)


def test_without_the_network_as_much_is_looked_at_as_time_allows(split, rated, monkeypatch):
    rated({1: 10.0, 2: 100.0})
    assert plan(split, 10).preset == find_preset("anchored")
    monkeypatch.setattr(plans, "measure_candidate_rates", lambda *a: replace(CANDIDATE, tune_link=10.0))
    some = plan(split, 0.2).preset
    assert some.limits.num_tuning_links == 10  # the smallest, as none ends in time
    assert plan(split, 0.2, kept={"num_tuning_links"}).preset.limits.num_tuning_links == Limits().num_tuning_links


def test_if_compiling_used_the_budget_the_sentence_says_to_run_again(split, rated, monkeypatch):
    rated({1: 1e-6, 2: 1e-6})
    clock = [0.0]
    monkeypatch.setattr(plans, "time", SimpleNamespace(perf_counter=lambda: clock[0]))

    def sentence(minutes: float, *, compiling: float, reading: float) -> str:
        first = iter([compiling])
        monkeypatch.setattr(plans, "compile_kernels", lambda *a: clock.__setitem__(0, clock[0] + next(first, 0)))
        return make_plan(split, find_preset("anchored"), minutes, features=NodeFeatures(), spent=reading).sentence

    assert "run the same command in a new folder, as kernels had to be compiled" in sentence(
        1, compiling=100, reading=0
    )
    for minutes, compiling, reading in ((1, 0, 100), (1, 50, 100), (0.001, 100, 0)):  # nor would the last be enough
        said = sentence(minutes, compiling=compiling, reading=reading)
        assert "smallest plan" in said
        assert "run the same command" not in said


def test_planning_measures_for_a_tenth_of_the_budget(split, rated, monkeypatch):
    """After it only the cheapest subgraphs are measured still."""
    rated({1: 1.0, 2: 1.0})
    clock, measured = [0.0], []
    monkeypatch.setattr(plans, "time", SimpleNamespace(perf_counter=lambda: clock[0]))

    def links(split, preset, features, reach, device, seconds):
        measured.append((reach.hops, reach.max_nodes_per_hop))
        clock[0] += 7.0
        return LinkRates(1.0, 1.0, 1.0, 1.0, 50.0, 500)

    monkeypatch.setattr(plans, "measure_link_rates", links)
    assert plan(split, 1).network_left_out
    assert measured == [(2, 10_000), (1, 100)]


def test_the_sentence_names_every_omission(split, rated):
    rated({1: 1e-6, 2: 1e-6})
    found = plan(split, 10)
    for cost, options in list_combinations(find_preset("anchored"), 1_000_000):
        said = replace(found, preset=apply_effective_options(find_preset("anchored"), options), cost=cost).sentence
        assert (said == "nothing has to be left out") == (cost == 0)
        assert not said.startswith(";")
        if cost:
            assert "about 0.0" not in said


def test_bases_that_no_memory_holds_are_not_planned(split, rated, monkeypatch):
    rated({1: 1e-6, 2: 1e-6})
    monkeypatch.setattr(plans, "MOST_BYTES", 1)
    found = plan(split, 10)
    assert "do not fit" in found.network_left_out
    assert found.forecast.num_bytes == 0


def test_bases_are_halved_only_where_they_do_not_fit_and_before_links_are_left_out(split, rated, monkeypatch):
    rated({1: 1e-6, 2: 1e-6})
    whole = plan(split, 10)
    assert whole.preset.basis.stored_bits == 32
    monkeypatch.setattr(plans, "MOST_BYTES", whole.forecast.num_bytes - 1)
    found = plan(split, 10)
    assert found.preset == find_preset("anchored", stored_bits=16)
    assert 0.55 < found.forecast.num_bytes / whole.forecast.num_bytes < 0.7
    assert found.cost == pytest.approx(HALF_PRECISION[0])
    assert found.sentence.startswith("bases stored in half precision, as they do not fit otherwise")
    kept = plan(split, 10, kept={"stored_bits"})
    assert kept.preset.basis.stored_bits == 32
    assert kept.cost > found.cost
    repeated = apply_plan(find_preset("anchored"), found.preset)
    assert repeated.basis.stored_bits == 16


@pytest.mark.parametrize("options", [{"epochs": 30}, {"hops": 2, "max_nodes_per_hop": 500}, {"fraction": 0.5}])
def test_explicit_options_are_not_changed_by_a_plan(split, rated, options):
    rated({1: 2e-4, 2: 5e-3})
    found = plan(split, 2, kept=options, **options).preset
    parts = (found.basis, found.train, found.limits, found)
    for name, value in options.items():
        assert next(getattr(part, name) for part in parts if hasattr(part, name)) == value


def test_a_plan_never_asks_for_more_than_the_preset():
    small = find_preset("anchored", epochs=8, max_nodes_per_hop=50, hops=1, negative_pool=1, shortlist=2000, budget=5)
    for _, options in list_combinations(small, 1000):
        made = apply_effective_options(small, options)
        assert made.train.epochs <= 8
        assert made.basis.max_nodes_per_hop <= 50
        assert made.basis.hops == 1
        assert (made.limits.shortlist, made.train.negative_pool) <= (2000, 1)
        assert made.budget <= 5


def test_the_plan_of_another_run_is_repeated_but_for_what_is_asked_for():
    other = find_preset("anchored", hops=1, max_nodes_per_hop=100, epochs=5, shortlist=3000)
    repeated = apply_plan(find_preset("anchored", epochs=7), other, kept={"epochs"})
    assert repeated.basis == replace(find_preset("anchored").basis, hops=1, max_nodes_per_hop=100)
    assert (repeated.train.epochs, repeated.limits.shortlist) == (7, 3000)


@pytest.mark.parametrize("name", ["paper", "paper-query", "unconstrained", "anchored"])
def test_every_preset_can_be_planned(split, rated, name):
    rated({1: 1e-5, 2: 1e-3})
    found = make_plan(split, find_preset(name), 1, features=NodeFeatures())
    assert found.forecast.seconds < 60


def test_a_plan_reserves_time_for_the_other_members_of_a_blend(split, rated):
    sizes, made = SplitSizes.of(split), find_preset("anchored").resolve_defaults(len(split.train_pos))
    ahead = compute_forecast(sizes, made, LINK, CANDIDATE)
    assert replace(ahead, members=20.0).at_most == ahead.seconds + 20
    assert ahead.at_most == ahead.seconds
    assert ahead.usual < ahead.seconds
    rated({1: 1e-6, 2: 1e-6})

    def with_members(**members: float):
        return make_plan(split, find_preset("anchored"), 1, features=NodeFeatures(), members=members)

    assert with_members(stack=20.0).forecast.at_most > 20
    assert with_members(stack=20.0, katz=0.0).left_out == ()
    assert with_members(stack=20.0, slow=40.0).left_out == ("slow",)
    assert with_members(stack=20.0, slow=40.0).forecast.members == 20.0
    assert with_members(slow=60.0).left_out == ("slow",)  # and the network stays


def test_a_busy_machine_gets_a_smaller_plan_and_says_how_long_it_will_take(split, rated, monkeypatch):
    rated({1: 2e-4, 2: 2e-4})

    def busy(slowdown: float):
        monkeypatch.setattr(plans.LoadMeter, "slowdown", slowdown)
        return make_plan(split, find_preset("anchored"), 1, features=NodeFeatures(), members={"stack": 2.0})

    idle, busy_plan = busy(1.0), busy(5.0)
    assert (idle.cost, idle.left_out) == (0.0, ())
    assert busy_plan.cost > 0 or busy_plan.left_out
    assert plans.add_margin(busy_plan.forecast) <= 60
    made = idle.preset.resolve_defaults(len(split.train_pos))
    links = plans.measure_link_rates(None, made, None, made.basis, None, 1.0)
    slow = compute_forecast(SplitSizes.of(split), made, links, CANDIDATE, slowdown=5.0)
    assert slow.seconds == pytest.approx(5 * idle.forecast.seconds)
    assert slow.usual == pytest.approx(5 * idle.forecast.usual)


def test_the_forecast_counts_the_links_that_are_encoded(split):
    for options in (
        {},
        {"fraction": 0.3},
        {"negative_pool": 1, "candidate_pool": 1},
        {"constraints": "vertex_deleted", "copies": 0, "negative_pool": 1},
    ):
        made = find_preset("anchored", **options).resolve_defaults(len(split.train_pos))
        without = replace(
            made, net=replace(made.net, ranking=False)
        )  # how many candidates there are is not known before
        data = EncodedSplit(split, without, resources=Resources())
        assert len(data.training(0).data) == count_stored_links(SplitSizes.of(split), without)


def test_the_forecast_grows_with_all_that_the_work_grows_with(split):
    sizes, made = SplitSizes.of(split), find_preset("anchored").resolve_defaults(1000)
    base = compute_forecast(sizes, made, LINK, CANDIDATE)
    assert base.seconds == pytest.approx(sum(base.stages.values()))
    assert base.usual < base.seconds
    for change in ({"encode": 2e-3}, {"train": 2e-3}, {"score": 4e-3}, {"score_encoded": 2e-3}):
        assert compute_forecast(sizes, made, replace(LINK, **change), CANDIDATE).seconds > base.seconds
    for change in (
        {"list_node": 1.0},
        {"prepare": 2.0},
        {"describe_pair": 1e-3},
        {"check_membership": 1.0},
        {"tune_link": 1.0},
    ):
        assert compute_forecast(sizes, made, LINK, replace(CANDIDATE, **change)).seconds > base.seconds
    assert compute_forecast(sizes, made.changed(shortlist=10), LINK, CANDIDATE).seconds < base.seconds


def test_hard_negatives_are_counted_for_each_link(split):
    rows = {
        f"{stage}_neg": torch.zeros(len(getattr(split, f"{stage}_pos")), 300, 2, dtype=torch.long)
        for stage in ("valid", "test")
    }
    hard = replace(split, **rows)
    for most in (None, 5):
        seen, sizes = subsample_evaluation(hard, most, seed=0), SplitSizes.of(hard)
        for stage in ("valid", "test"):
            pairs = len(getattr(seen, f"{stage}_pos")) + getattr(seen, f"{stage}_neg").shape[:-1].numel()
            assert getattr(sizes, stage).scored(most) == pairs


def test_little_free_memory_allows_little(split, rated, monkeypatch):
    rated({1: 1e-6, 2: 1e-6})
    whole = plan(split, 10).forecast.num_bytes
    monkeypatch.setattr(plans, "free_memory", lambda: whole)  # half of it is allowed
    assert plan(split, 10).forecast.num_bytes <= whole // 2


def test_a_forecast_from_real_rates_is_near_what_a_fit_takes(split):
    """On two cores among other work: within a factor of four here."""
    from llwlc._fitting.fit import fit_model
    from llwlc._planning.forecast import measure_forecast
    from llwlc.models._llwlc.model import LLwLC

    made = find_preset("anchored", epochs=4, copies=0)
    fit_model(LLwLC("anchored", epochs=1, copies=0), split.train_graph, split)  # compiles
    ahead = measure_forecast(split, made)
    fitted = fit_model(LLwLC(made), split.train_graph, split)
    assert ahead.stages["training"] / 4 < fitted.metrics.stages["training"] < 4 * ahead.stages["training"]


def test_sampled_pairs_are_links_others_and_pairs_apart(split):
    pairs = sample_pairs(split)
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert split.train_graph.has_edges(pairs).any()
    assert not split.train_graph.has_edges(pairs).all()


def test_fewer_links_are_looked_at_and_nothing_else_changes(split):
    few = subsample_evaluation(split, 5, seed=3)
    assert [len(getattr(few, f"{stage}_{side}")) for stage in ("valid", "test") for side in ("pos", "neg")] == [5] * 4
    assert few.train_pos is split.train_pos
    assert few.test_graph is split.test_graph
    assert subsample_evaluation(split, None, seed=3) is split
    asked = {tuple(pair) for pair in split.test_pos.tolist()}
    assert all(tuple(pair) in asked for pair in few.test_pos.tolist())
    again = subsample_evaluation(split, 5, seed=3)
    assert torch.equal(again.test_neg, few.test_neg)


def test_hard_negatives_stay_with_their_links(split):
    hard = replace(
        split,
        **{
            f"{stage}_neg": torch.randint(0, 90, (len(getattr(split, f"{stage}_pos")), 7, 2))
            for stage in ("valid", "test")
        },
    )
    few = subsample_evaluation(hard, 4, seed=0)
    assert few.test_neg.shape == (4, *hard.test_neg.shape[1:])
    for link, row in zip(few.test_pos, few.test_neg, strict=True):
        at = int((hard.test_pos == link).all(1).nonzero()[0])
        assert torch.equal(hard.test_neg[at], row)


@pytest.mark.parametrize(
    ("options", "least", "usual"),
    [
        ({}, 11, 28),
        ({"epochs": 20}, 11, 14),
        ({"epochs": 10}, 10, 10),
        ({"patience": 3}, 4, 28),
        ({"use_validation": True}, 40, 40),
    ],
)
def test_how_soon_training_may_end(split, options, least, usual):
    """`patience` epochs after the first at the earliest, and never before the last where no epoch is chosen."""
    ahead = compute_forecast(
        SplitSizes.of(split), find_preset("anchored", **options).resolve_defaults(len(split.train_pos)), LINK, CANDIDATE
    )
    last = find_preset("anchored", **options).train.epochs
    epoch = (ahead.seconds - ahead.usual) / (last - usual) if last > usual else None
    assert ahead.at_least <= ahead.usual <= ahead.seconds + 1e-9 <= ahead.at_most + 1e-9
    if epoch is None:
        assert ahead.at_least == ahead.usual == pytest.approx(ahead.seconds)
    else:
        assert ahead.seconds - ahead.at_least == pytest.approx((last - least) * epoch)


def test_no_more_candidates_are_counted_than_nodes_propose(split):
    """A star's leaves have hardly a partner to propose: nothing is calibrated or ranked there."""
    chosen = find_preset("anchored").resolve_defaults(len(split.train_pos))
    many, few, none = (
        compute_forecast(SplitSizes.of(split), chosen, LINK, replace(CANDIDATE, partners=partners)).stages
        for partners in (1e9, 3.0, 0.0)
    )
    assert many == compute_forecast(SplitSizes.of(split), chosen, LINK, CANDIDATE).stages
    assert few["calibration"] < many["calibration"]
    assert none["calibration"] == 0


@pytest.mark.parametrize(
    ("options", "nodes", "sampled_lists_only"),
    [
        ({}, 1000, False),  # 40,000 of 40,000 candidates
        ({"num_eval_candidates": 10_000}, 250, False),  # a quarter of those that the network ranks
        ({"num_eval_candidates": 40_000, "sources": 1000}, 1000, False),
        ({"num_eval_candidates": 40_000, "sources": 600}, 600, True),
        ({"num_eval_candidates": 10_000, "sources": 600}, 250, True),
        (
            {"num_eval_candidates": 400, "shortlist": 400},
            100,
            False,
        ),  # 25 candidates are compared for each that is ranked
    ],
)
def test_the_nodes_that_measure_a_fit(options, nodes, sampled_lists_only):
    assert choose_eval_nodes(1000, 10_000, Limits(**options), 100) == (nodes, sampled_lists_only)


def test_the_forecast_counts_only_the_lists_that_evaluate_a_fit():
    """A fit that is measured by the own lists of some nodes makes no other list for that."""
    sizes = SplitSizes(200_000, 1_000_000, 850_000, StageSizes(50_000, 50_000, 0), StageSizes(100_000, 100_000, 0))
    slow = replace(CANDIDATE, prepare=0.0, list_node=1.0, describe_pair=0.0)
    free = LinkRates(0.0, 0.0, 0.0, 0.0, 100.0, 300)
    limits = {"sources": 20_000, "num_eval_candidates": 2_000, "shortlist": 2_000, "budget": 10}
    found = compute_forecast(sizes, find_preset("anchored", **limits).resolve_defaults(850_000), free, slow).stages
    by = choose_eval_nodes(200_000, 1_000_000, Limits(sources=20_000, num_eval_candidates=2_000, shortlist=2_000), 10)
    assert by == (5_000, True)
    assert found["ranking"] == pytest.approx(5_000)
    assert found["recommend"] == pytest.approx(20_000)
    whole = compute_forecast(
        sizes, find_preset("anchored", num_eval_candidates=2_000, shortlist=2_000).resolve_defaults(850_000), free, slow
    ).stages
    assert whole["ranking"] == whole["recommend"] == pytest.approx(200_000)


def test_no_more_links_choose_the_weights_of_lists_than_there_are(split):
    """On a path of 49 links, two of them for validation, a thousand were counted: 13 seconds instead of two."""
    slow = replace(CANDIDATE, tune_link=1.0)
    made, sizes = find_preset("anchored").resolve_defaults(len(split.train_pos)), SplitSizes.of(split)
    found = (compute_forecast(sizes, made, LINK, rates).stages["candidates"] for rates in (slow, CANDIDATE))
    assert next(found) - next(found) == pytest.approx(len(split.valid_pos), rel=0.01)
