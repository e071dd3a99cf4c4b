"""Constraints: the paper's examples column by column (up to sign), and what every family promises."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llwlc import constraints
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.subgraphs._extraction import extract


def subgraphs(graph, pairs, *, hops=2, weight=None):
    edges = torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2)
    made = Graph.from_edges(edges, num_nodes=len(graph), weight=weight)
    return extract(made, torch.tensor(pairs), hops=hops)


def by_node(subs, column, size):
    """One graph's column as a dense vector over the node ids of the graph."""
    out = torch.zeros(size, dtype=torch.float64)
    out[subs.node] = column
    return out


def same_up_to_sign(column, expected):
    expected = torch.tensor(expected, dtype=torch.float64)
    return torch.equal(column, expected) or torch.equal(column, -expected)


# a1 … a10 of both examples are nodes 0 … 9: a1–a2–a3–a4–a5–a10–a9–a8–a7–a6–a1
TEN_CYCLE = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 9), (9, 8), (8, 7), (7, 6), (6, 5), (5, 0)])
TEN_CYCLE.add_nodes_from(range(10))


def test_example_1_boundary_column():
    subs = subgraphs(TEN_CYCLE, [[1, 2]])
    column = by_node(subs, constraints.neumann(subs, degree=False).columns[:, 0], 10)
    # the paper lists nodes by colour: query a2 a3, S = a1 a4, δS = a5 a6, the rest
    by_colour = [1, 2, 0, 3, 4, 5, 6, 7, 8, 9]
    assert same_up_to_sign(column[by_colour], [0, 0, 1, 1, -1, -1, 0, 0, 0, 0])


def test_example_2_is_an_induced_path():
    subs = subgraphs(TEN_CYCLE, [[7, 9]], hops=5)
    assert subs.num_nodes == 10
    cons = constraints.induced(subs, [[0, 1, 2, 3]])
    assert same_up_to_sign(by_node(subs, cons.columns[:, 0], 10), [2, 2, 2, 2, 0, 0, 0, 0, 0, 0])


def test_appendix_equation_two_copies_of_c5():
    two = nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5))
    subs = subgraphs(two, [[0, 1]])
    column = by_node(subs, constraints.neumann(subs, degree=False).columns[:, 0], 10)
    # 2 f(4) − f(3) − f(2) = 0: the two-hop node is 3 here, the one-hop nodes 2 and 4
    assert same_up_to_sign(column, [0, 0, -1, 2, -1, 0, 0, 0, 0, 0])


def test_appendix_equation_c10():
    subs = subgraphs(nx.cycle_graph(10), [[0, 1]])
    column = by_node(subs, constraints.neumann(subs, degree=False).columns[:, 0], 10)
    # f(2) + f(3) − f(4) − f(5) = 0: one-hop 2 and 9, two-hop 3 and 8
    assert same_up_to_sign(column, [0, 0, 1, -1, 0, 0, 0, 0, -1, 1])


def test_second_neumann_condition_holds_the_degrees_on_one_hop_nodes():
    subs = subgraphs(TEN_CYCLE, [[1, 2]])
    column = by_node(subs, constraints.neumann(subs, boundary=False).columns[:, 0], 10)
    assert column.tolist() == [2, 0, 0, 2, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ((2, 6), {1: 1, 5: 1, 3: -2}),  # S–δS edges (1, 3) and (3, 5)
        ((2, 4), {1: 1, 6: 1, 3: -1, 5: -1}),  # (1, 3) and (5, 6)
        ((2, 5), {}),  # the antipodal pair: δS is empty
    ],
)
def test_orbits_of_c6(pair, expected):
    c6 = nx.Graph([(1, 2), (1, 3), (3, 5), (2, 4), (5, 6), (4, 6)])
    edges = torch.tensor(list(c6.edges))
    subs = extract(Graph.from_edges(edges, num_nodes=7), torch.tensor([pair]), hops=2)
    column = by_node(subs, constraints.neumann(subs, degree=False).columns[:, 0], 7)
    assert same_up_to_sign(column, [expected.get(i, 0) for i in range(7)])


