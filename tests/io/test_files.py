"""Files of every kind, clean and messy, against networkx and against what was written."""

import csv
import gzip
import sys
import time
import warnings

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.io
import scipy.sparse
import torch
from hypothesis import example as of
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

import llwlc
from llwlc._io.parquet_size import copy_to_arrow
from llwlc._io.table_file import open_table
from llwlc._io.table_writing import write_table
from llwlc.errors import InputError
from llwlc.graph._feature_file import join_features, read_features
from llwlc.graph._graph import Graph
from llwlc.graph._pair_file import read_pairs
from llwlc.graph._report import GraphWarning

pytestmark = pytest.mark.filterwarnings("ignore::llwlc.graph._report.GraphWarning")
few = settings(deadline=None, max_examples=40)
# what people call things: spaces inside, quotes, separators, other scripts, digits
words = st.text(st.sampled_from('ab 7",;\tß雪#%'), min_size=1, max_size=4).filter(lambda s: s.strip())
nodes = st.one_of(st.integers(-3, 12).map(str), words.map(str.strip))
ENDINGS = [".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet"]


def example() -> Graph:
    return Graph.from_edges(
        torch.tensor([[0, 1], [1, 2], [2, 0], [2, 3]]),
        num_nodes=5,
        weight=torch.tensor([0.5, 1.25, 3.0, 0.1]),
        time=torch.tensor([2001, 1999, 2020, 2010]),
        names=["Ada", "Bob", "Cleo", "Dan, Jr.", 'the "last"'],
    )


def equal(a: Graph, b: Graph) -> bool:
    for name in ("indptr", "indices", "weight", "time"):
        p, q = getattr(a, name), getattr(b, name)
        if (p is None) != (q is None) or (p is not None and not torch.equal(p, q)):
            return False
    return a.names == b.names


@pytest.fixture
def write(tmp_path):
    def put(text: str | bytes, name: str = "edges.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return put


def written(graph, path):
    (graph.to_parquet if path.suffix == ".parquet" else graph.to_csv)(path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_graph_survives_writing_and_reading(tmp_path, ending):
    path = tmp_path / f"edges{ending}"
    written(example(), path)
    assert equal(Graph.read(path), example())
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ENDINGS)
def test_round_trip_of_numbered_nodes(tmp_path, ending):
    graph = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 0], [2, 10]]))
    written(graph, tmp_path / f"edges{ending}")
    assert equal(Graph.read(tmp_path / f"edges{ending}"), graph)


def test_a_name_of_another_format_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"does not end in \.parquet"):
        example().to_parquet(tmp_path / "edges.csv")
    with pytest.raises(InputError, match="call to_parquet"):
        example().to_csv(tmp_path / "edges.parquet")
    assert not any(tmp_path.iterdir())


def test_gzipped_parquet(tmp_path):
    example().to_parquet(tmp_path / "e.parquet")
    (tmp_path / "z.parquet.gz").write_bytes(gzip.compress((tmp_path / "e.parquet").read_bytes()))
    assert equal(Graph.from_parquet(tmp_path / "z.parquet.gz"), example())


@few
@given(st.lists(st.tuples(nodes, nodes), min_size=1, max_size=40))
def test_messy_lists_equal_networkx(tmp_path_factory, pairs):
    path = tmp_path_factory.mktemp("messy") / "e.csv"
    write_table(path, pa.table({"source": [u for u, _ in pairs], "target": [v for _, v in pairs]}))
    oracle = nx.Graph(pairs)
    oracle.remove_edges_from(list(nx.selfloop_edges(oracle)))
    if not oracle.number_of_edges():
        with pytest.raises(InputError, match="no edges"):
            Graph.read(path)
        return
    graph = Graph.read(path)
    called = [str(i) for i in range(graph.num_nodes)] if graph.names is None else graph.names
    assert {frozenset((called[u], called[v])) for u, v in graph.edges.tolist()} == {frozenset(e) for e in oracle.edges}
    assert set(called) == set(oracle.nodes)
    numeric = all(name.lstrip("-").isdigit() and str(int(name)) == name for name in called)
    assert list(called) == sorted(called, key=int if numeric else str)


