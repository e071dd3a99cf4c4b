"""From a split to a measured network: what is reported, what a fraction and a redraw mean, and bad input."""

import math
from dataclasses import replace

import networkx as nx
import pytest
import torch

from llwlc import metrics, splits
from llwlc._fitting.fingerprint import content_digest, fingerprint
from llwlc._fitting.fit import FitResult, fit_model
from llwlc._fitting.fit_metrics import FitMetrics
from llwlc._fitting.measure import measure_heuristics
from llwlc._planning.forecast import measure_forecast
from llwlc._predictor import LinkPredictor
from llwlc._support.devices import pick_device
from llwlc.bases._cache import load_or_encode
from llwlc.bases._encoded_links import FIELD_TYPES, EncodedLinks, encode_pairs, estimate_bytes
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.heuristics._registry import HEURISTICS
from llwlc.models._llwlc import encoded_split
from llwlc.models._llwlc.encoded_split import EncodedSplit
from llwlc.models._llwlc.model import LLwLC
from llwlc.models._llwlc.presets import Preset, find_preset
from llwlc.models._llwlc.scoring import Scorer
from llwlc.ranking._ranking import MIN_VALID_CANDIDATES
from llwlc.training._candidate_links import CandidateLinks
from llwlc.training._checkpoint import Checkpoint
from llwlc.training._resources import Resources

CPU = torch.device("cpu")
TITLES = {record.title for record in HEURISTICS.records() if not record.sides}
SMALL = {"channels": 8, "filters": 2, "filter_hidden": 8, "filtered_channels": 8, "batch_size": 32}


