"""Typed links: complex factors against plain complex numbers, filtered ranks against a loop, candidates by types."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from llwlc._cli.app import app
from llwlc.errors import InputError, NotFittedError, RunFolderError
from llwlc.relations import RelationPredictor, Triples, read_triples
from llwlc.relations._factors import ComplexFactors, modulus, train_factors
from llwlc.relations._filtered_ranks import filtered_ranks, summarise

ROOT = Path(__file__).parents[2]


def facts(groups=4):
    """Drugs treat diseases of their group, genes cause them; every drug misses one disease."""
    treats = [(f"drug {d}", "treats", f"disease {i}") for d in range(20) for i in range(12) if d % groups == i % groups]
    causes = [(f"gene {g}", "causes", f"disease {i}") for g in range(12) for i in range(12) if g % groups == i % groups]
    return Triples.of([fact for at, fact in enumerate(treats) if at % 7] + causes)


@pytest.fixture(scope="module")
def model():
    return RelationPredictor(epochs=30).fit(facts())


@pytest.fixture
def random_factors():
    generator = torch.Generator().manual_seed(0)
    nodes, types = (torch.randn(n, 8, generator=generator, dtype=torch.float64) for n in (9, 4))
    return ComplexFactors(nodes, types)


def test_scores_are_those_of_complex_numbers(random_factors):
    e, w = (torch.complex(*part.chunk(2, 1)).numpy() for part in (random_factors.nodes, random_factors.types))
    found = random_factors.targets(np.array([3]), np.array([1])).numpy()[0]
    np.testing.assert_allclose(found, [(e[3] * w[1] * t.conj()).sum().real for t in e], atol=1e-12)
    back = random_factors.sources(np.array([1]), np.array([3])).numpy()[0]
    np.testing.assert_allclose(back, [(e[3] * w[3] * t.conj()).sum().real for t in e], atol=1e-12)
    np.testing.assert_allclose(modulus(random_factors.nodes), abs(e), atol=1e-6)


def test_filtered_ranks_are_those_of_a_loop(random_factors):
    rng = np.random.default_rng(0)
    known = np.unique(np.stack([rng.integers(0, 9, 60), rng.integers(0, 2, 60), rng.integers(0, 9, 60)], 1), axis=0)
    asked = known[::5]
    random_factors.nodes[4] = random_factors.nodes[5]  # ties
    held = {tuple(row) for row in known.tolist()}
    expected = []
    for target in (True, False):
        for h, r, t in asked.tolist():
            scores = random_factors.targets(np.array([h]), np.array([r]))[0]
            if not target:
                scores = random_factors.sources(np.array([r]), np.array([t]))[0]
            own = t if target else h
            others = [v for v in range(9) if v != own and ((h, r, v) if target else (v, r, t)) not in held]
            better = sum(bool(scores[v] > scores[own]) for v in others)
            expected.append(1 + better + sum(bool(scores[v] == scores[own]) for v in others) / 2)
    assert filtered_ranks(random_factors, asked, known).tolist() == expected
    assert summarise(np.array(expected))["mrr"] == pytest.approx(np.mean(1 / np.array(expected)))


def test_training_depends_on_the_seed_alone():
    rows = facts().rows
    one, again, other = (train_factors(rows, 44, 2, 2, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(one.nodes, again.nodes)
    assert not torch.equal(one.nodes, other.nodes)


def test_what_was_left_out_is_found(model):
    assert model.metrics_["mrr"] > 0.5
    best = model.recommend("treats", top=10)
    assert {link.type for link in best} == {"treats"}
    groups = [(int(link.source.split()[1]) % 4, int(link.target.split()[1]) % 4) for link in best]
    assert sum(a == b for a, b in groups) >= 9
    assert [link.score for link in best] == sorted((link.score for link in best), reverse=True)
    assert all(0 < link.probability < 1 for link in best)


def test_candidates_join_what_links_of_the_type_join_and_are_new(model):
    known = set(map(tuple, model.triples_.rows.tolist()))
    for kind, name in enumerate(model.triples_.types):
        asked = model.candidates(kind)
        starts = {model.triples_.names[h].split()[0] for h in asked[:, 0]}
        assert starts == {{"causes": "gene", "treats": "drug"}[name]}
        assert not known & set(map(tuple, asked.tolist()))
        pairs = {(h, t) for h, r, t in known if r == kind}
        ends = ({h for h, _ in pairs}, {t for _, t in pairs})
        assert len(asked) + len(pairs) == len(ends[0]) * len(ends[1])
    mine = model.recommend(node="disease 3", top=500)
    assert {link.target for link in mine} == {"disease 3"}
    assert {link.type for link in mine} == {"causes", "treats"}


def test_node_types_say_what_a_type_joins():
    triples = facts()
    labels = [name.split()[0] + (" rare" if name == "disease 11" else "") for name in triples.names]
    model = RelationPredictor(epochs=1).fit(triples, node_types=labels)
    rare, gene = triples.names.index("disease 11"), triples.names.index("gene 0")
    for kind, name in enumerate(triples.types):
        asked = model.candidates(kind)
        joined = {(labels[h], labels[t]) for h, r, t in triples.rows.tolist() if r == kind}
        assert {(labels[h], labels[t]) for h, _, t in asked.tolist()} <= joined
        assert (gene in asked[:, 0]) == (name == "causes")
        assert rare in asked[:, 2]
    with pytest.raises(InputError, match="node_types names 1 types for"):
        RelationPredictor().fit(triples, node_types=["drug"])


def test_a_score_is_the_log_odds_of_its_probability_in_lists_and_tables(model):
    best = model.recommend("treats", top=5)
    for link in best:
        assert link.score == pytest.approx(np.log(link.probability / (1 - link.probability)), abs=1e-6)
    asked = {"source": [x.source for x in best], "type": [x.type for x in best], "target": [x.target for x in best]}
    table = model.score_table(pa.table(asked)).table
    assert table["score"].to_pylist() == pytest.approx([link.score for link in best], abs=1e-6)


def test_a_score_depends_on_no_other_pair(model):
    asked = [("drug 0", "treats", "disease 0"), ("drug 3", "treats", "disease 1"), ("gene 2", "causes", "disease 6")]
    together = model.score(asked)
    assert [link[:3] for link in together] == asked
    for link, alone in zip(together, (model.score([one])[0] for one in asked), strict=True):
        assert link.score == pytest.approx(alone.score, abs=1e-12)
    assert together[0].score > together[1].score


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"node_types": ["drug"]}, "node types"),
        ({"node_types": 7}, "node types"),
        ({"calibration": [float("nan"), 0.0]}, "calibration"),
        ({"calibration": [1.0]}, "calibration"),
        ({"epochs": -5}, "epochs"),
        ({"epoch": True}, "epochs"),
        ({"seed": "0"}, "seed"),
        ({"metrics": "x"}, "metrics"),
        ({"metrics": {"mrr": 7}}, "metrics"),
        ({"types": ["b", "a", "c"]}, "types are not sorted"),
        ({"names": []}, "names are not sorted"),
        ({"format": 2}, "format"),
        ("triples", "triples"),
        ("nodes", "factors are not finite"),
        ("types", "factors"),
    ],
)
def test_an_altered_run_is_refused(model, tmp_path, changed, said):
    model.save(tmp_path / "run")
    about, stored = tmp_path / "run" / "relations.json", tmp_path / "run" / "relations.safetensors"
    if isinstance(changed, dict):
        about.write_text(json.dumps(json.loads(about.read_text()) | changed))
    else:
        tensors = load_file(stored)
        new = {"triples": tensors["triples"].double(), "nodes": tensors["nodes"] / 0, "types": tensors["types"][1:]}
        save_file(tensors | {changed: new[changed].contiguous()}, stored)
    with pytest.raises(RunFolderError, match=f"no readable run of typed links .*{said}"):
        RelationPredictor.load(tmp_path / "run")


def test_a_run_with_huge_factors_gives_no_number(model, tmp_path):
    model.save(tmp_path / "run")
    stored = tmp_path / "run" / "relations.safetensors"
    tensors = load_file(stored)
    save_file(tensors | {"nodes": tensors["nodes"] * 1e38}, stored)
    with pytest.raises(RunFolderError):
        RelationPredictor.load(tmp_path / "run").recommend(top=5)


def test_a_run_is_read_as_it_was_written(model, tmp_path):
    model.save(tmp_path / "run")
    again = RelationPredictor.load(tmp_path / "run")
    assert again.recommend(top=5) == model.recommend(top=5)
    assert again.metrics_ == model.metrics_
    with pytest.raises(RunFolderError, match="exists already"):
        model.save(tmp_path / "run")
    tensors = load_file(tmp_path / "run" / "relations.safetensors")
    save_file(tensors | {"triples": tensors["triples"] + 100}, tmp_path / "run" / "relations.safetensors")
    with pytest.raises(RunFolderError, match="no readable run of typed links"):
        RelationPredictor.load(tmp_path / "run")
    with pytest.raises(RunFolderError):
        RelationPredictor.load(tmp_path / "none")
    with pytest.raises(NotFittedError):
        RelationPredictor().recommend()


def test_tables_are_read_with_their_types(tmp_path):
    file = tmp_path / "facts.tsv"
    file.write_text("Ada\tknows\tBob\nBob\tpays\tCleo\nAda\tknows\tBob\n")
    triples = read_triples(file, "2", header=False)
    assert (triples.names, triples.types) == (("Ada", "Bob", "Cleo"), ("knows", "pays"))
    assert triples.rows.tolist() == [[0, 0, 1], [1, 1, 2]]
    assert triples.num_rows == 3
    assert triples.find([("Bob", "pays", "Cleo")]).tolist() == [[1, 1, 2]]
    for wrong, words in (
        (("Ada", "owns", "Bob"), "no type of links 'owns'"),
        (("Eve", "pays", "Bob"), "no node 'Eve'"),
    ):
        with pytest.raises(InputError, match=words):
            triples.find([wrong])
    with pytest.raises(InputError, match="has no column 'kind'"):
        read_triples(file, "kind", header=False)
    with pytest.raises(InputError, match="too few to hold some out"):
        RelationPredictor().fit(triples)


def test_the_command_line_fits_lists_and_scores(tmp_path):
    file, run = tmp_path / "facts.csv", str(tmp_path / "run")
    subprocess.run([sys.executable, str(ROOT / "examples" / "facts.py"), str(file)], check=True)

    def llwlc(*words, code=0):
        done = CliRunner().invoke(app, [*words])
        assert done.exit_code == code, done.output
        return done.output

    assert "375 links of 3 types" in llwlc("fit", str(file), "--relation", "type", "--out", run)
    listed = llwlc("recommend", run, "--relation", "treats", "--top", "3", "-o", "-", "--format", "jsonl")
    links = [json.loads(line) for line in listed.splitlines() if line.startswith("{")]
    assert [link["type"] for link in links] == ["treats"] * 3
    assert all(int(link["source"].split()[1]) % 6 == int(link["target"].split()[1]) % 6 for link in links)
    assert "375 typed links scored" in llwlc("score", run, str(file), "-o", str(tmp_path / "scores.csv"))
    assert "--budget has no effect on a run with --relation" in llwlc("recommend", run, "--budget", "3", code=2)
    assert "--minutes has no effect with --relation" in llwlc(
        "fit", str(file), "--relation", "type", "--minutes", "3", "--out", run, code=2
    )
    assert "is a run of typed links" in llwlc("evaluate", run, code=2)


def test_what_became_of_rows_and_columns_is_said(tmp_path):
    file, run = tmp_path / "facts.csv", tmp_path / "run"
    rows = [f"drug {i},acts on,gene {i % 7},0.{i}" for i in range(1, 40)]
    rows += [rows[0].replace("0.1", "0.7"), "drug 1,acts on,drug 1,0.5"]
    file.write_text("subject,kind,object,confidence\n" + "\n".join(rows) + "\n")
    assert read_triples(file, "kind").unused == ("confidence",)
    shell = CliRunner()
    done = shell.invoke(app, ["fit", str(file), "--relation", "kind", "--out", str(run)])
    said = " ".join(done.output.split())
    assert "41 rows gave" in said
    assert "40 links of 1 types: 1 repeated merged, 1 of a node with itself" in said
    assert "Columns not used: 'confidence'." in said
    other = ["--relation", "kind", "--out", str(tmp_path / "other")]
    refused = shell.invoke(app, ["fit", str(file), "--directed", *other])
    assert "--directed has no effect with --relation" in " ".join(refused.output.split())
    file.write_text("subject,kind,object\nAda,knows,Bob\nBob,,Ada\n")
    refused = shell.invoke(app, ["fit", str(file), *other])
    assert "names no type of links in row 2" in " ".join(refused.output.split())
    assert not (tmp_path / "other").exists()