@pytest.mark.parametrize("separator", [",", "\t", ";", " ", "   "])
@pytest.mark.parametrize("header", ["", "from{}to\n", "# a comment\n% another\n"])
def test_separator_and_header_are_found(write, separator, header):
    rows = ["1{}2", "2{}3", "3{}1"]
    graph = Graph.read(write(header.format(separator) + "\n".join(rows).replace("{}", separator) + "\n", "e.txt"))
    assert (graph.num_edges, graph.names) == (3, ["1", "2", "3"])


def test_windows_lines_and_byte_order_mark(write):
    assert Graph.read(write(b"\xef\xbb\xbfsource,target\r\na,b\r\nb,c\r\nc,a\r\n")).names == ["a", "b", "c"]


def test_columns_by_name_by_number_and_by_familiar_name(write):
    path = write("id;x;node1id;node2id;w\n0;9;a;b;2\n1;9;b;c;3\n2;9;c;a;4\n")
    assert Graph.read(path).names == ["a", "b", "c"]
    assert Graph.read(path, source="node2id", target="id", weight="w").weight.tolist()[:2] == [2.0, 3.0]
    plain = write("a,b,5\nb,c,6\nc,a,7\n", "plain.csv")
    graph = Graph.read(plain, header=False, weight="3")
    assert graph.to_numpy().tolist() == [[0, 5, 7], [5, 0, 6], [7, 6, 0]]


def test_first_line_of_known_nodes_is_an_edge_and_said_so(write):
    path = write("Ada,Bob\nBob,Cleo\nCleo,Ada\n")
    with pytest.warns(GraphWarning, match="read as an edge"):
        assert Graph.read(path).num_edges == 3
    assert Graph.read(path, header=True).num_edges == 2


def test_ids_keep_their_zeros_and_their_case(write):
    assert Graph.read(write("u,v\n007,7\n7,a\na,A\n007,A\n")).names == ["007", "7", "A", "a"]


def test_weights_of_repeated_and_reversed_pairs(write):
    repeated = Graph.read(write("u,v,weight,time\na,b,1,5\na,b,2,9\nb,a,4,7\nb,c,1,1\n"))
    assert repeated.to_numpy()[0, 1] == 7
    assert repeated.time.tolist()[0] == 9
    twice = Graph.read(write("u,v,weight\na,b,3\nb,a,3\nb,c,1\nc,b,1\n"))
    assert twice.to_numpy().tolist() == [[0, 3, 0], [3, 0, 1], [0, 1, 0]]
    assert twice.report.mirrored
    assert Graph.read(write("u,v,weight\na,b,3\nb,c,1\n"), weight=None).weight is None


def test_dates_become_seconds(write):
    graph = Graph.read(write("u,v,time\na,b,1970-01-02\nb,c,1970-01-01\nc,a,1970-01-03\n"))
    assert sorted(set(graph.time.tolist())) == [0, 86400, 172800]


def test_report_line_tells_all(write):
    graph = Graph.read(write("u,v\na,b\na,b\nb,a\nb,c\nc,a\nd,d\n"))
    assert (
        str(graph.report)
        == "6 rows gave 4 nodes and 3 edges: 1 self-loop dropped, 1 duplicate and 1 reversed duplicate merged, 1"
        " isolated node."
    )


def shuffled_hubs(count: int = 400) -> list[tuple[str, str]]:
    """Everybody linked to a few famous ones, each link once, in no order of the names; the famous always second."""
    rng = np.random.default_rng(0)
    ids = rng.permutation(count)
    rows = sorted({(f"p{ids[i]}", f"p{ids[j]}") for i in range(40, count) for j in rng.choice(40, 3, replace=False)})
    rows += [(f"p{ids[i]}", f"p{ids[j]}") for i in range(40) for j in range(i)]
    return [rows[k] for k in rng.permutation(len(rows))]


