"""Two graphs of a user's own: the verdict against networkx's isomorphism test and the paper's pairs."""

import networkx as nx
import pytest
from typer.testing import CliRunner

from research.cli.app import app
from research.expressivity.families import adjacency, relabel, rook, shrikhande
from research.expressivity.own_graphs import LARGEST


def run(folder, *graphs, options=()):
    paths = [folder / f"{name}.g6" for name, _ in zip("abc", graphs, strict=False)]
    for path, graph in zip(paths, graphs, strict=True):
        path.write_bytes(nx.to_graph6_bytes(graph, header=False))
    return compare(*paths, options=options)


def compare(*paths, options=()):
    return CliRunner().invoke(app, ["expressivity", "--graphs", *map(str, paths), *options])


def test_the_papers_pair_is_told_apart_by_constraints_alone(tmp_path):
    text = run(tmp_path, rook(), shrikhande()).output
    first = text.splitlines()[0]
    assert first.startswith("a.g6 and b.g6 are told apart by neumann, spectra of all links' enclosing subgraphs under")
    assert "Not by 1-wl, 3-wl, none" in first
    assert "| 3-wl " in text


def test_a_cycle_and_two_are_told_apart_by_the_spectrum(tmp_path):
    two = nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5))
    first = run(tmp_path, nx.cycle_graph(10), two).output.splitlines()[0]
    assert "by the spectrum of L already" in first
    assert "Not by 1-wl" in first


def test_nothing_tells_a_graph_from_itself(tmp_path):
    graph = nx.gnp_random_graph(12, 0.4, seed=1)
    copy = nx.from_numpy_array(relabel(adjacency(graph), 3))
    output = run(tmp_path, graph, copy).output
    assert "the same graph with other labels" in output.splitlines()[0]
    assert "| told apart" not in output


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (nx.path_graph(9), "they have 10 and 9 nodes"),
        (nx.complete_graph(10), "they have 10 and 45 links"),
        (nx.Graph([(0, at) for at in range(1, 9)] + [(8, 9), (1, 2)]), "other degrees"),
    ],
)
def test_what_a_look_shows_is_said_first(tmp_path, graph, said):
    assert said in run(tmp_path, nx.cycle_graph(10), graph).output


def test_chosen_policies_alone_are_asked(tmp_path):
    output = run(tmp_path, rook(), shrikhande(), options=["--policy", "none", "--policy", "filter-2"]).output
    assert output.splitlines()[0].startswith("a.g6 and b.g6 are told apart by filter-2")
    assert "3-wl" not in output


@pytest.mark.parametrize(
    ("graphs", "options", "error"),
    [
        ((nx.path_graph(4),), (), "requires 2 arguments"),
        ((nx.path_graph(4),) * 3, (), "extra argument"),
        ((nx.path_graph(4),) * 2, ("--suite", "csl"), "--graphs"),
        ((nx.path_graph(LARGEST + 1),) * 2, (), "graphs of up to"),
        ((nx.path_graph(4),) * 2, ("--policy", "filter"), "is not known"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, graphs, options, error):
    done = run(tmp_path, *graphs, options=options)
    assert done.exit_code != 0
    assert error in f"{done.output}{done.exception}"


@pytest.mark.parametrize(
    ("content", "error"),
    [(None, "there is no file"), (b"", "is empty"), (b"Cr\nCr\n", "several graphs"), (b"C?\n", "no edges")],
)
def test_a_file_without_one_graph_is_refused_by_name(tmp_path, content, error):
    good, other = tmp_path / "good.g6", tmp_path / "other.g6"
    good.write_bytes(nx.to_graph6_bytes(nx.path_graph(4), header=False))
    if content is not None:
        other.write_bytes(content)
    done = compare(good, other)
    assert done.exit_code == 2
    assert error in done.output
    assert "other.g6" in done.output
