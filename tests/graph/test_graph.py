"""Graph against networkx, scipy and PyG: the same edges, whatever the way in and out."""

import warnings

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.graph._report import GraphWarning, is_bipartite

pytestmark = [
    pytest.mark.filterwarnings("ignore::llwlc.graph._report.GraphWarning"),
    # PyG calls torch.jit.script while it is imported
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),
]
few = settings(deadline=None, max_examples=40)
messy = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=60)


def same(a: Graph, b: Graph) -> bool:
    """Equal nodes, names, edges, weights, times and features."""

    def equal(p, q):
        if p is None or q is None:
            return p is q
        p, q = (t.toarray() if scipy.sparse.issparse(t) else np.asarray(t) for t in (p, q))
        return np.array_equal(p, q)

    fields = ("indptr", "indices", "weight", "time", "x", "names")
    return all(equal(getattr(a, name), getattr(b, name)) for name in fields)


def full_graph() -> Graph:
    """Everything a graph can carry: names out of numeric order, weights, times, features, an isolated node."""
    return Graph.from_edges(
        torch.tensor([[0, 1], [1, 2], [2, 0], [2, 3]]),
        num_nodes=5,
        weight=torch.tensor([0.5, 1.25, 3.0, 0.1]),
        time=torch.tensor([2001, 1999, 2020, 2010]),
        x=torch.arange(10.0).reshape(5, 2),
        names=["Ada", "Bob", "Cleo", "Dan, Jr.", 'the "last"'],
    )


@few
@given(messy)
def test_edges_and_degrees_are_those_of_networkx(pairs):
    oracle = nx.Graph()
    oracle.add_nodes_from(range(13))
    oracle.add_edges_from(pair for pair in pairs if pair[0] != pair[1])
    graph = Graph.from_edges(np.array(pairs, dtype=np.int64).reshape(-1, 2), num_nodes=13)
    assert {tuple(e) for e in graph.edges.tolist()} == {tuple(sorted(e)) for e in oracle.edges}
    assert graph.degree.tolist() == [oracle.degree(v) for v in range(13)]
    assert same(Graph.from_networkx(oracle), graph)


@few
@given(messy)
def test_report_counts_add_up(pairs):
    graph = Graph.from_networkx(nx.MultiDiGraph(pairs))
    report, proper = graph.report, [p for p in pairs if p[0] != p[1]]
    assert report.rows == len(pairs)
    assert report.self_loops == len(pairs) - len(proper)
    assert report.duplicates == len(proper) - len(set(proper))
    assert report.reversed_pairs == sum((v, u) in set(proper) for u, v in set(proper) if u < v)
    assert report.rows == report.self_loops + report.duplicates + report.reversed_pairs + report.edges
    assert report.isolated == sum(d == 0 for d in graph.degree)


@few
@given(messy)
def test_bipartite_as_networkx_says(pairs):
    oracle = nx.Graph([p for p in pairs if p[0] != p[1]])
    graph = Graph.from_networkx(oracle)
    expected = oracle.number_of_edges() > 0 and nx.is_bipartite(oracle)
    assert is_bipartite(graph.indptr.numpy(), graph.indices.numpy()) == expected


def test_networkx_round_trip_carries_everything():
    assert same(Graph.from_networkx(full_graph().to_networkx()), full_graph())


def test_networkx_attributes_by_name():
    g = full_graph().to_networkx()
    assert g["Ada"]["Cleo"] == {"weight": 3.0, "time": 2020}
    assert g.nodes["Bob"]["x"].tolist() == [2.0, 3.0]


def test_networkx_nodes_are_sorted_numbers_before_text():
    assert Graph.from_networkx(nx.Graph([(10, 9), (9, 2), (2, 10)])).names == ["2", "9", "10"]
    assert Graph.from_networkx(nx.Graph([("b", 9), ("a", "b"), ("a", 9)])).names == ["9", "a", "b"]


def test_multigraph_weights_are_summed_and_missing_ones_are_one():
    g = nx.MultiGraph()
    g.add_edge(0, 1, weight=2.0)
    g.add_edge(0, 1)
    assert Graph.from_networkx(g).weight.tolist() == [3.0, 3.0]


def test_pyg_round_trip_carries_everything():
    assert same(Graph.from_pyg(full_graph().to_pyg()), full_graph())


def test_pyg_sparse_features_become_dense():
    x = scipy.sparse.csr_array(np.eye(3, dtype=np.float32))
    graph = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]), x=x)
    assert torch.equal(graph.to_pyg().x, torch.eye(3))


def test_pyg_one_column_edge_attr_is_a_weight():
    from torch_geometric.data import Data

    index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    graph = Graph.from_pyg(Data(edge_index=index, edge_attr=torch.tensor([[2.0], [2.0], [5.0], [5.0]]), num_nodes=3))
    assert graph.weight.tolist() == [2.0, 2.0, 5.0, 5.0]


@few
@given(messy)
def test_scipy_and_numpy_round_trip(pairs):
    graph = Graph.from_edges(np.array([*pairs, (0, 12)], dtype=np.int64))
    assert same(Graph.from_scipy(graph.to_scipy()), graph)
    assert same(Graph.from_numpy(graph.to_numpy()), graph)
    assert same(Graph.from_scipy(scipy.sparse.triu(graph.to_scipy())), graph)


def test_scipy_weights_count_once_if_symmetric_and_add_up_if_not():
    symmetric = np.array([[0, 2, 0], [2, 0, 3], [0, 3, 0]])
    assert Graph.from_numpy(symmetric).to_numpy().tolist() == symmetric.tolist()
    oneway = np.array([[0, 2, 0], [1, 0, 3], [0, 0, 0]])
    assert Graph.from_numpy(oneway).to_numpy().tolist() == (oneway + oneway.T).tolist()


