"""The options of a graph's file: one list for every command that reads one."""

import inspect
from dataclasses import fields

import pytest
from typer.testing import CliRunner

from llwlc._cli.app import app
from llwlc._cli.data import show_graph
from llwlc._cli.fit import fit
from llwlc._cli.graph_options import GraphOptions
from llwlc.errors import InputError

OPTIONS = [
    *("source", "target", "weight", "time", "no_header", "separator", "query", "features", "features_query"),
    *(
        "node",
        "categorical",
        "missing_values",
        "node_list",
        "isolated",
        "bipartite",
        "link_attributes",
        "unzipped_limit",
    ),
]


@pytest.mark.parametrize("command", [fit, show_graph])
def test_a_command_shows_each_field_as_an_option(command):
    shown = inspect.signature(command).parameters
    assert list(shown)[-len(OPTIONS) :] == OPTIONS
    assert "graph_options" not in shown
    assert [shown[f.name].default for f in fields(GraphOptions)] == [f.default for f in fields(GraphOptions)]


@pytest.mark.parametrize("command", [["fit", "--help-all"], ["data", "show", "--help"]])
def test_help_names_them_all(command):
    text = CliRunner().invoke(app, command, env={"COLUMNS": "120"}).stdout
    for name in OPTIONS:
        assert f"--{name.replace('_', '-')} " in text


@pytest.mark.parametrize("name", OPTIONS)
def test_a_dataset_takes_none_of_them(name):
    other = {"no_header": True, "categorical": ["a"]}.get(name, "x")
    with pytest.raises(InputError, match="options on columns and features are for files"):
        GraphOptions(**{name: other}).open("cora")


def test_open_reads_a_file_as_the_fields_say(tmp_path, capsys):
    file = tmp_path / "e.txt"
    file.write_text("".join(f"n{i}\tn{j}\t{i + 1}\n" for i in range(6) for j in range(i)))
    graph = GraphOptions(no_header=True, separator="tab", weight="3").open(str(file))
    assert (graph.num_nodes, graph.num_edges) == (6, 15)
    assert graph.weight is not None
    assert GraphOptions(no_header=True, weight="none").open(str(file)).weight is None
    assert "15 rows gave 6 nodes and 15 edges" in capsys.readouterr().err