def boundary_oracle(graph, u, v):
    """The definition, edge by edge, in networkx."""
    near = {**nx.single_source_shortest_path_length(graph, v, 2)}
    for node, hop in nx.single_source_shortest_path_length(graph, u, 2).items():
        near[node] = min(hop, near.get(node, hop))
    column = dict.fromkeys(near, 0.0)
    for a, b in graph.subgraph(near).edges:
        for s, d in ((a, b), (b, a)):
            if near[s] == 1 and near[d] == 2:
                column[s] += graph.edges[a, b].get("weight", 1.0)
                column[d] -= graph.edges[a, b].get("weight", 1.0)
    return column


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.booleans())
def test_neumann_equals_its_definition(seed, weighted):
    graph = nx.gnp_random_graph(14, 0.2, seed=seed)
    weight = torch.rand(graph.number_of_edges(), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    if weighted:
        nx.set_edge_attributes(graph, dict(zip(graph.edges, weight.tolist(), strict=True)), "weight")
    pairs = [[0, 1], [2, 9], [13, 4]]
    subs = subgraphs(graph, pairs, weight=weight if weighted else None)
    cons = constraints.neumann(subs)
    for b, (u, v) in enumerate(pairs):
        rows = slice(int(subs.ptr[b]), int(subs.ptr[b + 1]))
        boundary, degree = cons.columns[rows].T
        oracle = boundary_oracle(graph, u, v)
        assert boundary.tolist() == pytest.approx([oracle[i] for i in subs.node[rows].tolist()])
        # the first condition is a sum of differences, so a constant signal meets it
        assert boundary.sum().item() == pytest.approx(0)
        assert torch.equal(degree != 0, (subs.hop[rows] == 1) & (subs.degree[rows] > 0))


def test_vertex_deleted_columns_are_degrees_with_one_zero():
    subs = subgraphs(nx.karate_club_graph(), [[0, 33], [5, 16]])
    cons = constraints.vertex_deleted(subs, count=4, seed=3)
    assert cons.names == tuple(f"vertex_deleted_{i}" for i in range(4))
    for b in range(2):
        rows = slice(int(subs.ptr[b]), int(subs.ptr[b + 1]))
        zeroed = cons.columns[rows] == 0
        assert zeroed.sum(0).tolist() == [1] * 4  # karate has no isolated node
        assert torch.equal(zeroed.any(1), cons.deleted[rows])
        assert torch.equal(cons.columns[rows].amax(1), subs.degree[rows].double())


def drawn(subs, cons):
    return [set(subs.node[(subs.graph == b) & cons.deleted].tolist()) for b in range(subs.num_graphs)]


def test_a_draw_belongs_to_the_link():
    graph = nx.karate_club_graph()
    pairs = [[0, 33], [5, 16], [2, 8]]
    together = subgraphs(graph, pairs)
    chosen = drawn(together, constraints.vertex_deleted(together, count=5, seed=7, epoch=2))
    for pair, expected in zip(pairs, chosen, strict=True):
        alone = subgraphs(graph, [pair[::-1]])
        assert drawn(alone, constraints.vertex_deleted(alone, count=5, seed=7, epoch=2)) == [expected]
    assert chosen != drawn(together, constraints.vertex_deleted(together, count=5, seed=7, epoch=3))
    assert chosen != drawn(together, constraints.vertex_deleted(together, count=5, seed=8, epoch=2))


def test_every_node_is_drawn_equally_often():
    subs = subgraphs(nx.complete_graph(8), [[0, 1]])
    hits = sum(constraints.vertex_deleted(subs, count=4, epoch=e).deleted.double() for e in range(2000))
    assert torch.allclose(hits / 2000, torch.full((8,), 0.5, dtype=torch.float64), atol=0.05)


def test_small_graphs_are_cut_and_counted():
    graph = nx.disjoint_union(nx.path_graph(5), nx.complete_graph(30))
    graph.add_nodes_from([35, 36])
    subs = subgraphs(graph, [[0, 1], [6, 7], [35, 36]])
    cons = constraints.vertex_deleted(subs, count=10)
    sizes = subs.ptr.diff().tolist()
    assert [len(s) for s in drawn(subs, cons)] == [min(10, n // 2) for n in sizes]
    assert cons.cut.tolist() == [True, False, True]
    assert cons.truncated_share == pytest.approx(2 / 3)
    assert "cut in 66.7% of the graphs" in repr(cons)
    everything = constraints.vertex_deleted(subs, count="all")
    assert everything.deleted.all()
    assert everything.truncated_share == 0


def test_induced_takes_masks_and_node_ids():
    subs = subgraphs(nx.karate_club_graph(), [[0, 33], [5, 16]])
    mask = torch.isin(subs.node, torch.tensor([0, 5, 6]))
    by_mask, by_ids = constraints.induced(subs, mask), constraints.induced(subs, [[0, 5, 6]])
    assert torch.equal(by_mask.columns, by_ids.columns)
    assert torch.equal(by_mask.columns[:, 0], subs.degree * mask)
    assert constraints.induced(subs, []).count == 0


def test_names_resolve_in_one_place():
    subs = subgraphs(nx.karate_club_graph(), [[0, 33]])
    both = constraints.by_name(subs, "neumann + vertex_deleted", count=3, seed=1)
    expected = constraints.stack(constraints.neumann(subs), constraints.vertex_deleted(subs, count=3, seed=1))
    assert torch.equal(both.columns, expected.columns)
    assert both.names == expected.names
    assert both.deleted is None  # no longer a pure family, so no closed form
    assert constraints.by_name(subs, "vertex_deleted").deleted is not None
    assert constraints.by_name(subs, "none+vertex_deleted").deleted is not None
    assert constraints.by_name(subs, "none").count == 0
    split = constraints.by_name(subs, "neumann_boundary+neumann_degree")
    assert torch.equal(split.columns, constraints.neumann(subs).columns)


def test_columns_are_differentiable_in_edge_weights_and_mixing_weights():
    graph = nx.karate_club_graph()
    # one weight for each directed edge of the batch, moved on its own: the columns are linear in it
    subs = subgraphs(graph, [[5, 16]], weight=torch.rand(graph.number_of_edges(), dtype=torch.float64))

    def columns(weight, mix):
        here = replace(subs, weight=weight)
        cons = constraints.stack(
            constraints.neumann(here),
            constraints.vertex_deleted(here, count=2),
            constraints.induced(here, here.hop == 0),
        )
        return constraints.combine(cons, mix).columns

    weight = subs.weight.clone().requires_grad_()
    mix = torch.rand(5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(columns, (weight, mix), fast_mode=True)


@pytest.mark.parametrize("name", ["neumann", "vertex_deleted"])
def test_asking_for_gradients_changes_no_column(name):
    graph = nx.gnp_random_graph(25, 0.15, seed=1)
    weight = torch.rand(graph.number_of_edges(), generator=torch.Generator().manual_seed(0)) + 0.1
    subs = subgraphs(graph, [[0, 1], [5, 9]], weight=weight)
    assert not torch.equal(subs.row * subs.num_nodes + subs.col, (subs.row * subs.num_nodes + subs.col).sort().values)
    learned = replace(subs, weight=subs.weight.clone().requires_grad_())
    columns = constraints.by_name(subs, name).columns
    torch.testing.assert_close(constraints.by_name(learned, name).columns.detach(), columns, rtol=0, atol=1e-12)


def test_combine_mixes_columns():
    subs = subgraphs(nx.karate_club_graph(), [[0, 33]])
    cons = constraints.neumann(subs)
    mixed = constraints.combine(cons, torch.tensor([2.0, -1.0]))
    assert torch.equal(mixed.columns[:, 0], 2 * cons.columns[:, 0] - cons.columns[:, 1])
    assert mixed.count == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s: constraints.custom(s, torch.ones(3)), "one row for each node"),
        (lambda s: constraints.custom(s, torch.full((s.num_nodes,), torch.nan)), "NaN or infinity"),
        (lambda s: constraints.custom(s, torch.ones(s.num_nodes), names=["a", "b"]), "2 names for 1 columns"),
        (lambda s: constraints.vertex_deleted(s, count=-1), "0 or more"),
        (lambda s: constraints.vertex_deleted(s, count="some"), '"all"'),
        (lambda s: constraints.vertex_deleted(s, count="5"), "number of vertices.*got '5'"),
        (lambda s: constraints.induced(s, [3, 7]), r"one set alone is \[\[3, 7\]\]"),
        (lambda s: constraints.induced(s, torch.ones(s.num_nodes)), "boolean"),
        (lambda s: constraints.induced(s, torch.ones(2, dtype=torch.bool)), "one row for each"),
        (lambda s: constraints.by_name(s, "dirichlet"), "unknown name 'dirichlet'; choose from none, neumann"),
        (lambda s: constraints.combine(constraints.neumann(s), torch.ones(3)), "k = 2"),
        (lambda s: constraints.stack(), "at least one"),
    ],
)
def test_bad_input_says_what_to_do(make, message):
    with pytest.raises(InputError, match=message):
        make(subgraphs(nx.karate_club_graph(), [[0, 33]]))


def test_custom_takes_numpy_columns():
    subs = subgraphs(TEN_CYCLE, [[1, 2]])
    columns = np.arange(subs.num_nodes)
    assert constraints.custom(subs, columns).columns[:, 0].tolist() == columns.tolist()


def test_stack_refuses_different_batches():
    one, two = subgraphs(TEN_CYCLE, [[1, 2]]), subgraphs(TEN_CYCLE, [[1, 2], [0, 1]])
    with pytest.raises(InputError, match="different batches"):
        constraints.stack(constraints.neumann(one), constraints.neumann(two))


@pytest.mark.parametrize("name", ["none", "neumann", "vertex_deleted", "neumann+vertex_deleted"])
def test_an_empty_batch_and_edgeless_graphs_have_constraints_too(name):
    ring = Graph.from_edges(torch.tensor(list(TEN_CYCLE.edges)))
    nothing = extract(ring, torch.zeros(0, 2, dtype=torch.long))
    assert constraints.by_name(nothing, name).columns.shape[0] == 0
    assert constraints.by_name(nothing, name).truncated_share == 0
    bare = subgraphs(nx.empty_graph(4), [[0, 1], [2, 3]])
    assert not constraints.by_name(bare, name).columns.any()
