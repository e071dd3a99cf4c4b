"""Kinds of nodes from a column of a table: by name, in the graph's order, and a clear sentence where that fails."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.graph._node_type_column import read_node_types


@pytest.fixture
def shop() -> Graph:
    return Graph.from_edges(torch.tensor([[0, 3], [0, 1], [3, 2]]), names=["bob", "cup", "zoe", "tea"])


def table(tmp_path, text: str, name: str = "nodes.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_kinds_follow_the_order_of_the_graphs_nodes_whatever_the_files_is(tmp_path, shop):
    path = table(tmp_path, "kind,node,age\nuser,zoe,3\nitem,tea,4\n item ,cup,5\nuser,bob,6\nuser,nobody,7\n")
    wanted = {"zoe": "user", "bob": "user", "tea": "item", "cup": "item"}
    assert read_node_types(path, shop, "kind") == tuple(wanted[shop.name(i)] for i in range(shop.num_nodes))


def test_the_column_of_names_may_be_named(tmp_path, shop):
    path = table(tmp_path, "node\tkind\twho\n1\tuser\tzoe\n2\titem\ttea\n3\titem\tcup\n4\tuser\tbob\n", "nodes.tsv")
    assert sorted(read_node_types(path, shop, "kind", node="who")) == ["item", "item", "user", "user"]


def test_numbers_name_nodes_and_kinds_as_they_are_written(tmp_path):
    graph = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
    path = table(tmp_path, "node,kind\n2,07\n0,7\n1,1e3\n")
    assert read_node_types(path, graph, "kind") == ("7", "1e3", "07")


def test_a_parquet_file_of_numbers_is_read_as_text(tmp_path):
    graph = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
    path = tmp_path / "nodes.parquet"
    pa.parquet.write_table(pa.table({"node": [2, 0, 1], "kind": [5, 6, 5]}), path)
    assert read_node_types(path, graph, "kind") == ("6", "5", "5")


def test_a_missing_column_is_named_with_the_existing_ones(tmp_path, shop):
    path = table(tmp_path, "node,kind\nzoe,user\n")
    with pytest.raises(InputError, match=r"nodes\.csv has no column 'type': it has 'node', 'kind'"):
        read_node_types(path, shop, "type")
    with pytest.raises(InputError, match="has no column 'who'"):
        read_node_types(path, shop, "kind", node="who")


@pytest.mark.parametrize("row", ["", "cup,\n", "cup,  \n"], ids=["no row", "empty", "blank"])
def test_a_node_without_a_kind_is_named(tmp_path, shop, row):
    path = table(tmp_path, "node,kind\nzoe,user\ntea,item\nbob,user\n" + row)
    with pytest.raises(InputError, match=r"column 'kind' names no type for 1 node\(s\), such as 'cup': fill it in"):
        read_node_types(path, shop, "kind")


def test_a_null_in_parquet_is_not_a_node_type(tmp_path):
    graph = Graph.from_edges(torch.tensor([[0, 1]]))
    path = tmp_path / "nodes.parquet"
    pa.parquet.write_table(pa.table({"node": [0, 1], "kind": ["a", None]}), path)
    with pytest.raises(InputError, match=r"names no type for 1 node\(s\), such as '1'"):
        read_node_types(path, graph, "kind")


def test_an_npz_file_has_no_column_of_text(tmp_path, shop):
    path = tmp_path / "x.npz"
    np.savez(path, x=np.eye(4))
    with pytest.raises(InputError, match=r"x\.npz: node types are a column of text; give a table"):
        read_node_types(path, shop, "kind")


def test_a_graph_without_nodes_has_no_kinds(tmp_path):
    graph = Graph.from_edges(torch.zeros(0, 2, dtype=torch.long), num_nodes=0)
    assert read_node_types(table(tmp_path, "node,kind\n1,a\n"), graph, "kind") == ()


def test_two_rows_for_one_node_are_refused_as_they_are_for_features(tmp_path, shop):
    path = table(tmp_path, "node,kind\nzoe,user\ntea,item\nbob,user\ncup,item\nzoe,item\n")
    with pytest.raises(InputError, match="more than one row for 'zoe'"):
        read_node_types(path, shop, "kind")


@pytest.mark.parametrize("column", [[[1], [2]], [b"a", b"\xff"]], ids=["lists", "bytes"])
def test_a_parquet_column_that_is_not_text_is_refused(tmp_path, column):
    graph = Graph.from_edges(torch.tensor([[0, 1]]))
    path = tmp_path / "nodes.parquet"
    pa.parquet.write_table(pa.table({"node": [0, 1], "kind": column}), path)
    with pytest.raises(InputError, match="kind"):
        read_node_types(path, graph, "kind")
