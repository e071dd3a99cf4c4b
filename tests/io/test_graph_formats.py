"""Graph files of other tools, against networkx, scipy and the formats' own examples; hostile ones are refused in a
line, in bounded memory.
"""

import gzip
import tracemalloc
import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from llwlc._io.edge_source import GraphFormat
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.graph._report import GraphWarning

pytestmark = pytest.mark.filterwarnings("ignore::llwlc.graph._report.GraphWarning")
few = settings(deadline=None, max_examples=30)
links = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40)


def of(pairs, directed=False):
    made = (nx.DiGraph if directed else nx.Graph)()
    made.add_nodes_from(f"n {i}" for i in range(10))
    for i, (u, v) in enumerate(pairs):
        if u != v:
            made.add_edge(f"n {u}", f"n {v}", weight=1 + i / 4, time=2000 + i, note="a <b> & c")
    return made


def same(found: Graph, wanted: nx.Graph) -> None:
    oracle = Graph.from_networkx(wanted)
    assert (found.names, found.indptr.tolist(), found.indices.tolist()) == (
        oracle.names,
        oracle.indptr.tolist(),
        oracle.indices.tolist(),
    )
    for name in ("weight", "time"):
        ours, theirs = getattr(found, name), getattr(oracle, name)
        assert (ours is None) == (theirs is None)
        assert ours is None or ours.tolist() == theirs.tolist()


@few
@given(links, st.booleans(), st.sampled_from([(".graphml", nx.write_graphml_xml), (".gexf", nx.write_gexf)]))
def test_xml_equals_networkx(tmp_path_factory, pairs, directed, kind):
    ending, write = kind
    path, made = tmp_path_factory.mktemp("xml") / f"g{ending}", of(pairs, directed)
    write(made, path)
    if not made.number_of_edges():
        with pytest.raises(InputError, match="no edges"):
            Graph.read(path)
        return
    same(Graph.read(path), made)
    zipped = path.with_name("z.xml.gz")  # known by its first bytes
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    same(Graph.read(zipped), made)


@few
@given(links)
def test_graph6_equals_networkx(tmp_path_factory, pairs):
    made = nx.empty_graph(12)
    made.add_edges_from((u, v) for u, v in pairs if u != v)
    path = tmp_path_factory.mktemp("g6") / "g.g6"
    nx.write_graph6(made, path, header=len(pairs) % 2 == 0)
    if made.number_of_edges():
        same(Graph.read(path), made)


def test_graph6_of_more_than_62_nodes(tmp_path):
    made = nx.gnp_random_graph(300, 0.1, seed=1)
    nx.write_graph6(made, tmp_path / "g.g6")
    same(Graph.read(tmp_path / "g.g6"), made)


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
def test_matrix_market_equals_scipy(tmp_path, symmetry, field):
    rng = np.random.default_rng(0)
    upper = np.triu(rng.integers(0, 4, (12, 12)), 1)
    matrix = scipy.sparse.coo_array(upper + upper.T if symmetry == "symmetric" else upper)
    scipy.io.mmwrite(tmp_path / "m.mtx", matrix, field=field, symmetry=symmetry)
    found, wanted = Graph.read(tmp_path / "m.mtx"), Graph.from_scipy(matrix)
    assert found.names == [str(i) for i in range(1, 13)]
    assert found.indices.tolist() == wanted.indices.tolist()
    assert (found.weight is None) == (field == "pattern")
    if field != "pattern":
        assert found.weight.tolist() == wanted.weight.tolist()


def test_a_matrix_of_users_and_items_is_bipartite(tmp_path):
    scipy.io.mmwrite(tmp_path / "m.mtx", scipy.sparse.coo_array(np.array([[1, 0, 2], [0, 3, 1]])))
    found = Graph.read(tmp_path / "m.mtx")
    assert found.names == ["L1", "L2", "R1", "R2", "R3"]
    assert found.report.bipartite
    assert any("L1, L2" in note for note in found.report.notes)


KONECT = {
    "sym unweighted": ("1 2\n2 3\n3 1\n", ["1", "2", "3"], None, False),
    "asym positive": ("1\t2\t3\n2\t3\t1\n" + "".join(f"1 {i} 1\n" for i in range(4, 14)), None, 3.0, True),
    "sym signed": ("1 2 -1\n2 3 1\n3 1 1\n", ["1", "2", "3"], None, False),
    "bip unweighted": ("1 1\n1 2\n2 1\n", ["L1", "L2", "R1", "R2"], None, False),
}


@pytest.mark.parametrize("kind", KONECT)
def test_konect_says_what_its_columns_are(tmp_path, kind):
    rows, names, first_weight, directed = KONECT[kind]
    (tmp_path / "out.some").write_text(f"% {kind}\n% 3 3 3\n{rows}")
    found = Graph.read(tmp_path / "out.some")
    assert names is None or found.names == names
    assert (found.weight is None) == (first_weight is None)
    assert first_weight is None or found.weight[0] == first_weight
    assert found.report.directed == directed
    if "signed" in kind:
        with pytest.raises(InputError, match="-1 in row 1"):
            Graph.read(tmp_path / "out.some", weight="rating")