def test_a_list_with_each_edge_once_is_not_called_directed(tmp_path):
    """Whatever its order, its hubs and its format: that is how undirected graphs are written."""
    pairs = shuffled_hubs()
    (tmp_path / "once.csv").write_text("u,v\n" + "".join(f"{u},{v}\n" for u, v in pairs))
    ends = np.array([(int(u[1:]), int(v[1:])) for u, v in pairs])
    matrix = scipy.sparse.coo_array((np.ones(len(ends)), ends.T), shape=(400, 400))
    scipy.io.mmwrite(tmp_path / "once.mtx", matrix, field="pattern", symmetry="general")
    with warnings.catch_warnings():
        warnings.simplefilter("error", GraphWarning)
        for graph in (
            Graph.read(tmp_path / "once.csv"),
            Graph.read(tmp_path / "once.mtx"),
            Graph.read(pairs),
            Graph.from_scipy(matrix),
            Graph.from_pyg(Data(edge_index=torch.from_numpy(ends.T.copy()), num_nodes=400)),
        ):
            assert not graph.report.directed


def test_a_list_looks_directed_where_some_edges_come_both_ways_and_others_do_not(write):
    pairs = shuffled_hubs()
    pairs += [(v, u) for u, v in pairs[: len(pairs) // 4]]
    number = {name: at for at, name in enumerate(dict.fromkeys(name for pair in pairs for name in pair))}
    numbers = [(number[u], number[v]) for u, v in pairs]
    with pytest.warns(
        GraphWarning, match="look directed: 25% of them come in both directions, the others in one.*customer 7"
    ):
        Graph.read(numbers)
    for read in (lambda: Graph.read(pairs), lambda: Graph.read(numbers, bipartite=False)):
        with pytest.warns(GraphWarning, match="look directed: 25%(?!.*customer 7)"):  # nothing to ask about sides
            read()
    with pytest.warns(GraphWarning, match="states that its edges are directed"):
        Graph.read(
            write(
                "".join(f"<edge source='{u}' target='{v}'/>" for u, v in pairs[:12]).join(
                    ("<graphml><graph edgedefault='directed'>", "</graph></graphml>")
                ),
                "d.graphml",
            )
        )


def test_a_graph_written_and_read_is_the_same(tmp_path):
    graph = Graph.read(shuffled_hubs())
    graph.to_csv(tmp_path / "once.csv")
    nx.write_edgelist(graph.to_networkx(), tmp_path / "nx.txt", data=False)
    assert equal(Graph.read(tmp_path / "once.csv"), graph)
    assert equal(Graph.read(tmp_path / "nx.txt", header=False), graph)


def test_bipartite_list_warns(write):
    with pytest.warns(GraphWarning, match="bipartite"):
        Graph.read(write("user,item\n1,x\n1,y\n2,y\n2,z\n"))


@pytest.mark.parametrize("zipped", [False, True])
def test_half_a_million_edges_load_in_the_time_of_a_few_readings_by_python(tmp_path, zipped):
    rng = np.random.default_rng(0)
    ends = pa.array([f"author {i:06d}" for i in range(100_000)])
    draw = [ends.take(pa.array(rng.integers(0, 100_000, 500_000))) for _ in range(2)]
    path = tmp_path / ("e.csv.gz" if zipped else "e.csv")
    write_table(path, pa.table({"source": draw[0], "target": draw[1], "weight": rng.random(500_000) + 0.1}))
    start = time.process_time()
    with (gzip.open if zipped else open)(path, "rt") as file:
        assert sum(1 for _ in csv.reader(file)) == 500_001
    python, start = time.process_time() - start, time.process_time()
    graph = Graph.read(path)
    assert time.process_time() - start < 20 * python  # 1.1 times as long on a quiet machine, 9 on a busy one
    assert graph.report.rows == 500_000


# features

EDGES = "u,v\na,b\nb,c\nc,a\n"


def test_numeric_boolean_and_categorical_columns(write):
    nodes = write("node,age,active,town,code\nc,3,true,Rome,1\na,1,false,Bern,2\nb,2.5,true,Rome,1\n", "n.csv")
    found = read_features(nodes, categorical=["code"])
    assert found.columns == ("age", "active", "town=Bern", "town=Rome", "code=1", "code=2")
    graph = Graph.read(write(EDGES), features=nodes, categorical=["code"])
    assert graph.x.tolist() == [[1, 0, 1, 0, 0, 1], [2.5, 1, 0, 1, 1, 0], [3, 1, 0, 1, 1, 0]]


def test_parquet_features_and_integer_ids(write, tmp_path):
    pa.parquet.write_table(pa.table({"id": [30, 10, 20], "f": [3, 1, 2]}), tmp_path / "n.parquet")
    graph = Graph.read(write("10,20\n20,30\n30,10\n"), features=tmp_path / "n.parquet")
    assert graph.x.tolist() == [[1], [2], [3]]


def test_npz_by_name_in_node_order_and_sparse(write, tmp_path):
    x = np.array([[3.0, 0], [1, 0], [0, 2]])
    np.savez(tmp_path / "named.npz", x=x, names=["c", "a", "b"])
    assert Graph.read(write(EDGES), features=tmp_path / "named.npz").x.tolist() == x[[1, 2, 0]].tolist()
    np.savez(tmp_path / "plain.npz", x=x)
    assert Graph.read(write(EDGES), features=tmp_path / "plain.npz").x.tolist() == x.tolist()
    scipy.sparse.save_npz(tmp_path / "sparse.npz", scipy.sparse.csr_array(x))
    assert Graph.read(write(EDGES), features=tmp_path / "sparse.npz").x.toarray().tolist() == x.tolist()
    csr = scipy.sparse.csr_array(x)
    parts = {"x_data": csr.data, "x_indices": csr.indices, "x_indptr": csr.indptr, "x_shape": csr.shape}
    np.savez(tmp_path / "parts.npz", names=["c", "a", "b"], **parts)
    assert Graph.read(write(EDGES), features=tmp_path / "parts.npz").x.toarray().tolist() == x[[1, 2, 0]].tolist()


def test_isolated_nodes_come_in_when_asked(write, tmp_path):
    nodes = write("node,f\na,1\nb,2\nc,3\naa,9\n", "n.csv")
    with pytest.raises(InputError, match=r"have no edge: 'aa'.*isolated='keep'"):
        Graph.read(write(EDGES), features=nodes)
    graph = Graph.read(write(EDGES), features=nodes, isolated="keep")
    assert (graph.names, graph.x.flatten().tolist(), graph.report.isolated) == (["a", "aa", "b", "c"], [1, 9, 2, 3], 1)
    np.savez(tmp_path / "rows.npz", x=np.arange(6.0))
    numbered = Graph.read(write("0,1\n1,5\n5,0\n"), features=tmp_path / "rows.npz", isolated="keep")
    assert (numbered.num_nodes, numbered.names, numbered.x.flatten().tolist()) == (6, None, [0, 1, 2, 3, 4, 5])


def test_features_for_a_graph_in_hand(write):
    graph = Graph.from_networkx(nx.Graph([("a", "b"), ("b", "c"), ("c", "a")]))
    assert join_features(graph, read_features(write("node,f\nb,2\nc,3\na,1\n"))).x.flatten().tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node,f\na,1\nb,2\n", "no features for 1 of 3 nodes: 'c'"),
        ("node,f\na,1\nb,2\nc,3\nc,4\n", "more than one row for 'c'"),
        ("node,f\na,1\nb,nan\nc,3\n", "column 'f' is empty for node 'b'"),
        ("node,f\na,1\nb,\nc,3\n", "column 'f' is empty for node 'b'"),
        ("node,f\na,1\nb,inf\nc,3\n", "node 'b' has NaN, infinity"),
        ("node,f\na,x\nb,\nc,x\n", "column 'f' is empty for node 'b'"),
        ("node,f\na,1\n,2\nc,3\n", "names no node in row 2"),
        ("node,title\n" + "".join(f"{i},t{i}\n" for i in range(1100)), "1,100 different values"),
    ],
)
def test_bad_features_are_named(write, text, message):
    with pytest.raises(InputError, match=message):
        Graph.read(write(EDGES), features=write(text, "n.csv"), missing_values="error")


