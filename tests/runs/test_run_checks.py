"""A run folder is data, never trusted: whatever someone else writes into it, under digests that fit, is refused with a
reason before a kernel sees it.
"""

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from llwlc._cli.app import app
from llwlc._predictor import LinkPredictor
from llwlc._runs.format import write_manifest
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models._base import LinkModel, score_pairs
from people import QUICK, people


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "run"
    graph = people()
    weighted = Graph.from_edges(
        graph.edges, num_nodes=90, weight=torch.rand(graph.num_edges) + 0.5, x=graph.x, names=graph.names
    )
    LinkPredictor(cache=None, minutes=None, **QUICK).fit(weighted, out=folder)
    return folder


@pytest.fixture
def run(original, tmp_path):
    return Path(shutil.copytree(original, tmp_path / "run"))


def arrays(file: str, change):
    """Other tensors in a file, and a manifest that fits them."""

    def damage(run: Path) -> None:
        tensors = load_file(run / file)
        with_about = {} if file != "split.safetensors" else about(run / file)
        save_file({k: t.contiguous() for k, t in change(tensors).items()}, run / file, with_about or None)
        write_manifest(run)

    return damage


def about(path: Path) -> dict[str, str]:
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        return file.metadata()


def put(name: str, at, value):
    def change(tensors):
        tensors[name] = tensors[name].clone()
        tensors[name][at] = value
        return tensors

    return change


def options(*keys: str, value):
    """Another value in config.json."""

    def damage(run: Path) -> None:
        config = json.loads((run / "config.json").read_text())
        inner = config
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value
        (run / "config.json").write_text(json.dumps(config))
        write_manifest(run)

    return damage


def curves(kind: str, part: str, change):
    """Another part of a curve of the candidates' calibration."""

    def damage(run: Path) -> None:
        config = json.loads((run / "config.json").read_text())
        curve = config["ranking"]["calibration"][kind]
        curve[part] = change(curve[part])
        (run / "config.json").write_text(json.dumps(config))
        write_manifest(run)

    return damage


def counts(part: str, change):
    """Other counts of the first stage of the candidates' calibration."""

    def damage(run: Path) -> None:
        config = json.loads((run / "config.json").read_text())
        stage = config["ranking"]["counts"]["sharing"][0]
        stage[part] = change(stage[part])
        (run / "config.json").write_text(json.dumps(config))
        write_manifest(run)

    return damage


def text(file: str, content: str):
    def damage(run: Path) -> None:
        (run / file).write_text(content)
        write_manifest(run)

    return damage


def metric(name: str, value):
    def damage(run: Path) -> None:
        found = json.loads((run / "metrics.json").read_text())
        text("metrics.json", json.dumps(found | {name: value}))(run)

    return damage


def swapped(tensors):
    """Two columns of the first row with two links change places."""
    row = int((tensors["indptr"].diff() > 1).nonzero()[0])
    at = int(tensors["indptr"][row])
    tensors["indices"][[at, at + 1]] = tensors["indices"][[at + 1, at]]
    return tensors


def one_way(tensors):
    return tensors | {
        "indptr": tensors["indptr"].clamp(max=len(tensors["indices"]) - 1),
        "indices": tensors["indices"][:-1],
        "weight": tensors["weight"][:-1],
    }


