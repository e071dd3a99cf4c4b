"""A blend is one model: fitted, stored, resumed and asked like any other, never worse than the evidence allows."""

import math
import time
from dataclasses import replace
from functools import partial

import networkx as nx
import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from llwlc import splits
from llwlc._cli.app import app
from llwlc._predictor import LinkPredictor
from llwlc._runs.model_card import first_sentence
from llwlc._runs.plan_source import choose_omitted
from llwlc.errors import InputError, RunFolderError
from llwlc.graph._graph import Graph
from llwlc.metrics import auc
from llwlc.models import Blend, GlobalModel, LinkModel, make
from llwlc.models._base import CANDIDATES, RANDOM, Explainable, Plannable
from llwlc.models._mixture import score_evidence, signed_log
from llwlc.models._registry import MODELS
from llwlc.splits._negatives import pair_number
from llwlc.splits._sides import joins_two_sides
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources
from llwlc.training._timing import LoadMeter, time_block
from people import people

PAIRS = torch.tensor([[a, b] for a in range(20) for b in range(40, 90, 3)])
SMALL = {"members": "llwlc,adamic-adar,katz", "epochs": 2, "steps": 4}
TWO_TRAINED = SMALL | {"members": "llwlc,global,adamic-adar,katz"}


class Half(LinkModel):
    """Knows the links whose ends have an even sum, or an odd one; of the others it knows nothing."""

    unit = "own"

    def __init__(self, odd: int, links: tuple[tuple[int, int], ...], nodes: int) -> None:
        self.odd, self.links, self.nodes = odd, links, nodes

    def fit(self, split, features, **how):
        return self

    def score(self, graph, pairs, population=RANDOM):
        known = torch.isin(pair_number(pairs, self.nodes), pair_number(torch.tensor(self.links), self.nodes))
        noise = torch.sin(pair_number(pairs, self.nodes).double() * (1.7 + self.odd) * 1e3)
        return torch.where(pairs.sum(1) % 2 == self.odd, 2.5 * known.double(), 0.0) + noise


def halves(graph):
    links = tuple(map(tuple, graph.edges.tolist()))
    return [type(f"Half{odd}", (Half,), {"name": f"half{odd}"})(odd, links, graph.num_nodes) for odd in (0, 1)]


def fitted(blend, split, **how):
    return blend.fit(split, NodeFeatures(), seed=0, resources=Resources(), **how)


def test_members_that_complete_each_other_beat_the_best_of_them_on_test_links():
    graph = people(features=False)
    split = splits.make(graph, protocol="random", seed=0, val=0.05, test=0.3)
    blend = fitted(Blend(halves(graph)), split)
    assert len(blend.parts) == 2
    assert blend.remark.startswith("This run blends half0 and half1")
    scores = {
        name: auc(model.score(split.test_graph, split.test_pos), model.score(split.test_graph, split.test_neg))
        for name, model in {"blend": blend, **dict(enumerate(halves(graph)))}.items()
    }
    assert scores["blend"] > max(scores[0], scores[1]) + 0.05


def test_evidence_is_the_validation_links_and_enough_pairs_without_a_link():
    graph = people(features=False)
    split, n = splits.make(graph, protocol="random", seed=0), people().num_nodes
    links = Half(0, tuple(map(tuple, graph.edges.tolist())), n)
    found = score_evidence([links, make("adamic-adar")], split, seed=0)
    assert found.pos[0].tolist() == links.score(split.valid_graph, split.valid_pos).tolist()
    assert found.neg[1][: len(split.valid_neg)].tolist() == (
        make("adamic-adar").score(split.valid_graph, split.valid_neg).tolist()
    )
    assert {len(own) for own in found.neg} == {500}
    assert not (found.neg[0][split.valid_neg.shape[0] :] > 1.5).any()  # a known link would have 2.5 more
    again = score_evidence([links], split, seed=0)
    assert torch.equal(found.neg[0], again.neg[0])