def test_bad_npz_is_named(write, tmp_path):
    def attempt(message, **arrays):
        np.savez(tmp_path / "n.npz", **arrays)
        with pytest.raises(InputError, match=message):
            Graph.read(write(EDGES), features=tmp_path / "n.npz", missing_values="error")

    attempt("4 feature rows and no names, the graph has 3 nodes", x=np.ones((4, 2)))
    attempt("2 names and 3 feature rows", x=np.ones((3, 2)), names=["a", "b"])
    attempt("no array `x`", y=np.ones((3, 2)))
    attempt("row 2 has NaN", x=np.array([[1.0], [np.nan], [2.0]]))
    attempt("pickled", x=np.array([[1, "a", None]] * 3, dtype=object))
    attempt("numbers of shape", x=np.array([["a"], ["b"], ["c"]]))
    (tmp_path / "n.npz").write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(InputError, match="damaged"):
        Graph.read(write(EDGES), features=tmp_path / "n.npz")


# pairs and tables


def test_pairs_keep_the_other_columns(write):
    found = read_pairs(write("score,from,to,why\n9.50,Cleo,Ada,x\n008,Ada,Bob,y\n"), example(), verbatim=True)
    assert found.renamed == {"score": "score_given"}
    assert found.pairs.tolist() == [[2, 0], [0, 1]]
    kept = {"score_given": ["9.50", "008"], "from": ["Cleo", "Ada"], "to": ["Ada", "Bob"], "why": ["x", "y"]}
    assert found.table.to_pydict() == kept
    assert list(found.table.column_names) == list(kept)