def test_with_edges_forgets_the_report():
    graph = Graph.from_networkx(nx.karate_club_graph())
    assert graph.report is not None
    assert graph.with_edges(graph.edges[:5]).report is None


def test_bipartite_graph_warns_and_says_what_it_means():
    with pytest.warns(GraphWarning, match="never share a neighbour"):
        Graph.from_networkx(nx.complete_bipartite_graph(3, 4))


def test_directed_graph_warns_that_direction_is_dropped():
    with pytest.warns(GraphWarning, match="Links are undirected here"):
        Graph.from_networkx(nx.gnp_random_graph(30, 0.2, seed=0, directed=True))


@pytest.mark.parametrize("directed", [nx.Graph, nx.DiGraph])
def test_undirected_graph_with_triangles_is_silent(directed):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Graph.from_networkx(directed(nx.karate_club_graph())).num_edges == 78


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Graph.from_scipy(scipy.sparse.csr_array((2, 3))), "square"),
        (lambda: Graph.from_numpy(np.array([[0, -1], [-1, 0]])), "above zero"),
        (lambda: Graph.from_numpy(np.array([[0, np.nan], [1, 0]])), "NaN"),
        (lambda: Graph.from_numpy(np.ones((3, 3)), names=["a"]), "names has 1 entries"),
        (lambda: Graph.from_networkx(nx.Graph([(1, "1")])), "written alike"),
        (lambda: Graph.from_networkx(nx.Graph([(1, 2, {"weight": "heavy"})])), "'heavy'"),
        (lambda: Graph.from_networkx(nx.Graph([(1, 2, {"time": 1}), (2, 3)])), "every edge"),
        (lambda: Graph.from_edges(torch.tensor([[0, 5]]), num_nodes=3), "there are 3 nodes"),
        (lambda: Graph.from_edges(torch.tensor([[0.5, 1.0]])), "integers"),
    ],
)
def test_bad_input_is_named(build, message):
    with pytest.raises(InputError, match=message):
        build()


def test_networkx_x_must_be_on_every_node_and_finite():
    g = nx.path_graph(3)
    g.nodes[0]["x"] = [1.0]
    with pytest.raises(InputError, match="no attribute 'x', such as '1'"):
        Graph.from_networkx(g)
    nx.set_node_attributes(g, {0: [1.0], 1: [np.nan], 2: [0.0]}, "x")
    with pytest.raises(InputError, match="'1' has NaN"):
        Graph.from_networkx(g)


def test_heterogeneous_pyg_data_is_refused():
    from torch_geometric.data import HeteroData

    with pytest.raises(InputError, match="homogeneous"):
        Graph.from_pyg(HeteroData())


@pytest.mark.parametrize("pair", [(0, 5), (1, -1), (3, 0)])
def test_a_pair_outside_the_graph_is_an_error(pair):
    # (0, 5) and (1, -1) have the numbers row·n + col of the edges (1, 2) and (0, 2)
    triangle = Graph.from_edges(np.array([[0, 1], [1, 2], [0, 2]]))
    assert triangle.has_edges(torch.tensor([[2, 0], [1, 1]])).tolist() == [True, False]
    with pytest.raises(InputError, match="outside the graph"):
        triangle.has_edges(torch.tensor([[0, 1], pair]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weight": torch.ones(3)}, "weight has 3 entries, the graph has 2 edges"),
        ({"time": np.ones(1)}, "time has 1 entries, the graph has 2 edges"),
        ({"x": torch.ones(4, 2)}, "x has 4 entries, the graph has 3 nodes"),
        ({"x": scipy.sparse.csr_array((2, 2))}, "x has 2 entries"),
        ({"names": ["a", "b"]}, "names has 2 entries"),
    ],
)
def test_as_many_values_as_edges_or_nodes(given, message):
    with pytest.raises(InputError, match=message):
        Graph.from_edges(np.array([[0, 1], [1, 2]]), **given)


def test_numpy_weights_and_times_are_taken():
    g = Graph.from_edges(np.array([[0, 1], [1, 2]]), weight=np.array([2.0, 3.0]), time=np.array([7, 8]))
    assert g.weight.tolist() == [2, 2, 3, 3]
    assert g.time.tolist() == [7, 7, 8, 8]


def test_nan_features_are_refused_wherever_they_come_from():
    from torch_geometric.data import Data

    x = torch.tensor([[1.0], [float("nan")], [2.0]])
    with pytest.raises(InputError, match="1 values of x are NaN"):
        Graph.from_pyg(Data(edge_index=torch.tensor([[0, 1], [1, 2]]), x=x))
    with pytest.raises(InputError, match="1 values of x are NaN"):
        Graph.from_numpy(np.ones((3, 3)) - np.eye(3), x=scipy.sparse.csr_array(x.numpy()))


def test_a_column_of_numbers_and_words_is_announced():
    """With a fifth of the ages unknown, each age is a category, which a reader would not expect."""
    ages = [str(20 + i) if i % 5 else "unknown" for i in range(30)]
    rows = {"node": [f"n{i}" for i in range(30)], "age": ages, "town": ["Graz", "Linz", "7"] * 10}
    ring = [(f"n{i}", f"n{(i + k) % 30}") for i in range(30) for k in (1, 2)]
    graph = Graph.read(ring, features=pa.table(rows))
    assert graph.x.shape[1] == len(set(ages)) + 3
    notes = [note for note in graph.report.notes if "each of its values is a category" in note]
    assert ["'age' has numbers" in note and "'unknown'" in note for note in notes] == [True]
    rows["age"] = [age.replace("unknown", "") for age in ages]
    assert not any("category" in note for note in Graph.read(ring, features=pa.table(rows)).report.notes)
