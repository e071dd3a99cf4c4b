"""Files as people keep them: what the commands say about rows and cells that they cannot use as they are."""

import networkx
import numpy as np
import pytest
from typer.testing import CliRunner

from llwlc import Graph, LinkPredictor
from llwlc._cli.app import app
from llwlc._direction.report import DirectionReport
from llwlc._runs.plain_summary import describe_trust
from llwlc.errors import InputError


def llwlc(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


@pytest.fixture
def friends(tmp_path):
    """A table with a byte order mark, semicolons, accents, a capital too few and a cell that says NA."""
    links = networkx.powerlaw_cluster_graph(40, 3, 0.5, seed=1).edges
    rows = [f"Élise {u};Élise {v};ja" for u, v in links] + ["élise 3;Élise 5;ja", "NA;Élise 1;nein"]
    file = tmp_path / "amitiés.csv"
    file.write_text("Prénom;Ami connu;Note\n" + "\n".join(rows) + "\n", encoding="utf-8-sig")
    return file


def test_names_that_may_be_slips_are_told(friends):
    said = llwlc("data", "show", friends)
    assert "'Élise 3', 'élise 3' differ only in capitals or spaces: each is a node of its own." in said
    assert "'NA' is taken for a node." in said


def test_all_rows_without_a_name_are_counted(friends):
    friends.write_text(friends.read_text() + ";Élise 1;ja\nÉlise 2;;ja\n;Élise 4;nein\n")
    with pytest.raises(InputError, match=r"'Prénom' names no node in row \d+ \(and 1 more row\): fill them in"):
        Graph.read(friends)


def test_a_column_with_decimal_commas_is_announced(friends, tmp_path):
    nodes = tmp_path / "nodes.csv"
    names = [f"Élise {i}" for i in range(40)] + ["élise 3", "NA"]
    nodes.write_text("Nom;taille\n" + "".join(f"{name};{150 + at},5\n" for at, name in enumerate(names)))
    said = llwlc("data", "show", friends, "--features", nodes)
    assert "column 'taille' has numbers, but other text too, such as '150,5'" in said
    assert "To read it as numbers, write a point: 150.5." in said


def test_cells_of_link_attributes_that_are_no_numbers_are_named(tmp_path):
    file = tmp_path / "links.csv"
    file.write_text('a;b;years\nu;v;1.5\nv;w;"2,5"\nw;u;3\n')
    with pytest.raises(InputError, match=r"column 'years' is no number \(row 2 says '2,5'\)"):
        Graph.read(file, link_attributes=["years"])
    file.write_text("a;b;years\nu;v;1.5\nv;w;\nw;u;\n")
    with pytest.raises(InputError, match=r"empty, infinite or huge in row 2 \(in 2 of 3 rows\): fill it in"):
        Graph.read(file, link_attributes=["years"])


def test_a_heuristic_is_compared_with_others_only(friends, tmp_path):
    model = LinkPredictor(model="adamic-adar").fit(Graph.read(friends), out=tmp_path / "run")
    trust = describe_trust(model.fitted_)
    assert "Adamic–Adar gives the hidden link the higher score" in trust
    assert "(Adamic–Adar:" not in trust
    asked = tmp_path / "asked.txt"
    asked.write_text("Élise 1\nZoe\nYan\n")
    refused = llwlc("recommend", tmp_path / "run", "--from", asked, code=2)
    assert "names 2 nodes that the graph does not have: 'Zoe', 'Yan'." in refused
    added = tmp_path / "added.csv"
    added.write_text("a;b\nneu;Élise 1\nÉlise 2;Élise 2\n")
    said = llwlc("recommend", tmp_path / "run", "--add", added, "--top", 1)
    assert "1 row joins a node with itself: dropped" in said


def test_rows_of_features_that_no_node_of_the_updated_graph_has_are_named(friends, tmp_path):
    table, new, added = tmp_path / "ages.csv", tmp_path / "new.csv", tmp_path / "added.csv"
    table.write_text("name;age\n" + "".join(f"{name};{30 + len(name)}\n" for name in Graph.read(friends).names))
    LinkPredictor(model="adamic-adar").fit(Graph.read(friends, features=table), out=tmp_path / "run")
    new.write_text("name;age\nneu;30\nfremd;31\n")
    added.write_text("a;b\nneu;Élise 1\n")
    said = llwlc("recommend", tmp_path / "run", "--add", added, "--features", new, "--top", 1)
    assert "rows of nodes that the updated graph does not have are not used ('fremd')" in said


def test_all_directions_right_are_not_certain():
    report = DirectionReport(20, 15, 1.0, 1.0, 0.1, 0.1, 0.25, 0.2, 0.7)
    assert report.error == pytest.approx(np.sqrt(16 / 17 / 17 / 15))
    assert "The degrees alone tell each direction here" in report.sentence
