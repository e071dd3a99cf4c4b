"""Two columns that number users and items are two id spaces, where the header or the values say so."""

import numpy as np
import pytest

from llwlc._runs.update import updated_graph
from llwlc.errors import InputError
from llwlc.graph import Graph
from llwlc.graph._id_spaces import header_names_sides, look_like_two_spaces
from llwlc.graph._pair_file import resolve_pairs

pytestmark = pytest.mark.filterwarnings("ignore::llwlc.graph.GraphWarning")


def ratings(seed=0, users=60, items=90, count=900):
    """Rows of two columns that count from 1 each, no pair twice."""
    rng = np.random.default_rng(seed)
    cells = rng.choice(users * items, count, replace=False)
    return np.stack([cells // items + 1, cells % items + 1], 1)


def write(path, rows, header=None, separator=","):
    lines = [separator.join(map(str, row)) for row in rows]
    path.write_text("\n".join([*([separator.join(header)] if header else []), *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    ("names", "two"),
    [
        (("user_id", "item_id"), True),
        (("userId", "movieId"), True),
        (("uid", "iid"), True),
        (("product", "customer"), True),
        (("Author", "paper"), True),
        (("Kunden-Nr", "Artikel Nr"), True),
        (("source", "target"), False),
        (("user", "user"), False),
        (("user_a", "user_b"), False),
        (("item", "product"), False),
        (("source_user", "target_item_user"), False),
        (("a", "b"), False),
    ],
)
def test_a_header_says_so_by_a_word_for_each_side(names, two):
    assert header_names_sides(names) == two


def test_the_header_decides_where_there_are_few_rows(tmp_path):
    graph = Graph.read(write(tmp_path / "buys.csv", [(1, 1), (1, 2), (2, 1)], ("customer_id", "item_id")))
    assert graph.names == ["L1", "L2", "R1", "R2"]
    assert graph.num_edges == 3
    assert any("7 of the first is called L7" in note and "by their names" in note for note in graph.report.warnings)


def test_the_values_decide_without_a_header_as_in_movielens(tmp_path):
    """`u.data`: user, item, rating, timestamp behind tabs; users and items count from 1."""
    rows = [(*pair, 3, 881250949) for pair in ratings()]
    graph = Graph.read(write(tmp_path / "u.data", rows, separator="\t"))
    assert graph.num_edges == 900
    assert graph.report.bipartite
    assert sum(name.startswith("L") for name in graph.names) == 60
    assert any("no more often than by chance" in note for note in graph.report.warnings)
    assert Graph.read(tmp_path / "u.data", bipartite=False).names is not graph.names
    assert Graph.read(tmp_path / "u.data", bipartite=False).num_nodes == 90


@pytest.mark.parametrize("seed", range(3))
def test_edges_of_one_set_of_nodes_stay_one(seed):
    """Random graphs, directed or not, in any order, and a preferential one, have no loops as chance would give them."""
    rng = np.random.default_rng(seed)
    pairs = rng.integers(1, 101, (1200, 2))
    proper = pairs[pairs[:, 0] != pairs[:, 1]]
    assert look_like_two_spaces(*proper.T) is None
    assert look_like_two_spaces(*np.sort(proper, 1).T) is None
    hubs = np.array([(new, rng.integers(1, new)) for new in range(2, 500) for _ in range(3)])
    assert look_like_two_spaces(*hubs.T) is None
    assert look_like_two_spaces(*ratings(seed).T) is not None


def test_options_decide_against_header_and_values(tmp_path):
    file = write(tmp_path / "buys.csv", [(1, 1), (1, 2), (2, 1)], ("customer_id", "item_id"))
    assert Graph.read(file, bipartite=False).num_nodes == 2
    plain = write(tmp_path / "edges.csv", [(1, 2), (2, 3), (3, 1)], ("a", "b"))
    assert Graph.read(plain).num_nodes == 3
    assert Graph.read(plain, bipartite=True).num_nodes == 6
    apart = write(tmp_path / "apart.csv", [(1, 12), (2, 13), (3, 11)], ("a", "b"))
    assert Graph.read(apart, bipartite=True).names == ["L1", "L2", "L3", "R11", "R12", "R13"]


def test_a_header_decides_where_some_ids_are_names(tmp_path):
    """Numbers that both columns have are two nodes, although one customer has a name; text alone is left as it is."""
    rows = [(1, 1), (1, 2), ("guest", 1), (2, 1)]
    graph = Graph.read(write(tmp_path / "orders.csv", rows, ("Customer No.", "Product No.")))
    assert graph.names == ["L1", "L2", "Lguest", "R1", "R2"]
    assert any("by their names" in note for note in graph.report.warnings)
    assert resolve_pairs([("guest", "2"), ("2", "R2")], graph).tolist() == [[2, 4], [1, 4]]
    since = write(tmp_path / "since.csv", [(3, 2), ("guest", 3)], ("Customer No.", "Product No."))
    assert updated_graph(graph, add=since).names == ["L1", "L2", "L3", "Lguest", "R1", "R2", "R3"]
    words = write(tmp_path / "words.csv", [("Ford", "Ford"), ("Ada", "Ford")], ("customer", "company"))
    assert Graph.read(words).names == ["Ada", "Ford"]


def test_names_that_both_columns_have_are_kept_apart_on_demand():
    rows = [("Paris", "Rome"), ("Rome", "Oslo"), ("Paris", "Oslo")]
    assert Graph.read(rows).num_nodes == 3
    assert Graph.read(rows, bipartite=True).names == ["LParis", "LRome", "ROslo", "RRome"]
    assert Graph.read([("Ada", "jam"), ("Bob", "tea")], bipartite=True).names == ["Ada", "Bob", "jam", "tea"]


def test_a_doubtful_file_is_asked_about(tmp_path):
    rows = [pair for pair in ratings() if pair[0] != pair[1]]
    graph = Graph.read(write(tmp_path / "edges.csv", rows, ("a", "b")))
    assert graph.num_nodes == 90
    assert any("say --bipartite" in note for note in graph.report.warnings)


@pytest.mark.parametrize("seed", range(4))
def test_a_small_file_without_a_header_is_asked_about(tmp_path, seed):
    """With so few rows, those with equal numbers may be self-loops: nothing is decided, the reader is asked."""
    rows = ratings(seed, users=12, items=20, count=60)
    equal = int((rows[:, 0] == rows[:, 1]).sum())
    asked = f"Columns 1 and 2 share {len({*rows[:, 0]} & {*rows[:, 1]})} numbers"
    graph = Graph.read(write(tmp_path / "r.csv", rows))
    assert look_like_two_spaces(*rows.T) is None
    assert graph.num_nodes == len({*rows.ravel()})
    assert [asked in note for note in graph.report.warnings if "--bipartite" in note] == [True] * (equal > 1)
    proper = rows[rows[:, 0] != rows[:, 1]]  # no self-loop: most likely one set of nodes
    assert not any(asked in note for note in Graph.read(write(tmp_path / "p.csv", proper)).report.warnings)


def test_pairs_are_named_by_the_numbers_of_the_file():
    graph = Graph.read([(1, 1), (1, 2), (2, 1)], bipartite=True)
    by_number, by_name = (
        resolve_pairs([("1", "2"), ("2", "2")], graph),
        resolve_pairs([("L1", "R2"), ("2", "R2")], graph),
    )
    assert by_number.tolist() == by_name.tolist() == [[0, 3], [1, 3]]
    with pytest.raises(InputError, match="no node '3'"):
        resolve_pairs([("1", "3")], graph)