def test_where_validation_links_are_few_the_trained_members_count_alike_and_a_useless_one_not():
    graph = people(features=False)
    split = splits.make(graph, protocol="random", seed=0, val=0.15)
    assert len(split.valid_pos) < 200
    blend = fitted(Blend(["stack", GlobalModel(epochs=5, folds=5, low=8, high=8), "katz"]), split)
    assert blend.mixtures[RANDOM].share.tolist() == pytest.approx([0.5, 0.5])
    assert "with equal weights" in blend.remark

    class Backwards(Half):
        name, unit = "backwards", "log_odds"

        def score(self, graph, pairs, population=RANDOM):
            known = torch.isin(pair_number(pairs, self.nodes), pair_number(torch.tensor(self.links), self.nodes))
            return -2.5 * known.double()

    wrong = Backwards(0, tuple(map(tuple, graph.edges.tolist())), graph.num_nodes)
    assert [part.name for part in fitted(Blend(["stack", wrong]), split).parts] == ["stack"]


def test_signed_log_keeps_the_order_and_the_sign_and_depends_on_no_batch():
    score = torch.cat([torch.linspace(-50, 50, 1001, dtype=torch.float64), torch.zeros(1)])
    transformed = signed_log(score, 3.0)
    assert bool((transformed[1:1001] > transformed[:1000]).all())
    assert torch.equal(transformed.sign(), score.sign())
    assert torch.equal(transformed, torch.cat([signed_log(part, 3.0) for part in score.split(7)]))
    plain = score.numpy()
    assert transformed.numpy() == pytest.approx(np.sign(plain) * np.log1p(np.abs(plain / 3.0)))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A fitted blend, and its folder."""
    folder = tmp_path_factory.mktemp("blend") / "run"
    return LinkPredictor(model="blend", minutes=None, cache=None, **SMALL).fit(people(), out=folder), folder


def test_a_stored_blend_gives_the_same_scores(run):
    made, folder = run
    read = LinkPredictor.load(folder)
    assert read.model_.title == made.model_.title
    assert torch.equal(read.score(PAIRS).score, made.score(PAIRS).score)
    assert torch.equal(read.score(PAIRS).probability, made.score(PAIRS).probability)
    assert [p.score for p in read.recommend(top=5)] == [p.score for p in made.recommend(top=5)]
    assert made.metrics_["parameters"] == read.model_.num_parameters
    assert read.model_.fresh().members[0].preset.basis == made.model_.members[0].preset.basis
    assert {p.name for p in folder.iterdir() if p.name.startswith("checkpoint")} == set()


def test_a_score_depends_on_no_other_pair_and_no_order_of_ends(run):
    made, _ = run
    whole = made.score(PAIRS).score
    assert torch.equal(torch.cat([made.score(part).score for part in PAIRS.split(13)]), whole)
    assert torch.equal(made.score(PAIRS.flip(1)).score, whole)
    assert torch.equal(made.score(PAIRS.flip(0)).score.flip(0), whole)


def test_the_parts_add_up_to_the_score(run):
    model = run[0].model_
    graph = run[0].graph_
    parts = model.part_scores(graph, PAIRS)
    total = sum(parts.values()) + model.mixtures[RANDOM].offset
    assert total.numpy() == pytest.approx(model.score(graph, PAIRS).numpy())
    assert list(parts) == [part.title for part in model.parts]


class Stopped(Exception):
    pass


def test_a_stopped_fit_goes_on_and_ends_with_the_same_bits(tmp_path):
    epochs = []

    def stop(record):
        epochs.append(record.epoch)
        if len(epochs) == 3:  # in the training of the second member
            raise Stopped

    how = {"model": "blend", "minutes": None, "cache": None, **TWO_TRAINED}
    with pytest.raises(Stopped):
        LinkPredictor(**how).fit(people(), out=tmp_path / "run", on_epoch=stop)
    files = {path.name for path in (tmp_path / "run").iterdir()}
    assert "checkpoint-0-ended.safetensors" in files
    after = []
    resumed = LinkPredictor(**how).fit(people(), out=tmp_path / "run", on_epoch=after.append)
    folder = tmp_path / "whole"
    whole = LinkPredictor(**how).fit(people(), out=folder)
    assert len(after) == 2 + 20 - 3  # an epoch is reported when its checkpoint is written
    assert torch.equal(resumed.score(PAIRS).score, whole.score(PAIRS).score)
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    assert not [path for path in (tmp_path / "run").iterdir() if path.name.startswith("checkpoint")]


def test_a_checkpoint_that_is_another_runs_or_damaged_is_refused(tmp_path):
    def stop(record):
        if record.epoch == 1:
            stop.ended += 1
        if stop.ended == 2:
            raise Stopped

    stop.ended = 0
    how = {"model": "blend", "minutes": None, "cache": None, **TWO_TRAINED}
    out = tmp_path / "run"
    with pytest.raises(Stopped):
        LinkPredictor(**how).fit(people(), out=out, on_epoch=stop)
    with pytest.raises(RunFolderError, match="another run"):
        LinkPredictor(**how | {"seed": 1}).fit(people(), out=out)
    ended = out / "checkpoint-0-ended.safetensors"
    data = bytearray(ended.read_bytes())
    data[-1] ^= 1
    ended.write_bytes(bytes(data))
    with pytest.raises(RunFolderError, match="is damaged"):
        LinkPredictor(**how).fit(people(), out=out)


def test_one_member_alone_scores_as_it_does_without_a_blend():
    how = {"minutes": None, "cache": None, "epochs": 2, "steps": 4}
    graph = people()
    split = splits.make(graph, protocol="random", seed=0, val=0.49, test=0.1)
    assert len(split.valid_pos) >= 200  # so nothing is hidden from the members
    alone = LinkPredictor(model="llwlc", **how).fit(graph, split=split)
    blend = LinkPredictor(model="blend", members="llwlc", **how).fit(graph, split=split)
    assert blend.model_.title == "llwlc"
    assert torch.equal(alone.score(PAIRS).score, blend.score(PAIRS).score)
    assert [p.score for p in alone.recommend(top=5)] == [p.score for p in blend.recommend(top=5)]


def test_what_a_blend_can_do_is_what_its_members_can():
    assert isinstance(make("blend", members="llwlc,katz"), Plannable)
    without = make("blend", members="adamic-adar,katz")
    assert not isinstance(without, Plannable)
    graph = people(features=False)
    split = splits.make(graph, protocol="random", seed=0)
    assert not isinstance(fitted(without, split), Explainable)


def test_on_a_tiny_graph_the_global_model_is_left_out_of_a_blend():
    split = splits.make(Graph.from_networkx(nx.karate_club_graph()), protocol="random", seed=0)
    assert [part.name for part in fitted(Blend(["stack", "global"]), split).parts] == ["stack"]


def test_members_that_a_graph_does_not_allow_are_left_out_but_the_first():
    graph = people(features=False)
    blend = fitted(make("blend", members="katz,cosine"), splits.make(graph, protocol="random", seed=0))
    assert blend.title == "Katz"
    with pytest.raises(InputError, match="compares features"):
        LinkPredictor(model="blend", members="cosine,katz").fit(graph)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ("llwlc,nothing", "no model is called"),
        ("katz,katz", "'katz' is named twice"),
        ("blend,katz", "a blend cannot be a member of a blend"),
    ],
)
def test_bad_members_are_refused(members, message):
    with pytest.raises(InputError, match=message):
        make("blend", members=members)


def test_a_hostile_configuration_is_refused(run):
    model, graph = run[0].model_, run[0].graph_
    config, state = dict(model.config), model.state()
    bad = [
        {"members": []},
        {"members": [{"name": "blend"}], "parts": config["parts"]},
        {"members": [{"name": "os"}]},
        {"parts": [{"name": "mlp", "config": {}}]},
        {"parts": [{"name": "katz", "config": [{}]}]},
        {"parts": ["katz"]},
        {"adjusted_inputs": -1},
    ]
    for part in bad:
        with pytest.raises((RunFolderError, InputError)):
            Blend.from_state(config | part, state, graph, NodeFeatures())
    with pytest.raises(RunFolderError, match="below 0"):
        Blend.from_state(config, state | {"random.parts": -state["random.parts"] - 1}, graph, model.features)
    assert MODELS["blend"].load().shapes(config, "here").keys() == state.keys()


def test_the_default_is_a_blend_and_presets_and_options_mean_the_network_alone():
    assert LinkPredictor().make_model().name == "blend"
    assert LinkPredictor("paper").make_model().name == "llwlc"
    assert LinkPredictor(epochs=3).make_model().name == "llwlc"
    assert LinkPredictor(model="llwlc").make_model().name == "llwlc"
    names = [member.name for member in LinkPredictor().make_model().members]
    assert names[:3] == ["llwlc", "stack", "global"]
    assert "katz" in names
    more = [member.name for member in LinkPredictor(model="auto").make_model().members]
    assert more[: len(names)] == names
    assert set(more) - set(names) == {"gae", "ncn", "ncnc", "buddy"}


def test_the_default_fit_from_the_command_line_to_a_list_of_a_grown_graph(tmp_path):
    graph = people(features=False)
    rows = [f"{graph.name(a)},{graph.name(b)}" for a, b in graph.edges.tolist()]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *rows]) + "\n")
    (tmp_path / "pairs.csv").write_text("source,target\nPerson 01,Person 07\nNewcomer,Person 07\n")
    grown = ["source,target", *rows, "Newcomer,Person 01", "Newcomer,Person 02"]
    (tmp_path / "grown.csv").write_text("\n".join(grown) + "\n")
    run = str(tmp_path / "run")
    call = partial(CliRunner().invoke, app)
    done = call(["fit", str(tmp_path / "edges.csv"), "--out", run])
    assert done.exit_code == 0, done.output
    read = LinkPredictor.load(run)
    assert read.get_params()["model"] is None
    assert read.model_.name == "blend"
    assert read.model_.about.split()[0] in (tmp_path / "run" / "MODEL_CARD.md").read_text()
    asked = [str(tmp_path / "pairs.csv"), "--graph", str(tmp_path / "grown.csv"), "-o", str(tmp_path / "scores.csv")]
    scored = call(["score", run, *asked])
    assert scored.exit_code == 0, scored.output
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 3


class Slow(Half):
    """Takes ten times as long as its measurement, which may wait as long as it works, as on a machine that does as much
    other work.
    """

    name = "slow"
    wait = False

    def __init__(self) -> None:
        super().__init__(0, (), 0)

    def cost(self, split, features, **how):
        with time_block() as taken:
            end = time.process_time() + 0.2
            while time.process_time() < end:
                pass
            if self.wait:
                time.sleep(0.3)
        return 10 * taken()


def test_other_work_on_the_machine_costs_no_member_of_a_blend(monkeypatch):
    split = splits.make(people(features=False), protocol="random", seed=0)
    blend = Blend(["katz", Slow()])
    calm = blend.member_costs(split, NodeFeatures(), resources=Resources())["slow"]
    monkeypatch.setattr(Slow, "wait", True)
    load = LoadMeter()
    with load.measuring():
        busy = blend.member_costs(split, NodeFeatures(), resources=Resources())["slow"]
    assert busy == pytest.approx(calm, rel=0.05) == pytest.approx(2, rel=0.05)
    assert load.slowdown > 1.5  # half a second for a fifth of a second's work
    costs = {"stack": 3.0, "global": 4.0, "katz": 0.0}
    assert choose_omitted(costs, 7) == []
    assert choose_omitted(costs, 6) == ["global"]


def test_where_nothing_was_learned_candidates_are_ranked_by_the_best_heuristic():
    """Links of a random graph are independent of each other: no trained member can tell anything."""
    graph = Graph.from_networkx(nx.gnm_random_graph(120, 700, seed=2))
    found = LinkPredictor(model=Blend(["stack", "adamic-adar", "katz"]), minutes=None, seed=1).fit(graph)
    blend, heuristics = found.model_, {"Adamic–Adar": "adamic-adar", "Katz": "katz"}
    ranks = next(name for title, name in heuristics.items() if f"ranked by {title!r}" in blend.remark)
    assert "No trained model tells" in blend.remark
    assert "better than chance" in first_sentence(found.fitted_)
    assert not blend.adjustable
    pairs = torch.tensor([[a, b] for a in range(20) for b in range(40, 120, 3)])
    own, score = make(ranks).score(graph, pairs), blend.score(graph, pairs, CANDIDATES)
    order = own.argsort()
    assert (score[order].diff() >= 0).all()
    assert (score[order].diff()[own[order].diff() > 1e-9] > 0).all()
    learned = LinkPredictor(model=Blend(["stack", "adamic-adar"]), minutes=None).fit(people(features=False))
    assert "No trained" not in learned.model_.remark


def test_members_that_there_is_no_time_to_measure_are_left_out():
    split = splits.make(people(features=False), protocol="random", seed=0)
    costs = Blend(["katz", "adamic-adar", "stack"]).member_costs(split, NodeFeatures(), resources=Resources(seconds=0))
    assert costs == {"adamic-adar": 0.0, "stack": math.inf}
    assert choose_omitted(costs, 1e9) == ["stack"]


def test_where_only_a_leak_could_win_a_blend_sees_nothing_at_validation_and_test():
    """Links of a random graph are independent of each other: whoever tells them from non-links has seen them."""
    graph = Graph.from_networkx(nx.gnm_random_graph(250, 900, seed=5))
    split = splits.make(graph, protocol="random", seed=1, val=0.15, test=0.15)
    blend = fitted(Blend(["stack", GlobalModel(epochs=3, folds=5, low=16, high=8), "katz", "adamic-adar"]), split)
    for stage in ("valid", "test"):
        known = getattr(split, f"{stage}_graph")
        pos, neg = (blend.score(known, getattr(split, f"{stage}_{part}")) for part in ("pos", "neg"))
        # 135 links and non-links: a standard error of 0.035
        assert abs(auc(pos, neg) - 0.5) < 0.12


def test_hard_negatives_choose_the_weights_where_a_split_has_them():
    graph = people()
    split = splits.make(graph, protocol="heart", seed=0, num_hard=20)
    blend = LinkPredictor(model="blend", minutes=None, cache=None, **SMALL).fit(graph, split=split)
    remark = blend.model_.remark
    assert not remark or f"{len(split.valid_pos)} links" in remark or f"{len(split.valid_pos)} hidden" in remark


def test_a_member_that_cannot_learn_from_a_graph_is_left_out_and_named(capfd):
    class Refuses(LinkModel):
        name = "refuses"

        def fit(self, split, features, **how):
            raise InputError("nothing to learn from")

        score = None

    graph = people(features=False)
    how = {"minutes": None, "cache": None, "verbose": True}
    made = LinkPredictor(model=Blend(["katz", Refuses()]), **how).fit(graph)
    assert made.model_.title == "Katz"
    assert "left out of the blend: Refuses (nothing to learn from)" in capfd.readouterr().err.replace(
        "refuses", "Refuses"
    )


def test_the_network_stays_in_a_blend_that_it_can_explain(run):
    made, _ = run
    assert isinstance(made.model_, Explainable)
    first = made.recommend(top=1)[0]
    found = made.explain(first.source, first.target)
    assert found.reference + sum(part.effect for part in found.parts) == pytest.approx(found.predictions[0].log_odds)


@pytest.mark.filterwarnings("ignore::llwlc.graph.GraphWarning")
def test_training_links_that_are_bipartite_by_chance_do_not_make_a_graph_of_users_and_items():
    """A grid with a few diagonals, all of which are validation or test links."""
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(12, 12))
    even = Graph.from_networkx(grid)
    diagonals = torch.tensor([[12 * i + i, 12 * i + i + 13] for i in range(0, 11, 2)])
    graph = Graph.from_edges(torch.cat([even.edges, diagonals]), num_nodes=144)
    split = splits.make(even, protocol="random", seed=0, val=0.1)
    assert joins_two_sides(split)
    odd = replace(split, valid_pos=torch.cat([split.valid_pos, diagonals[:3]]))
    odd = replace(odd, test_pos=torch.cat([split.test_pos, diagonals[3:]]), test_graph=graph)
    assert not joins_two_sides(odd)
    blend = fitted(Blend(["stack", "users-items", "implicit-als", "katz"]), odd)
    assert {part.name for part in blend.parts} <= {"stack", "katz"}
    assert blend.score(graph, odd.test_pos, CANDIDATES).isfinite().all()


@pytest.mark.filterwarnings("ignore::llwlc.graph.GraphWarning")
def test_on_users_and_items_candidates_are_ranked_by_their_own_member(tmp_path):
    rng = np.random.default_rng(0)
    fits = np.arange(40)[:, None] % 3 == np.arange(30)[None] % 3
    user, item = np.nonzero(rng.random((40, 30)) < np.where(fits, 0.5, 0.05))
    graph = Graph.from_edges(np.stack([user, item + 40], 1), num_nodes=70)
    model = LinkPredictor(model="blend", members="three-paths,users-items", device="cpu").fit(
        graph, out=tmp_path / "run"
    )
    assert model.model_.remark.endswith("ranked by 'users and items' alone, as the graph is bipartite.")
    pairs = torch.tensor(
        [[u, i] for u in range(40) for i in range(40, 70) if not graph.has_edges(torch.tensor([[u, i]]))]
    )
    alone = make("users-items").score(graph, pairs)
    mixed = LinkPredictor.load(tmp_path / "run", device="cpu").model_.score(graph, pairs, CANDIDATES)
    assert torch.equal(mixed.argsort(stable=True), alone.argsort(stable=True))