def test_konect_has_times(tmp_path):
    (tmp_path / "out.t").write_text("% sym unweighted\n1 2 1 100\n2 3 1 200\n3 1 1 300\n")
    assert sorted(set(Graph.read(tmp_path / "out.t").time.tolist())) == [100, 200, 300]


@pytest.mark.parametrize(("word", "directed"), [("Directed", True), ("Undirected", False)])
def test_snap_says_whether_edges_are_directed(tmp_path, word, directed):
    rows = "".join(f"{i}\t{i * 7 % 31}\n" for i in range(1, 30))
    (tmp_path / "s.txt").write_text(f"# {word} graph (each pair once)\n# FromNodeId\tToNodeId\n{rows}")
    found = Graph.read(tmp_path / "s.txt")
    assert found.report.directed == directed
    assert found.names[0] == "1"


def test_a_list_that_follows_any_order_of_its_nodes_is_not_called_directed(tmp_path):
    """Each link once, sorted as people sort (n2 before n10), by the first column or by the second."""
    made = nx.barabasi_albert_graph(60, 3, seed=0)
    rows = [(f"n{u}", f"n{v}") for u, v in sorted((min(e), max(e)) for e in made.edges)]
    turned = sorted(rows, key=lambda e: (int(e[1][1:]), int(e[0][1:])))
    for pairs in (rows, turned, [(v, u) for u, v in rows]):
        with warnings.catch_warnings():
            warnings.simplefilter("error", GraphWarning)
            assert not Graph.read(pairs).report.directed


LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">{}]><graphml><graph edgedefault="undirected"><node'
    ' id="&j;"/></graph></graphml>'
)
BAD = {
    "laughs.graphml": (
        LAUGHS.format("".join(f'<!ENTITY {c} "&{b};&{b};">' for b, c in zip("abcdefghi", "bcdefghij", strict=True))),
        "document type",
    ),
    "outside.graphml": ('<!DOCTYPE g SYSTEM "file:///etc/passwd"><graphml/>', "document type"),
    "cut.graphml": ('<graphml><graph edgedefault="undirected"><node id="a"', "broken XML"),
    "hyper.graphml": ("<graphml><graph><hyperedge/></graph></graphml>", "hyperedge"),
    "two.graphml": ("<graphml><graph/><graph/></graphml>", "several graphs"),
    "none.graphml": ("<graphml/>", "no graph element"),
    "ends.graphml": ('<graphml><graph><edge source="a"/></graph></graphml>', "no attribute target"),
    "other.gexf": ("<html/>", "not with gexf"),
    "utf16.gexf": (
        '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE gexf [<!ENTITY a "b">]><gexf/>'.encode("utf-16"),
        "document type",
    ),
    "big.mtx": (
        "%%MatrixMarket matrix coordinate pattern general\n9999999999 9999999999 1\n1 2\n",
        "unpacks to more than",
    ),
    "many.mtx": (
        "%%MatrixMarket matrix coordinate pattern general\n9 9 99999999999\n1 2\n",
        "more entries than it has lines",
    ),
    "beyond.mtx": ("%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 9\n", "broken Matrix Market"),
    "longer.mtx": (
        "%%MatrixMarket matrix coordinate real general\n9 9 2\n1 2 1\n9 9 2 9 2 9 2",
        "broken Matrix Market",
    ),
    "words.mtx": ("%%MatrixMarket matrix coordinate real general\n9 9 1\n1 2 x\n", "broken Matrix Market"),
    "short.mtx": ("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n", "broken Matrix Market"),
    "complex.mtx": ("%%MatrixMarket matrix coordinate complex general\n3 3 1\n1 2 1 1\n", "complex entries"),
    "empty.mtx": ("%%MatrixMarket matrix\n", "no Matrix Market header"),
    "huge.g6": ("~~~~~~~~" + "?" * 9, "truncated or damaged"),
    "sparse.g6": (":Fa@x^", "sparse6"),
    "two.g6": ("A_\nA_\n", "several graphs"),
    "none.g6": ("", "empty"),
    "odd.g6": ("\x01\x02", "not a graph6"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_in_a_line_and_in_bounded_memory(tmp_path, name):
    text, message = BAD[name]
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    tracemalloc.start()
    with pytest.raises(InputError, match=message) as caught:
        Graph.read(tmp_path / name, unzipped_limit=64 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert peak < 20 << 20


def test_a_format_without_beginning_takes_no_empty_file_and_endings_are_a_tuple(tmp_path):
    only_ending = GraphFormat("mine", "by its ending", "math:floor", endings=(".mine",))
    assert only_ending.fits(tmp_path / "a.mine.gz", b"")
    assert not only_ending.fits(tmp_path / "a.csv", b"")
    with pytest.raises(InputError, match="endings of a graph format are a tuple"):
        GraphFormat("mine", "by its ending", "math:floor", endings=".mine")
