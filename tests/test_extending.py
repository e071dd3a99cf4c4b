"""Exercises of a new user: one file each, written from docs/architecture.md, and the new thing works wherever a
built-in one does.
"""

import functools
import gzip
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import llwlc
from llwlc._support.plugins import load_plugin
from llwlc.bases import _cache as cache_module
from llwlc.bases import _kernel_compilation as warmup
from llwlc.bases._config import BasisConfig
from llwlc.bases._starts import STARTS
from llwlc.constraints._registry import FAMILIES
from llwlc.datasets._catalog import DATASETS
from llwlc.errors import InputError
from llwlc.graph import FORMATS
from llwlc.models import MODELS
from llwlc.nn._registry import READOUTS
from llwlc.splits._registry import PROTOCOLS
from people import QUICK, people

ROOT = Path(__file__).parents[1]
PLUGINS = ROOT / "examples" / "plugins"
PAIRS = torch.tensor([[3, 44], [10, 11], [0, 80]])


@pytest.fixture(autouse=True)
def forgotten():
    """What a test registers is gone after it."""
    yield
    for registry in (FAMILIES, STARTS, READOUTS, PROTOCOLS, DATASETS, MODELS, FORMATS):
        for record in registry.records():
            if not record.builtin:
                registry.remove(record.name)


def copied(name: str, folder: Path) -> Path:
    path = folder / name
    path.write_text((PLUGINS / name).read_text())
    return path


def test_a_constraint_of_at_most_twenty_lines_works_everywhere(tmp_path):
    plugin = copied("my_constraint.py", tmp_path)
    assert len(plugin.read_text().splitlines()) <= 20
    assert load_plugin(plugin) == ["constraint common"]
    graph = people()
    # the basis lies in the null space of the column, whichever backend made it
    subs, basis = llwlc.link_bases(graph, PAIRS, constraints="common", dtype=torch.float64)
    column = ((subs.dist_u == 1) & (subs.dist_v == 1)).double()
    assert float((column[:, None] * basis.vectors).sum(0).abs().max()) < 1e-12
    _, slow = llwlc.link_bases(graph, PAIRS, constraints="common", dtype=torch.float64, backend="reference")
    torch.testing.assert_close(basis.values, slow.values, rtol=0, atol=1e-10)
    both = llwlc.link_bases(graph, PAIRS, constraints="neumann+common", count=3)[1]
    assert both.values.shape == basis.values.shape
    # fitted, kept, loaded, scored
    model = llwlc.LinkPredictor(constraints="common", cache=tmp_path / "bases", minutes=None, device="cpu", **QUICK)
    model.fit(graph, out=tmp_path / "run")
    again = llwlc.LinkPredictor.load(tmp_path / "run")
    assert torch.equal(again.score(PAIRS).score, model.score(PAIRS).score)
    needs = json.loads((tmp_path / "run" / "config.json").read_text())["needs"]
    assert needs == {"constraint common": {"digest": FAMILIES["common"].digest, "file": "my_constraint.py"}}


def test_an_unregistered_function_works_and_is_registered_for_a_run(tmp_path):
    def ends(subs):
        at = torch.zeros(subs.num_nodes, dtype=torch.float64)
        at[subs.u] = 1
        return llwlc.constraints.custom(subs, at)

    graph = people()
    assert llwlc.link_bases(graph, PAIRS, constraints=ends)[1].mask.any()
    model = llwlc.LinkPredictor(constraints=ends, cache=None, minutes=None, device="cpu", **QUICK).fit(graph)
    assert model.model_.basis.constraints == "ends"
    assert "ends" in FAMILIES
    with pytest.raises(InputError, match="give the constraint one"):
        llwlc.LinkPredictor(constraints=lambda subs: ends(subs)).fit(graph)