GRAPH, MODEL, SPLIT = "graph.safetensors", "model.safetensors", "split.safetensors"
HEAD = "net.head.0.weight"
DAMAGE = {
    "a pointer that falls": (arrays(GRAPH, put("indptr", 5, 10_000)), "indptr does not rise"),
    "a negative pointer": (arrays(GRAPH, put("indptr", 0, -7)), "indptr does not rise"),
    "a pointer beyond the end": (arrays(GRAPH, put("indptr", -1, 1 << 40)), "indptr does not rise"),
    "no pointer": (arrays(GRAPH, lambda t: t | {"indptr": torch.zeros(0, dtype=torch.long)}), "indptr does not rise"),
    "a node beyond the last": (arrays(GRAPH, put("indices", 3, 90)), "indices name nodes outside"),
    "a huge node": (arrays(GRAPH, put("indices", 3, 1 << 60)), "indices name nodes outside"),
    "a negative node": (arrays(GRAPH, put("indices", 3, -1)), "indices name nodes outside"),
    "unsorted links": (arrays(GRAPH, swapped), "unsorted"),
    "a link one way": (arrays(GRAPH, one_way), "one direction only"),
    "floating indices": (arrays(GRAPH, lambda t: t | {"indices": t["indices"].double()}), "64-bit integers"),
    "indices in rows": (arrays(GRAPH, lambda t: t | {"indices": t["indices"].reshape(2, -1)}), "64-bit integers"),
    "a NaN weight": (arrays(GRAPH, put("weight", 2, float("nan"))), "weight is NaN"),
    "a negative weight": (arrays(GRAPH, lambda t: t | {"weight": -t["weight"]}), "above zero"),
    "infinite weights": (arrays(GRAPH, lambda t: t | {"weight": t["weight"] / 0}), "above zero"),
    "a weight of one direction": (arrays(GRAPH, put("weight", 2, 9.0)), "both directions"),
    "too few weights": (arrays(GRAPH, lambda t: t | {"weight": t["weight"][1:].clone()}), "weight has shape"),
    "NaN features": (arrays(GRAPH, put("features", (1, 1), float("nan"))), "features has NaN"),
    "NaN raw features": (arrays(GRAPH, put("x", (1, 1), float("inf"))), "x has NaN"),
    "too few features": (arrays(GRAPH, lambda t: t | {"features": t["features"][1:].clone()}), "do not fit 90 nodes"),
    "no features": (
        arrays(GRAPH, lambda t: {k: v for k, v in t.items() if k != "features"}),
        "map to compact features",
    ),
    "too few raw features": (arrays(GRAPH, lambda t: t | {"x": t["x"][1:].clone()}), "x of shape"),
    "names of bytes": (arrays(GRAPH, lambda t: t | {"names": torch.zeros(9, dtype=torch.uint8)}), "fit together"),
    "NaN weights": (arrays(MODEL, put(HEAD, (0, 0), float("nan"))), "NaN or infinite"),
    "weights of another type": (arrays(MODEL, lambda t: t | {HEAD: t[HEAD].double()}), "of torch.float64"),
    "weights of another shape": (arrays(MODEL, lambda t: t | {HEAD: t[HEAD][:, 1:].clone()}), "not "),
    "a weight less": (arrays(MODEL, lambda t: {k: v for k, v in t.items() if k != HEAD}), "differ in 'head.0.weight'"),
    "a NaN map": (arrays(MODEL, put("compactor.shift", 0, float("nan"))), "NaN or infinite"),
    "another map": (arrays(MODEL, lambda t: t | {"compactor.components": torch.zeros(3, 3)}), "does not fit together"),
    "a test link beyond": (arrays(SPLIT, put("test_pos", (0, 0), 90)), "test_pos names nodes outside"),
    "a part in a row": (arrays(SPLIT, lambda t: t | {"valid_neg": t["valid_neg"].flatten()}), "not a list of pairs"),
    "a message beyond": (arrays(SPLIT, put("train_graph.indices", 0, 1 << 50)), "train_graph.indices name nodes"),
    "a billion hops": (options("options", "basis", "hops", value=10**9), "hops must be"),
    "many steps": (
        options("options", "basis", "steps", value=10**9),
        "config.json cannot be used: steps must be a whole number from 1 to 4096",
    ),
    "hops in words": (options("options", "basis", "hops", value="two"), "'two' for 'hops'"),
    "a truth of hops": (options("options", "basis", "hops", value=True), "'True' for 'hops'"),
    "constraints in a list": (options("options", "basis", "constraints", value=["none"]), "for 'constraints'"),
    "a wide network": (
        options("options", "net", "channels", value=10**9),
        "config.json cannot be used: channels must be",
    ),
    "a deep network": (options("options", "net", "blocks", value=10**9), "config.json cannot be used: blocks must be"),
    "a negative width": (
        options("options", "net", "filtered_channels", value=-3),
        "filtered_channels must be a whole number from 0 to 65536, got -3",
    ),
    "another width": (options("options", "net", "head", value=33), "model.safetensors cannot be used"),
    "other distances": (options("options", "net", "distance_cap", value=9), "distance_cap"),
    "a NaN rate": (options("options", "train", "learning_rate", value=float("nan")), "for 'learning_rate'"),
    "an infinite slope": (options("calibration", "slope", value=1e999), "for 'slope'"),
    "a slope too large for differences": (
        options("calibration", "slope", value=1e308),
        "too large for finite log-odds",
    ),
    "an offset too large for differences": (options("calibration", "offset", value=-1e308), "too large for finite"),
    "a slope that turns the order round": (options("calibration", "slope", value=-1.0), "slope of the calibration"),
    "a curve too steep": (curves("sharing", "weights", lambda w: [*w[:-1], 1e6]), "too steep"),
    "a refitted curve too steep": (
        curves("apart", "others", lambda o: [[0.0, *[900.0] * (len(o[0]) - 1)], *o[1:]]),
        "too steep",
    ),
    "a refit less": (curves("apart", "others", lambda o: o[1:]), "unequally often"),
    "no refits": (curves("sharing", "others", lambda o: []), "unequally often"),
    "a slope less": (curves("sharing", "weights", lambda w: w[1:]), "does not fit together"),
    "a knot of text": (curves("sharing", "knots", lambda k: ["x", *k[1:]]), "does not fit together"),
    "an infinite knot": (curves("sharing", "knots", lambda k: [*k[:-1], 1e999]), "NaN, infinite or negative"),
    "a count less": (counts("count", lambda c: c[1:]), "counts of the candidates' calibration do not fit"),
    "more links than candidates": (counts("hits", lambda h: [9.0, *h[1:]]), "calibration do not fit together"),
    "a count of nothing": (counts("count", lambda c: [0.0, *c[1:]]), "calibration do not fit together"),
    "a NaN score": (counts("score", lambda s: [float("nan"), *s[1:]]), "counts .* are NaN, infinite or negative"),
    "no share of hidden links": (counts("rho", lambda r: 0.0), "negative share of hidden links"),
    "counts in words": (counts("count", lambda c: "many"), "does not fit together"),
    "options in a list": (options("parameters", "options", value=[1]), "not a list of options"),
    "an option that is a parameter": (
        options("parameters", "options", value={"seed": 1}),
        "'seed', which is not an option",
    ),
    "minutes in words": (options("parameters", "minutes", value="ten"), "parameters.minutes is not a number"),
    "a preset in a list": (options("parameters", "preset", value=["paper"]), "parameters.preset is not text"),
    "a map of huge weights": (
        arrays(MODEL, lambda t: t | {"compactor.weight": torch.full_like(t["compactor.weight"], 1.7e308)}),
        "NaN or infinite",
    ),
    "a model of many words": (options("model", value="x" * 10_000), "no model is called 'x{60}…'; there are"),
    "a format of many words": (options("format", value="x" * 10_000), "has format x{60}, this version"),
    "features in words": (options("options", "features", value="many"), "does not fit together"),
    "needs in a list": (options("needs", value=["constraint x"]), "does not fit together"),
    "a deep configuration": (text("config.json", "[" * 900 + "]" * 900), "nested"),
    "a configuration too deep to read": (text("config.json", "[" * 100_000), "cannot be read"),
    "a long number": (text("metrics.json", '{"auc": ' + "9" * 10_000 + "}"), "metrics.json cannot be read"),
    "metrics in a list": (text("metrics.json", "[1]"), "does not fit together"),
    "an AUC in words": (metric("auc", "high"), "auc is 'high'"),
    "no negatives": (metric("num_negatives", 0), "fit together|cannot be used"),
    "infinitely many negatives": (metric("num_negatives", float("inf")), "does not fit together"),
    "history of text": (text("history.jsonl", '"epoch"\n'), "does not fit together"),
    "history of NaN": (
        text("history.jsonl", '{"epoch": 0, "loss": NaN, "valid": 1, "valid_auc": 1}\n'),
        "an entry is not a number",
    ),
    "history without end": (
        text("history.jsonl", '{"epoch": 1%s, "loss": 1, "valid": 1, "valid_auc": 1}\n' % ("0" * 400)),
        "an entry is not a number",
    ),
    "NaN in metrics": (metric("auc", float("nan")), "auc is 'nan', no number"),
    "an infinite metric": (metric("ap", float("inf")), "ap is 'inf', no number"),
    "history in words": (
        text("history.jsonl", '{"epoch": 0, "loss": "x", "valid": 1, "valid_auc": 1}\n'),
        "not a number",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_an_altered_run_with_digests_that_fit_is_refused_with_a_reason(run, name):
    damage, message = DAMAGE[name]
    damage(run)
    with pytest.raises(InputError, match=message) as caught:
        LinkPredictor.load(run)
    assert "\n" not in str(caught.value)


def test_names_that_are_no_names_are_refused(run):
    for names in (["a"] * 90, ["a"], {"a": 1}, [1] * 90, [f"{i}\ud800" for i in range(90)]):
        data = torch.frombuffer(bytearray(json.dumps(names).encode()), dtype=torch.uint8)
        arrays(GRAPH, lambda tensors, data=data: tensors | {"names": data})(run)
        with pytest.raises(InputError, match="name"):
            LinkPredictor.load(run)


def test_a_pipe_in_place_of_a_file_does_not_hang(run):
    for name in ("manifest.json", "config.json", "metrics.json"):
        whole = (run / name).read_bytes()
        (run / name).unlink()
        os.mkfifo(run / name)
        with pytest.raises(InputError):
            LinkPredictor.load(run)
        (run / name).unlink()
        (run / name).write_bytes(whole)
    LinkPredictor.load(run)


def test_a_baselines_run_without_its_features_is_refused(tmp_path):
    """Its shortlist was fitted with them; nothing else of such a run reads them."""
    LinkPredictor(model="adamic-adar", device="cpu", cache=None, minutes=None).fit(people(), out=tmp_path / "run")
    arrays(GRAPH, lambda tensors: {name: tensor for name, tensor in tensors.items() if name != "x"})(tmp_path / "run")
    with pytest.raises(InputError, match="shortlist has 7 inputs, its features give 6"):
        LinkPredictor.load(tmp_path / "run")


def overflowing(sign):
    """Every weight is finite; their sums are not."""

    def change(tensors):
        outer = torch.full_like(tensors["net.head.3.weight"], 3e38)
        outer[0, ::2] *= sign
        ranking = torch.full_like(tensors["net.ranking.weight"], 3e38)
        ranking[:, ::2] *= sign
        inner = torch.full_like(tensors["net.head.0.bias"], 1e30)
        return tensors | {"net.head.3.weight": outer, "net.ranking.weight": ranking, "net.head.0.bias": inner}

    return arrays(MODEL, change)


HUGE = {"infinite": overflowing(1), "NaN": overflowing(-1)}


@pytest.mark.parametrize("damage", HUGE.values(), ids=HUGE)
def test_a_run_whose_scores_overflow_is_refused_when_it_is_asked(run, damage):
    damage(run)
    model = LinkPredictor.load(run, device="cpu", cache=None)
    pair = [("Person 00", "Person 41")]
    for ask in (
        lambda: model.score(pair),
        lambda: model.score([*pair, ("Person 00", "Nobody")], unknown="blank"),
        lambda: model.score_table(pair),
        lambda: model.recommend(top=3),
        lambda: model.recommend(node="Person 00"),
        lambda: model.explain(*pair[0]),
        lambda: model.explain(*pair[0], population="candidates"),
    ):
        with pytest.raises(InputError, match=r"copy the run again, or fit again") as caught:
            ask()
        assert "\n" not in str(caught.value)


class Overflowing(LinkModel):
    """Its scores are as a GPU gives those of the runs above: finite in double precision alone."""

    def fit(self, split, *, resources):
        pass

    def score(self, graph, pairs, population="random"):
        return torch.full((len(pairs),), 1e70, dtype=torch.float64)


def test_a_score_beyond_single_precision_is_refused_on_every_device():
    with pytest.raises(
        InputError, match=r"gave 1e\+70 as the score of nodes 0 and 1.* copy the run again, or fit again"
    ):
        score_pairs(Overflowing(), people(), torch.tensor([[0, 1]]))


def test_the_commands_refuse_such_a_run_in_one_line(run, tmp_path):
    HUGE["infinite"](run)  # on a GPU, which adds in double precision, the sums of the other are finite
    (tmp_path / "pairs.csv").write_text("source,target\nPerson 00,Person 41\n")
    for words in (
        ("score", run, tmp_path / "pairs.csv", "-o", tmp_path / "out.csv"),
        ("recommend", run),
        ("explain", run, "Person 00", "Person 41"),
        ("report", run, "-o", tmp_path / "report.html"),
    ):
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert done.exit_code == 2, (words, done.output)
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        assert [line for line in lines if line.startswith("Error: ")] == lines[-1:]
        assert "copy the run again, or fit again" in lines[-1]
        assert not done.stdout.strip()
    assert not (tmp_path / "out.csv").exists()
    assert not (tmp_path / "report.html").exists()


def test_the_page_refuses_such_a_run_in_one_sentence(run):
    testing = pytest.importorskip("starlette.testclient")
    from llwlc._serve.app import make_app

    HUGE["NaN"](run)
    app = make_app(LinkPredictor.load(run, device="cpu", cache=None), warm=False)
    with testing.TestClient(app, base_url="http://localhost") as client:
        for answer in (
            client.post("/score", json={"pairs": [["Person 00", "Person 41"]]}),
            client.get("/recommend?node=Person 00"),
            client.get("/explain?u=Person 00&v=Person 41"),
        ):
            assert answer.status_code == 400
            assert "copy the run again, or fit again" in answer.json()["error"]


def test_a_blank_score_that_was_asked_for_stays_blank(original):
    found = LinkPredictor.load(original, device="cpu", cache=None).score(
        [("Person 00", "Person 41"), ("Person 00", "Nobody")], unknown="blank"
    )
    assert found.score.isnan().tolist() == [False, True]
    assert found.probability.isnan().tolist() == [False, True]