def test_codes_with_leading_zeros_stay_text_where_numbers_become_numbers(write):
    found = read_pairs(write("code,age,from,to\n007,7,Cleo,Ada\n12,0,Ada,Bob\n"), example()).table
    assert found["code"].to_pylist() == ["007", "12"]
    assert found["age"].to_pylist() == [7, 0]


def test_pairs_without_a_header_lose_none(write):
    assert read_pairs(write("Cleo,Ada\nAda,Bob\n"), example()).pairs.tolist() == [[2, 0], [0, 1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("u,v\nAda,Bob\nAda,Cloe\n", "'Cloe' in row 2.* Did you mean 'Cleo'?"),
        ("u,v\nBob,Bob\n", "pairs 'Bob' with itself in row 1"),
        ("u,v\n", "no pairs"),
    ],
)
def test_bad_pairs_are_named(write, text, message):
    with pytest.raises(InputError, match=message):
        read_pairs(write(text), example())


def test_unknown_number_names_the_range(write):
    graph = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
    with pytest.raises(InputError, match=r"'7' in row 1.*0 to 2"):
        read_pairs(write("7,1\n"), graph)


@few
@of([(", ", 0.0), (" 7", 0.0)])
@given(st.lists(st.tuples(words, st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=10))
def test_tables_come_back_as_written(tmp_path_factory, rows):
    table = pa.table({"name": [name for name, _ in rows], "value": pa.array([v for _, v in rows], pa.float64())})
    for ending in ENDINGS:
        path = tmp_path_factory.mktemp("table") / f"t{ending}"
        write_table(path, table)
        back = open_table(path, header=None if ending == ".parquet" else True).read(text=["name"])
        assert back["name"].to_pylist() == table["name"].to_pylist()
        assert back["value"].cast(pa.float64()).to_pylist() == table["value"].to_pylist()


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    with pytest.raises(InputError, match="cannot be written as text"):
        write_table(path, pa.table({"nested": [[1, 2]]}))
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("name", ["t.xlsx", "missing/t.csv", "folder.csv"])
def test_unwritable_targets_are_refused(tmp_path, name):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError):
        write_table(tmp_path / name, pa.table({"a": [1]}))


@pytest.mark.parametrize("top", ["", "\ufeff", '# it"s\n\n'])
def test_quotes_behind_a_space_are_quotes(tmp_path, top):
    file = tmp_path / "e.csv"
    file.write_text(
        top + 'source, target, weight\n"A", "B", 1\n\n"B",  "C, ""x""", 2\n"C, ""x""", A, 3\n', encoding="utf-8"
    )
    g = Graph.from_csv(file)
    assert g.names == ["A", "B", 'C, "x"']
    assert g.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert g.to_numpy()[0].tolist() == [0, 1, 3]


def test_a_quote_left_open_behind_a_space_is_named(tmp_path):
    file = tmp_path / "e.csv"
    file.write_text('source,target\nA,B\nA, "C\n' + "A,B\n" * 40_000)
    with pytest.raises(InputError, match="quote that is not closed"):
        Graph.from_csv(file)