def test_an_edited_constraint_gets_fresh_bases_and_its_own_fingerprint(tmp_path, monkeypatch):
    plugin = copied("my_constraint.py", tmp_path)
    load_plugin(plugin)
    graph, config = people(), BasisConfig(constraints="common")
    computed = []
    parts = cache_module.iterate_encoded_parts
    monkeypatch.setattr(cache_module, "iterate_encoded_parts", lambda *a, **k: computed.append(1) or parts(*a, **k))
    options = {"cache": tmp_path / "bases", "about": ""}
    before = cache_module.load_or_encode(graph, PAIRS, config, **options)
    cache_module.load_or_encode(graph, PAIRS, config, **options)
    assert len(computed) == 1
    plugin.write_text(plugin.read_text().replace("subs.dist_v == 1", "subs.dist_v == 2"))
    load_plugin(plugin)
    after = cache_module.load_or_encode(graph, PAIRS, BasisConfig(constraints="common"), **options)
    assert len(computed) == 2
    assert not torch.equal(before.values, after.values)
    # a run of the old code is not taken for one of the new
    model = llwlc.LinkPredictor(constraints="common", cache=None, minutes=None, device="cpu", **QUICK).fit(
        graph, out=tmp_path / "run"
    )
    plugin.write_text(plugin.read_text().replace("subs.dist_v == 2", "subs.dist_v == 3"))
    load_plugin(plugin)
    changed = llwlc.LinkPredictor(constraints="common", cache=None, minutes=None, device="cpu", **QUICK)
    with pytest.warns(UserWarning, match="has changed"), pytest.raises(InputError, match="another run"):
        changed.fit(graph, out=tmp_path / "run")
    with pytest.warns(UserWarning, match=r"'common' \(from my_constraint\.py\) has changed since the run"):
        llwlc.LinkPredictor.load(tmp_path / "run")
    assert model.run_.info.needs


def test_no_process_is_started_for_a_constraint_once_the_kernels_are_there(tmp_path, monkeypatch):
    load_plugin(copied("my_constraint.py", tmp_path))
    graph, config = people(), BasisConfig(constraints="common", steps=7)
    warmup.compile_basis_kernels(graph, config)
    started = []
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: started.append(a))
    warmup._READY.clear()
    warmup.compile_basis_kernels(graph, config)
    assert not started