def communities() -> Graph:
    """Four communities of 20 with features that hint at them."""
    g = nx.planted_partition_graph(4, 20, 0.35, 0.02, seed=2)
    noise = torch.randn(80, 6, generator=torch.Generator().manual_seed(0))
    return Graph.from_edges(torch.tensor(list(g.edges)), num_nodes=80, x=noise + torch.eye(6)[torch.arange(80) // 20])


def karate() -> Graph:
    return Graph.from_edges(torch.tensor(list(nx.karate_club_graph().edges)))


def quick(name: str = "anchored", **changes) -> Preset:
    redrawn = "vertex_deleted" in changes.get("constraints", "")
    options = SMALL | {"epochs": 3} | ({} if redrawn else {"copies": 1}) | changes
    if name != "anchored" and "features" not in changes:
        del options["filtered_channels"]  # it would have no effect, and is refused
    return find_preset(name, **options)


def links_of(split, chosen: Preset, cache=None, memory_budget: int = 1 << 30) -> EncodedSplit:
    return EncodedSplit(split, chosen, resources=Resources(CPU, cache, memory_budget))


def fit_network(graph, split, chosen: Preset, *, cache=None, memory_budget=None, **more) -> FitResult:
    resources = Resources(CPU, cache, memory_budget)
    return fit_model(LLwLC(chosen), graph, split, seed=chosen.train.seed, resources=resources, **more)


def mark(graph, split, chosen: Preset, seed: int = 0) -> str:
    return fingerprint(content_digest(graph, split), LLwLC(chosen), seed)


def same(a: EncodedLinks, b: EncodedLinks) -> bool:
    return all(torch.equal(getattr(a, name), getattr(b, name)) for name in FIELD_TYPES)


def bits(fitted: FitResult) -> dict[str, bytes]:
    return {k: v.numpy().tobytes() for k, v in fitted.model.net.state_dict().items()}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return communities()


@pytest.fixture(scope="module")
def split(graph):
    return splits.make(graph, protocol="random", val=0.1, test=0.15, seed=0)


@pytest.fixture(scope="module")
def fitted(graph, split) -> FitResult:
    return fit_network(graph, split, quick(epochs=8))


def test_a_fit_reports_every_metric_beside_those_of_heuristics(graph, split, fitted):
    found = fitted.metrics.as_dict()
    wanted = {"hits@10", "hits@100", "hits@100_fpr", "mrr", "auc", "ap", "num_positives", "num_negatives"}
    assert wanted | {"calibration_error", "calibration_prior", "parameters", "epochs", "seconds"} <= set(found)
    assert all(math.isfinite(v) for v in found.values() if not isinstance(v, dict))
    assert found["parameters"] == fitted.model.net.num_parameters
    assert found["epochs"] == len(fitted.history) <= 8
    assert found["num_positives"] == len(split.test_pos)
    assert set(found["heuristics"]) == TITLES
    assert FitMetrics.from_dict(found) == fitted.metrics
    for record in HEURISTICS.records():
        if record.sides:
            continue
        score = record.load()
        pos, neg = score(split.test_graph, split.test_pos), score(split.test_graph, split.test_neg)
        assert found["heuristics"][record.title] == metrics.evaluate(pos, neg).as_dict()


def test_metrics_are_those_of_the_kept_network_on_the_test_links(split, fitted):
    pos, neg = (
        Scorer(fitted.model.net, fitted.features)(
            encode_pairs(split.test_graph, part, fitted.model.preset.basis, about="").with_pair(
                fitted.features.pair_inputs(split.test_graph, part)
            )
        )
        for part in (split.test_pos, split.test_neg)
    )
    assert fitted.metrics["auc"] == metrics.auc(pos, neg)
    probability = fitted.calibration.probability(torch.cat([pos, neg]), prior=fitted.metrics["calibration_prior"])
    label = torch.cat([torch.ones(len(pos)), torch.zeros(len(neg))])
    assert fitted.metrics["calibration_error"] == metrics.calibration_error(probability, label)
    assert fitted.metrics["calibration_prior"] == len(pos) / len(label)


def test_it_learns_more_than_chance(fitted):
    assert fitted.metrics["auc"] > 0.65
    assert fitted.history[-1].loss < fitted.history[0].loss


def test_features_enter_compact_and_only_where_there_are_some(fitted):
    assert fitted.compactor is not None
    assert fitted.features.compact is not None
    assert (
        fitted.model.net.config.feature_channels == fitted.compactor.channels == fitted.features.compact.shape[1] == 6
    )
    assert fitted.model.net.config.pair_channels == 6
    club = karate()
    found = fit_network(club, splits.make(club, protocol="random", val=0.1, test=0.2, seed=1), quick())
    assert found.compactor is found.features.compact is found.features.unit is None
    assert found.model.net.config.pair_channels == 5
    assert set(found.metrics["heuristics"]) == TITLES - {"cosine of Â²X"}
    assert 0 <= found.metrics["auc"] <= 1


@pytest.mark.parametrize("name", ["paper", "unconstrained"])
def test_the_papers_presets_choose_their_rows_by_the_sizes_of_subgraphs(graph, split, name):
    found = fit_network(graph, split, quick(name, copies=0, epochs=1))
    sizes = links_of(split, found.model.preset).training(0).data.sizes.double()
    assert found.model.preset.net.sort_rows == int(torch.quantile(sizes, 0.6))
    assert found.features.compact is None
    assert math.isfinite(found.metrics["auc"])


def test_same_seed_same_weights_and_the_cache_changes_nothing(graph, split, tmp_path):
    plain = fit_network(graph, split, quick())
    torch.manual_seed(5)
    state = torch.get_rng_state()
    for budget in (1 << 30, 0):
        again = fit_network(graph, split, quick(), cache=tmp_path / "cache", memory_budget=budget)
        assert bits(again) == bits(plain)
        assert again.history == plain.history
    assert torch.equal(torch.get_rng_state(), state)
    assert bits(fit_network(graph, split, quick(seed=1))) != bits(plain)


def test_half_precision_has_the_same_bits_in_memory_and_from_the_cache(graph, split, tmp_path):
    chosen = quick(stored_bits=16)
    plain = fit_network(graph, split, chosen)
    for budget in (1 << 30, 0):
        again = fit_network(graph, split, chosen, cache=tmp_path / "cache", memory_budget=budget)
        assert bits(again) == bits(plain)
    single = fit_network(graph, split, quick())
    assert bits(single) != bits(plain)
    assert single.metrics["auc"] == pytest.approx(plain.metrics["auc"], abs=0.05)


@pytest.mark.parametrize("options", [{"constraints": "vertex_deleted"}, {"stored_bits": 16}])
def test_an_interrupted_fit_goes_on_to_the_same_weights(graph, split, tmp_path, options):
    chosen = quick(**options)
    whole = fit_network(graph, split, chosen)

    def kill(record):
        if record.epoch == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_network(graph, split, chosen, checkpoint=Checkpoint(tmp_path / "at", ""), on_epoch=kill)
    resumed = fit_network(graph, split, chosen, checkpoint=Checkpoint(tmp_path / "at", ""))
    assert bits(resumed) == bits(whole)
    assert resumed.calibration == whole.calibration


@pytest.mark.parametrize("fraction", [0.05, 0.5, 1.0])
def test_a_fraction_uses_that_share_of_the_training_links(split, fraction):
    links = links_of(split, quick(fraction=fraction).resolve_defaults(len(split.train_pos)))
    expected = round(fraction * len(split.train_pos))
    assert links.num_positive == len(links.positives) == expected
    everything = set(map(tuple, split.train_pos.tolist()))
    assert set(map(tuple, links.positives.tolist())) <= everything
    assert len(links.training(0).data) >= 2 * expected
    other = links_of(split, quick(fraction=fraction, seed=3))
    assert (fraction == 1) == torch.equal(other.positives, links.positives)


def test_the_smallest_fraction_still_has_a_link(split):
    assert links_of(split, quick(fraction=1e-6)).num_positive == 1


def test_stochastic_constraints_are_redrawn_each_epoch_and_again_alike(split):
    links = links_of(split, quick(constraints="vertex_deleted"))
    first, second = links.training(0).data, links.training(1).data
    n = links.num_positive
    rows = int(first.sizes[:n].sum())
    assert len(first) == len(second) == 2 * n
    assert torch.equal(first.node[:rows], second.node[:rows]), "the positives are the same links"
    assert not torch.equal(first.vectors[:rows], second.vectors[:rows]), "with other deleted vertices"
    assert not torch.equal(first.sizes[n:], second.sizes[n:]), "and the negatives are fresh"
    assert same(links_of(split, quick(constraints="vertex_deleted")).training(1).data, second)


def test_fixed_constraints_are_encoded_once_and_thinned_copies_take_turns(split):
    links = links_of(split, quick(copies=2))
    assert links.training(0).data is links.training(3).data
    assert links.training(1).data is links.training(4).data
    original, thinned, other = (links.training(epoch).data for epoch in range(3))
    assert original.degree.sum() > thinned.degree.sum()
    assert not same(thinned, other)
    assert same(links_of(split, quick(copies=0)).training(1).data, original)


def test_no_training_negative_is_a_link_or_held_out(split):
    pairs = links_of(split, quick())._training_pairs
    n = len(split.train_pos)
    held = torch.cat([split.train_pos, split.valid_pos, split.test_pos, split.valid_neg, split.test_neg])
    taken = set(map(tuple, held.sort(1).values.tolist()))
    assert taken.isdisjoint(map(tuple, pairs[n:].sort(1).values.tolist()))


@pytest.mark.parametrize("constraints", ["neumann_boundary", "vertex_deleted"])
def test_a_dense_graph_with_few_non_links_trains(constraints):
    """Fewer pairs without a link are left than there are links."""
    g = nx.complete_graph(16)
    g.remove_edges_from([(i, i + 8) for i in range(8)] + [(i, i + 5) for i in range(10)])
    graph = Graph.from_edges(torch.tensor(list(g.edges)))
    split = splits.make(graph, protocol="random", val=0.05, test=0.05, seed=0)
    assert len(split.train_neg) < len(split.train_pos)
    found = fit_network(graph, split, quick(constraints=constraints, epochs=2))
    assert math.isfinite(found.metrics["auc"])


def test_hard_negatives_are_ranked_against_their_own_link(graph):
    split = splits.make(graph, protocol="heart", seed=0, num_hard=10)
    found = fit_network(graph, split, quick(epochs=1))
    assert found.metrics["num_negatives"] == 10
    assert set(measure_heuristics(split)) == TITLES


@pytest.mark.parametrize("chosen", [quick(), quick("paper"), quick(constraints="vertex_deleted"), quick(fraction=0.1)])
def test_the_forecast_is_finite_and_positive(split, chosen):
    state = torch.get_rng_state()
    seen = measure_forecast(split, chosen)
    assert torch.equal(torch.get_rng_state(), state), "looking ahead must not change what follows"
    assert seen.links > 0
    assert 2 <= seen.mean_size <= seen.largest <= 80
    assert seen.num_bytes > 0
    assert 0 < seen.seconds < 600


@pytest.mark.parametrize("changes", [{}, {"copies": 2}, {"fraction": 0.1}, {"constraints": "vertex_deleted"}])
def test_the_forecast_counts_the_links_that_training_encodes(split, changes):
    chosen = quick(**changes).resolve_defaults(len(split.train_pos))
    links = links_of(split, chosen)
    pool = split.train_neg[:1].repeat(chosen.train.candidate_pool * links.num_positive, 1)
    links.candidates = CandidateLinks(links.member, pool, split.valid_pos, split.valid_neg)
    seen = measure_forecast(split, chosen)
    assert seen.links == len(links.training(0).data)
    actual = {id(data): data.num_bytes for data in (links.training(epoch).data for epoch in range(chosen.train.epochs))}
    kept = min(actual.values()) if chosen.basis.stochastic else sum(actual.values())
    kept += sum(links.part(f"{stage}_{side}").num_bytes for stage in ("valid",) for side in ("pos", "neg"))
    # sizes come from a sample in which links and negatives are equally many; how many candidates there are for
    # validation is not known, so their most is counted
    most = estimate_bytes(MIN_VALID_CANDIDATES, seen.mean_size, chosen.basis.steps) if chosen.net.ranking else 0
    assert 0.6 * kept < seen.num_bytes < 1.6 * kept + most


def test_an_unknown_device_is_refused():
    assert pick_device("cpu") == CPU
    assert pick_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(InputError, match="no device is called 'gpu0': use auto, cpu or cuda"):
        pick_device("gpu0")


def test_cuda_without_a_gpu_is_refused_before_any_work(graph, split, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="cuda was asked for, but there is none here"):
        LinkPredictor(device="cuda", cache=None).fit(graph, split=split)


@pytest.mark.parametrize(("val", "test"), [(0.0, 0.1), (0.1, 0.0)])
def test_a_split_without_validation_or_test_links_is_refused_before_any_work(graph, val, test):
    split = splits.make(graph, protocol="random", val=val, test=test, seed=0)
    with pytest.raises(InputError, match="at least one link and one non-link"):
        fit_network(graph, split, quick(epochs=1))


def test_the_fingerprint_is_of_all_that_weights_depend_on(graph, split):
    base = mark(graph, split, quick())
    assert base == mark(
        communities(), splits.make(communities(), protocol="random", val=0.1, test=0.15, seed=0), quick()
    )
    others = [
        mark(graph, split, quick(), seed=1),
        mark(graph, split, quick(dropout=0.1)),
        mark(graph, split, quick(fraction=0.5)),
        mark(graph, splits.make(graph, protocol="random", val=0.1, test=0.15, seed=1), quick()),
        mark(replace(graph, x=None), split, quick()),
        mark(replace(graph, x=2 * graph.x), split, quick()),
        mark(graph.with_edges(graph.edges[1:]), split, quick()),
        mark(replace(graph, weight=torch.ones(len(graph.indices))), split, quick()),
    ]
    assert len({base, *others}) == len(others) + 1


@pytest.mark.parametrize("protocol", ["random", "heart"])
def test_test_links_are_measured_in_chunks_and_their_bases_are_not_kept(protocol, monkeypatch, tmp_path):
    graph = communities()
    split = splits.make(graph, protocol=protocol, seed=0, **({"num_hard": 10} if protocol == "heart" else {}))
    whole = fit_network(graph, split, quick(epochs=1), rank_candidates=False).metrics
    monkeypatch.setattr(LLwLC, "chunk", 7)
    kept = []
    monkeypatch.setattr(
        encoded_split,
        "load_or_encode",
        lambda *given, **named: kept.append(named["about"]) or load_or_encode(*given, **named),
    )
    parts = fit_network(graph, split, quick(epochs=1), rank_candidates=False, cache=tmp_path).metrics
    assert parts.test == whole.test
    assert kept
    assert not any("test" in about for about in kept)


def test_a_bipartite_graph_is_compared_with_heuristics_that_see_across_its_sides():
    pairs = list(nx.bipartite.random_graph(30, 40, 0.2, seed=0).edges)
    measured = LinkPredictor(model="three-paths").fit(Graph.from_edges(torch.tensor(pairs))).metrics_
    near = {record.title for record in HEURISTICS.records() if record.two_steps}
    assert len(near) == 3
    for titles in (set(measured.heuristics), set(measured.ranking.methods)):
        assert titles >= TITLES - near - {"cosine of Â²X"}
        assert not titles & near