def test_a_header_that_looks_like_an_edge_is_doubted(tmp_path):
    file = tmp_path / "e.csv"
    file.write_text("Ada,Bob\nBob,Cleo\nCleo,Dan\nDan,Bob\n")
    with pytest.warns(GraphWarning, match=r"read as a header, though 'Bob' is a node.*--no-header"):
        assert Graph.from_csv(file).num_edges == 3
    assert Graph.from_csv(file, header=False).num_edges == 4


def test_sparse_features_that_are_no_csr_are_refused(tmp_path):
    (tmp_path / "e.csv").write_text("0,1\n1,2\n2,0\n")
    square = scipy.sparse.csr_array(np.triu(np.ones((3, 3))))
    scipy.sparse.save_npz(tmp_path / "x.npz", square)
    assert np.array_equal(Graph.read(tmp_path / "e.csv", features=tmp_path / "x.npz").x.toarray(), square.toarray())
    scipy.sparse.save_npz(tmp_path / "x.npz", square.tocsc())  # the same arrays, transposed
    with pytest.raises(InputError, match="csc"):
        read_features(tmp_path / "x.npz")


@pytest.mark.parametrize("column", [7, -1])
def test_a_column_outside_a_sparse_matrix_is_named(tmp_path, column):
    np.savez(
        tmp_path / "x.npz",
        x_data=np.ones(2),
        x_indices=np.array([0, column]),
        x_indptr=np.array([0, 1, 2]),
        x_shape=np.array([2, 3]),
    )
    with pytest.raises(InputError, match="no valid CSR"):
        read_features(tmp_path / "x.npz")


def test_arrow_reads_a_copy_of_its_own():
    data = bytes(range(256))
    before = sys.getrefcount(data)
    copy = copy_to_arrow(data)
    assert (
        sys.getrefcount(data) == before
    )  # else one of arrow's threads may free it while the interpreter ends, and abort
    assert copy.read() == data


def test_columns_that_are_not_used_are_named_and_those_with_dates_offered(tmp_path):
    rows = "a,b,note,since,year,count\nx,y,hm,2024-05-01,2001,3\ny,z,,2024-05-02,2002,4\nz,x,s,,2003,5\n"
    (tmp_path / "e.csv").write_text(rows)
    report = Graph.read(tmp_path / "e.csv").report
    assert (report.unused, report.dates) == (("note", "since", "year", "count"), ("since", "year"))
    assert "Columns not used: 'note', 'since', 'year', 'count'. 'since' and 'year' hold times: give them" in str(report)
    pa.parquet.write_table(pa.csv.read_csv(tmp_path / "e.csv"), tmp_path / "e.parquet")
    assert Graph.read(tmp_path / "e.parquet").report.dates == ("since", "year")
    assert Graph.read(tmp_path / "e.csv", time="year", weight="count").report.unused == ("note", "since")
    pairs = "".join(f"{i},{i + 1},,2024-05-01,2001,1\n" for i in range(40))
    (tmp_path / "e.csv").write_text(f"a,b,note,since,year,count\n{pairs}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)  # a path is bipartite
        graph = Graph.read(tmp_path / "e.csv")
    with pytest.raises(InputError, match=r"read without times: name their column with --time COLUMN .*'since'"):
        llwlc.splits.make(graph, protocol="temporal")


@pytest.mark.parametrize(
    ("arrays", "wanted"),
    [
        ({"x": np.zeros((3, 2, 2))}, r"shape \[rows, features\], got \(3, 2, 2\)"),
        ({"y": np.zeros((3, 2))}, "no array `x`: it has y"),
        ({"x": np.zeros((3, 2)), "names": np.array(["x", "y"])}, "2 names and 3 feature rows"),
    ],
)
def test_arrays_of_the_wrong_shape_are_refused_before_the_edges_are_read(tmp_path, arrays, wanted):
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(InputError, match=wanted):
        Graph.read(tmp_path / "edges that are not there.csv", features=tmp_path / "x.npz")
    (tmp_path / "e.csv").write_text("a,b\nx,y\ny,z\nz,x\n")
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 2)))
    with pytest.raises(InputError, match="2 feature rows and no names, the graph has 3 nodes"):
        Graph.read(tmp_path / "e.csv", features=tmp_path / "x.npz")