def llwlc_command(*arguments: object, cwd: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "llwlc", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_a_run_names_what_it_needs_and_refuses_without_it(tmp_path):
    plugin = copied("my_constraint.py", tmp_path)
    people().to_csv(tmp_path / "edges.csv")
    settings = [part for name, value in QUICK.items() for part in ("--set", f"{name}={value}")]
    arguments = ["fit", "edges.csv", "--out", "run", "--set", "constraints=common", *settings]
    without = llwlc_command(*arguments, cwd=tmp_path)
    assert without.returncode == 2
    assert "unknown name 'common'" in without.stderr
    assert not (tmp_path / "run").exists()
    fitted = llwlc_command(*arguments, "--plugin", plugin, cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    (tmp_path / "pairs.csv").write_text("source,target\nPerson 03,Person 44\n")
    score = ["score", "run", "pairs.csv"]
    refused = llwlc_command(*score, cwd=tmp_path)
    assert refused.returncode == 2
    assert "needs the constraint 'common' (from my_constraint.py)" in refused.stderr
    assert "--plugin" in refused.stderr
    scored = llwlc_command(*score, "--plugin", plugin, cwd=tmp_path)
    assert scored.returncode == 0, scored.stderr
    assert scored.stdout.startswith("source,target,score,probability\nPerson 03,Person 44,")
    again = llwlc_command(*arguments, "--plugin", plugin, cwd=tmp_path)  # finished: read, not repeated
    assert again.returncode == 0
    assert "time expected" not in again.stdout + again.stderr


def test_a_readout(tmp_path):
    assert load_plugin(copied("my_readout.py", tmp_path)) == ["readout mean"]
    model = llwlc.LinkPredictor(pooling="mean", cache=None, minutes=None, device="cpu", **QUICK).fit(people())
    model.save(tmp_path / "run")
    assert torch.equal(llwlc.LinkPredictor.load(tmp_path / "run").score(PAIRS).score, model.score(PAIRS).score)
    READOUTS.remove("mean")
    with pytest.raises(InputError, match=r"needs the readout 'mean' \(from my_readout\.py\)"):
        llwlc.LinkPredictor.load(tmp_path / "run")


def test_a_start(tmp_path):
    assert load_plugin(copied("my_start.py", tmp_path)) == ["start degree"]
    graph = people()
    fast = llwlc.link_bases(graph, PAIRS, start="degree", constraints="none", dtype=torch.float64)[1]
    slow = llwlc.link_bases(graph, PAIRS, start="degree", constraints="none", dtype=torch.float64, backend="reference")[
        1
    ]
    torch.testing.assert_close(fast.values, slow.values, rtol=0, atol=1e-10)
    model = llwlc.LinkPredictor(start="degree", cache=None, minutes=None, device="cpu", **QUICK).fit(graph)
    assert model.run_.info.needs["start degree"]["file"] == "my_start.py"


def test_a_dataset_and_a_protocol(tmp_path):
    assert load_plugin(copied("my_dataset.py", tmp_path)) == ["dataset karate"]
    assert load_plugin(copied("my_protocol.py", tmp_path)) == ["protocol half"]
    graph = llwlc.datasets.load("karate")
    assert (graph.num_nodes, graph.num_edges) == (34, 78)
    assert "karate" in llwlc.datasets.names()
    assert llwlc.datasets.info("karate").what == "members of a karate club who met outside of it"
    split = llwlc.splits.make(graph, protocol="half", seed=3)
    assert (len(split.train_pos), len(split.valid_pos), len(split.test_pos)) == (40, 19, 19)
    assert llwlc.splits.audit(split, graph).ok
    assert split.test_graph.num_edges == 59


def test_a_model(tmp_path):
    assert load_plugin(copied("my_model.py", tmp_path)) == ["model degrees"]
    graph = people()
    model = llwlc.LinkPredictor(model="degrees", power=0.5).fit(graph, out=tmp_path / "run")
    again = llwlc.LinkPredictor.load(tmp_path / "run")
    assert again.model_.power == model.model_.power  # that which validation chose
    assert torch.equal(again.score(PAIRS).score, model.score(PAIRS).score)
    assert model.run_.info.needs["model degrees"]["file"] == "my_model.py"
    MODELS.remove("degrees")
    with pytest.raises(InputError, match=r"needs the model 'degrees' \(from my_model\.py\)"):
        llwlc.LinkPredictor.load(tmp_path / "run")


def test_a_model_is_stored_with_its_parameters_or_refused(tmp_path):
    """A model of two methods: a stored run scores as the object that was fitted, whatever its parameters."""

    class Walks(llwlc.models.LinkModel):
        def __init__(self, length=2, *, damping=0.5):
            self.length, self.damping = length, damping

        def fit(self, split, features, **how):
            return self

        def score(self, graph, pairs, population="random"):
            row, col = graph.edge_index
            step = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.float64)
            step[row, col] = self.damping
            return torch.linalg.matrix_power(step, self.length)[pairs[:, 0], pairs[:, 1]]

    class Forgetful(Walks):
        def __init__(self, length=2):
            super().__init__()
            self.steps = length

    class Renamed(Walks):
        def __init__(self, steps=2):
            super().__init__(steps)

    model = llwlc.LinkPredictor(model=Walks(3, damping=0.25)).fit(people(), out=tmp_path / "run")
    again = llwlc.LinkPredictor.load(tmp_path / "run")
    assert (again.model_.length, again.model_.damping) == (3, 0.25)
    assert torch.equal(again.score(PAIRS).score, model.score(PAIRS).score)
    assert Walks(3, damping=0.25).fresh().config == {"length": 3, "damping": 0.25}
    with pytest.raises(InputError, match=r"Renamed takes 'steps' and does not store it .* store it as self\.steps"):
        llwlc.LinkPredictor(model=Renamed(3)).fit(people(), out=tmp_path / "refused")


def test_a_file_format(tmp_path):
    assert load_plugin(copied("my_format.py", tmp_path)) == ["graph format adjacency"]
    (tmp_path / "friends.adj").write_text("Ada Bob Cleo  # at work\n\nBob Cleo\nDan\n")
    graph = llwlc.Graph.read(tmp_path / "friends.adj")
    assert (sorted(graph.names), graph.num_edges) == (["Ada", "Bob", "Cleo", "Dan"], 3)
    (tmp_path / "friends.adj.gz").write_bytes(gzip.compress((tmp_path / "friends.adj").read_bytes()))
    assert torch.equal(llwlc.Graph.read(tmp_path / "friends.adj.gz").edge_index, graph.edge_index)
    (tmp_path / "friends.adj").write_bytes(b"Ada \xff")
    with pytest.raises(InputError, match=r"format 'adjacency' failed on .*friends\.adj: UnicodeDecodeError"):
        llwlc.Graph.read(tmp_path / "friends.adj")


def test_a_file_format_by_its_first_bytes_with_weights(tmp_path):
    @llwlc.graph.register("pairs", begins="%pairs")
    def read_pairs(content):
        rows = [line.split() for line in content.decode().splitlines()[1:]]
        return {"source": [u for u, _, _ in rows], "target": [v for _, v, _ in rows],
                "weight": [float(w) for _, _, w in rows]}  # fmt: skip

    (tmp_path / "links.txt").write_text("%pairs\nAda Bob 2\nBob Cleo 0.5\nCleo Ada 0.5\n")
    assert sorted(set(llwlc.Graph.read(tmp_path / "links.txt").weight.tolist())) == [0.5, 2.0]
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(b"%pairs\n" + bytes(1 << 20)))
    with pytest.raises(InputError, match="unpacks to more than"):
        llwlc.Graph.read(bomb, unzipped_limit=1 << 18)
    llwlc.graph.register("nothing", endings=(".none",))(lambda content: None)
    (tmp_path / "a.none").write_text("x")
    with pytest.raises(InputError, match=r"'nothing' read .*a\.none, and gave no table: .*NoneType is not one"):
        llwlc.Graph.read(tmp_path / "a.none")
    with pytest.raises(InputError, match="nothing tells a file of the graph format 'lost'"):
        llwlc.graph.register("lost")(lambda content: [])


def test_a_format_of_ones_own_on_the_command_line(tmp_path):
    plugin = copied("my_format.py", tmp_path)
    graph = people()
    lines = [f"{graph.name(u)}|{graph.name(v)}".replace(" ", "_").replace("|", " ") for u, v in graph.edges.tolist()]
    (tmp_path / "friends.adj").write_text("\n".join(lines))
    fitted = llwlc_command("fit", "friends.adj", "--plugin", plugin, "--model", "adamic-adar", cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    (tmp_path / "since.adj").write_text("Person_00 Person_50\n")
    added = llwlc_command("recommend", "run", "--add", "since.adj", "--plugin", plugin, cwd=tmp_path)
    assert added.returncode == 0, added.stderr
    assert json.loads((tmp_path / "run" / "config.json").read_text())["needs"] == {}  # of the file's format, no longer


def test_a_protocol_or_dataset_that_fails_is_named_with_its_error():
    llwlc.splits.register("short", about="negatives forgotten")(lambda m: llwlc.splits.Sizes(m - 2, 1, 1))
    with pytest.raises(InputError, match=r"the protocol 'short' failed: TypeError: .*'valid_neg' and 'test_neg'"):
        llwlc.splits.make(people(), protocol="short")
    llwlc.datasets.register("gone", about="no file")(lambda: Path("/gone").read_text())
    with pytest.raises(InputError, match="the dataset 'gone' failed: FileNotFoundError"):
        llwlc.datasets.load("gone")


def test_a_name_of_the_package_is_not_taken_over():
    with pytest.raises(InputError, match="there is a constraint called 'neumann' already"):
        llwlc.constraints.register("neumann")(lambda subs: llwlc.constraints.none(subs))
    with pytest.raises(InputError, match="letters, digits"):
        llwlc.constraints.register("a+b")(lambda subs: llwlc.constraints.none(subs))


def test_a_result_that_is_not_a_constraint_is_named():
    llwlc.constraints.register("wrong")(lambda subs: torch.ones(subs.num_nodes))
    with pytest.raises(InputError, match="'wrong' returned Tensor, not Constraints: wrap its columns"):
        llwlc.link_bases(people(), PAIRS, constraints="wrong")


def test_a_failing_constraint_is_named_with_its_error():
    @llwlc.constraints.register("broken")
    def broken(subs):
        raise RuntimeError("boom")

    with pytest.raises(InputError, match="the constraint 'broken' failed: RuntimeError: boom"):
        llwlc.link_bases(people(), PAIRS, constraints="broken")


def test_lists_of_the_architecture_page_are_those_of_the_registries():
    spec = importlib.util.spec_from_file_location("registry_lists", ROOT / "scripts" / "registry_lists.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert script.page(text) == text, "run python scripts/registry_lists.py"


def test_every_file_that_the_architecture_page_names_is_there():
    import re

    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for name in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", text):
        assert any((base / name).is_file() for base in (ROOT, ROOT / "src" / "llwlc")), name
    for name in re.findall(r"\]\(\.\./([^)]+)\)", text):
        assert (ROOT / name).is_file(), name


def test_captured_values_of_a_constraint_are_part_of_the_cache_key():
    """Two functions of one source, a default or a bound argument apart, are two constraints to the cache."""

    def make(k):
        def ring(subs, hop=k):
            return llwlc.constraints.custom(subs, (subs.hop == hop).double())

        return ring

    one, two = (BasisConfig(constraints=make(k)).code for k in (1, 2))
    assert one != two
    assert one == BasisConfig(constraints=make(1)).code
    first = llwlc.LinkPredictor(constraints=make(1)).make_model()
    with pytest.raises(InputError, match="there is another constraint called 'ring'"):
        llwlc.LinkPredictor(constraints=make(2)).make_model()
    assert first.basis.constraints == "ring"


def test_a_bound_argument_is_left_alone():
    subs = llwlc.subgraphs.extract(people(), PAIRS)
    three = functools.partial(llwlc.constraints.vertex_deleted, count=3)
    assert BasisConfig(constraints=three).columns(subs).count == 3
    assert BasisConfig(constraints="vertex_deleted", count=4).columns(subs).count == 4


def test_a_plugins_helper_file_is_hashed_and_a_name_clash_is_refused(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    helper = tmp_path / "helper_of_mine.py"
    helper.write_text("HOP = 1\n")
    text = (
        "import helper_of_mine\nimport llwlc\n\n@llwlc.constraints.register('near')\ndef near(subs):\n"
        "    return llwlc.constraints.custom(subs, (subs.hop == helper_of_mine.HOP).double())\n"
    )
    (tmp_path / "a.py").write_text(text)
    load_plugin(tmp_path / "a.py")
    before = FAMILIES["near"].digest
    helper.write_text("HOP = 2\n")
    load_plugin(tmp_path / "a.py")
    assert FAMILIES["near"].digest != before
    (tmp_path / "b.py").write_text(text)
    with pytest.raises(InputError, match="there is a constraint called 'near' already, from"):
        load_plugin(tmp_path / "b.py")


def test_the_digest_is_that_of_the_code_that_was_loaded(tmp_path):
    plugin = copied("my_constraint.py", tmp_path)
    load_plugin(plugin)
    plugin.write_text(plugin.read_text() + "# edited after it was loaded\n")
    held = FAMILIES["common"].digest
    load_plugin(plugin)
    assert FAMILIES["common"].digest != held


def test_the_spellings_of_the_architecture_page_work_after_import_llwlc_alone():
    names = ("constraints.register", "bases.register", "nn.register", "splits.register", "graph.register")
    code = "import llwlc\n" + "".join(f"llwlc.{name}\n" for name in (*names, "datasets.register", "models.register"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_dataset_needs_no_root_and_keeps_its_name():
    llwlc.datasets.register("Mine")(lambda: people())
    assert llwlc.datasets.load("Mine").num_nodes == 90


@pytest.mark.parametrize(
    ("sizes", "why"),
    [
        (lambda m: llwlc.splits.Sizes(10, 20, 20, 20, 20), r"gave 10 \+ 20 \+ 20 links, and there are"),
        (lambda m: (m - 40, 20, 20, 20, 20), "give Sizes of whole numbers"),
        (lambda m: llwlc.splits.Sizes(m - 40.0, 20.0, 20.0, 20, 20), "give Sizes of whole numbers"),
    ],
)
def test_sizes_of_a_protocol_that_do_not_fit_are_refused(sizes, why):
    llwlc.splits._registry.register("odd", about="sizes that do not fit")(sizes)
    with pytest.raises(InputError, match=why):
        llwlc.splits.make(people(), protocol="odd")
