"""What the paper claims of expressivity, one claim a test: shown, or refuted by a counterexample."""

from dataclasses import replace
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch

from graphs import batch_of
from llwlc import constraints, spectral_filter
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.models._lanczosnet import LanczosConv
from llwlc.nn._conv import LLwLCConv
from research.expressivity.atlas import find_unseparated_by_classes, find_unseparated_by_fingerprint
from research.expressivity.families import Pair, adjacency, atlas, csl, paper, relabel, strongly_regular
from research.expressivity.separate import separate
from research.expressivity.spectra import deleted_hashes, deleted_spectra
from research.expressivity.wl import wl1, wl1_classes, wl3

CYCLES, SQUARES = paper()


class RandomNet(torch.nn.Module):
    """Two blocks with random weights and a mean over each graph's nodes: what a score would be read from."""

    def __init__(self, channels, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.first = LLwLCConv(channels, 8, num_filters=3, skip=True).double().eval()
        self.second = LLwLCConv(8, 8, num_filters=3, skip=True).double().eval()

    @torch.no_grad()
    def forward(self, subs, cons, x):
        basis = eigenbasis(subs, cons, complete=True, start=x, laplacian="combinatorial", dtype=torch.float64)
        h = torch.tanh(self.second(torch.tanh(self.first(x, basis)), basis))
        return torch.stack([part.mean(0) for part in h.split(subs.ptr.diff().tolist())])


def ones(subs):
    return torch.ones(subs.num_nodes, 1, dtype=torch.float64)


def degrees(subs):
    return subs.degree.double()[:, None]


def apart(rows):
    """The smallest distance of any two rows."""
    return torch.pdist(rows, p=torch.inf).min().item()


# Neumann constraints and k-regular graphs (proposition 1)


def test_c10_and_two_c5_have_different_neumann_columns_and_spectra():
    """The appendix: 2f(4) − f(2) − f(3) in C5, where the two-hop node is one and the same, f(2) + f(3) − f(4) − f(5) in
    C10.
    """
    graphs = [nx.cycle_graph(10), nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5))]
    subs = batch_of(graphs, [(0, 1), (0, 1)])
    column = constraints.neumann(subs, degree=False).columns[:, 0].split(10)
    assert [sorted(c[c != 0].abs().tolist()) for c in column] == [[1, 1, 1, 1], [1, 1, 2]]
    assert not wl1(CYCLES.a, CYCLES.b)
    assert separate(CYCLES, "neumann", check=0).separated


def test_the_plain_laplacian_separates_c10_and_two_c5_as_well():
    """So the paper's example does not need constraints: its own eigenvalue 0 has multiplicity 2 in two C5."""
    assert separate(CYCLES, "none").separated


def test_neumann_constraints_separate_rook_and_shrikhande_where_the_enclosing_subgraphs_do_not():
    assert not wl3(SQUARES.a, SQUARES.b)
    assert not separate(SQUARES, "enclosing").separated
    assert separate(SQUARES, "neumann", check=0).separated


def test_all_skip_link_graphs_are_separated_without_constraints():
    assert all(separate(pair, "none").separated for pair in csl())
    assert not any(wl1(pair.a, pair.b) for pair in csl())


@torch.no_grad()
def test_lanczosnet_tells_two_regular_graphs_apart_where_a_node_is_marked_and_not_by_constant_input():
    """The paper says that it cannot: its operator V f(R) Vᵀ is a function of L, and its entries follow the spectrum."""
    graphs = [nx.cycle_graph(10), nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5))]
    graphs.append(nx.relabel_nodes(graphs[0], dict(enumerate(np.random.default_rng(0).permutation(10).tolist()))))
    subs = batch_of(graphs, [(0, 0)] * 3)
    basis = eigenbasis(subs, constraints.none(subs), complete=True, laplacian="normalized", dtype=torch.float64)
    torch.manual_seed(0)
    conv = LanczosConv(1, 4, short=(1, 2), long=(3, 5)).double()
    blind = conv(ones(subs), subs, basis)
    assert (blind - blind[0]).abs().max() < 1e-12
    marked = [conv((subs.node % 10 == i).double()[:, None], subs, basis).relu() for i in range(10)]
    ring, two, copy = torch.stack(marked).sum(0).reshape(3, 10, 4).sum(1)
    assert torch.allclose(ring, copy, atol=1e-10)
    assert (ring - two).abs().max() > 1e-4


# Automorphic nodes (proposition 3)


def orbits_of_c6(keep_link):
    """C6 around an adjacent, a second-neighbour and an antipodal pair."""
    cycle = nx.cycle_graph(6)
    subs = batch_of([cycle] * 3, [(0, 1), (0, 2), (0, 3)])
    if not keep_link:
        return subs
    ends = [(6 * b + i, 6 * b + j) for b in range(3) for i in range(6) for j in sorted(cycle[i])]
    return replace(subs, row=torch.tensor([i for i, _ in ends]), col=torch.tensor([j for _, j in ends]))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("start", ["ones", "degrees"])
def test_orbits_of_c6_differ_under_neumann_constraints_and_not_without(seed, start):
    subs, net = orbits_of_c6(keep_link=True), RandomNet(1, seed)
    x = {"ones": ones, "degrees": degrees}[start](subs)
    assert apart(net(subs, constraints.neumann(subs), x)) > 1e-4
    assert torch.pdist(net(subs, constraints.none(subs), x), p=torch.inf).max() < 1e-12


def test_removing_the_link_alone_tells_the_adjacent_pair_from_the_others():
    """As link prediction does it, with the link out of its own subgraph: C6 becomes a path, and two orbits remain
    together.
    """
    subs, net = orbits_of_c6(keep_link=False), RandomNet(1, 0)
    plain = net(subs, constraints.none(subs), degrees(subs))
    assert (plain[1] - plain[2]).abs().max() < 1e-12
    assert (plain[0] - plain[1]).abs().max() > 1e-4
    assert apart(net(subs, constraints.neumann(subs), degrees(subs))) > 1e-4


def test_the_boundary_of_the_opposite_pair_of_c6_is_empty():
    """In the paper's numbers, 2-1-3-5-6-4-2: (2, 6) has 3 beside 1 and 5, (2, 4) has 3 and 5 beside 1 and 6, and for
    (2, 5) all others are neighbours of an end, so that there is no edge to a boundary, (1, 3) least of all.
    """
    ring = nx.cycle_graph([2, 1, 3, 5, 6, 4])
    subs = batch_of([ring] * 3, [(2, 6), (2, 4), (2, 5)])
    far, near, opposite = constraints.neumann(subs, degree=False).columns[:, 0].reshape(3, 6)
    assert far.abs().tolist() == [1, 0, 2, 0, 1, 0]
    assert near.abs().tolist() == [1, 0, 1, 0, 1, 1]
    assert opposite.tolist() == [0] * 6
    assert subs.hop.reshape(3, 6)[2].tolist() == [1, 0, 1, 1, 0, 1]


def distance_label(graph, pair):
    """The two distances of every node to the pair, unordered: what SEAL's labels are of."""
    both = [nx.single_source_shortest_path_length(graph, end) for end in pair]
    return {x: str(sorted(distance[x] for distance in both)) for x in graph}


def test_c6_message_passing_needs_distance_labels_for_its_orbits():
    """Colours of nodes are all equal, so a score of two embeddings is the same for all pairs; colours of the graph with
    labels of a pair are not.
    """
    ring = nx.cycle_graph(6)
    nx.set_node_attributes(ring, "", "label")
    colours = nx.weisfeiler_lehman_subgraph_hashes(ring, node_attr="label", iterations=6)
    assert len({tuple(colour) for colour in colours.values()}) == 1
    hashes = set()
    for other in (1, 2, 3):
        nx.set_node_attributes(ring, distance_label(ring, (0, other)), "label")
        hashes.add(nx.weisfeiler_lehman_graph_hash(ring, node_attr="label"))
    assert len(hashes) == 3


def test_c6_buddy_counts_differ_between_orbits():
    """The numbers of nodes at each pair of distances up to two, which its sketches estimate."""
    ring = nx.cycle_graph(6)
    counts = [sorted(x for x in distance_label(ring, (0, other)).values() if "0" not in x) for other in (1, 2, 3)]
    assert counts[0] == ["[1, 2]", "[1, 2]", "[2, 3]", "[2, 3]"]
    assert counts[1] == ["[1, 1]", "[1, 3]", "[1, 3]", "[2, 2]"]
    assert counts[2] == ["[1, 2]"] * 4


def test_features_adhere_to_the_constraints_before_the_activation_and_not_after():
    """Rows of V f(R) Vᵀ X lie in the null space of Cᵀ; their positive parts do not."""
    subs = batch_of([nx.cycle_graph(10)], [(0, 1)])
    cons = constraints.neumann(subs)
    basis = eigenbasis(subs, cons, complete=True, laplacian="combinatorial", dtype=torch.float64)
    x = torch.randn(10, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    features = spectral_filter(basis, lambda values: torch.exp(-values), x)
    columns = cons.columns.double()
    assert (columns.mT @ features).abs().max() < 1e-10
    assert (columns.mT @ features.relu()).abs().max() > 0.1


# Vertex-deleted constraints and 2-WL


@pytest.mark.parametrize(("k", "separated"), [(1, False), (2, False), (3, False), (4, True), (5, True)])
def test_rook_and_shrikhande_by_spectra(k, separated):
    assert separate(SQUARES, f"deleted-{k}", check=0).separated == separated


def test_rook_and_shrikhande_by_filter_entries_need_two():
    assert not separate(SQUARES, "filter-1").separated
    assert separate(SQUARES, "filter-2", check=0).separated


def test_constraint_matrices_of_rook_and_shrikhande_have_the_same_spectrum():
    """The paper says they differ. CᵀC of a k-subset depends on degrees alone, and all degrees are 6."""
    for a in (SQUARES.a, SQUARES.b):
        C = a.sum(1)[:, None] - np.diag(a.sum(1))
        # 6(J − I): once 6 · 15, otherwise 6
        assert np.linalg.svd(C, compute_uv=False) == pytest.approx([90.0] + [6.0] * 15)


def test_in_a_strongly_regular_graph_a_spectrum_depends_on_the_induced_subgraph_alone():
    """Why k ≤ 3 cannot separate graphs of equal parameters: these fix the number of every graph on at most 3
    vertices.
    """
    numbers: dict[tuple[int, ...], list[float]] = {}
    for a in (SQUARES.a, SQUARES.b):
        subsets = np.array(list(combinations(range(16), 4)))
        for subset, h in zip(subsets, deleted_hashes(a, subsets), strict=True):
            inside = nx.from_numpy_array(a[np.ix_(subset, subset)])
            key = (*sorted(d for _, d in inside.degree), sum(nx.triangles(inside).values()))
            numbers.setdefault(key, []).append(h)
    assert all(max(h) - min(h) < 1e-9 for h in numbers.values())
    assert len({round(h[0], 6) for h in numbers.values()}) == len(numbers)


@pytest.mark.data
def test_fifteen_strongly_regular_graphs(data_root):
    data_root("strongly_regular/sr251256.g6")
    pairs = strongly_regular("sr251256")
    assert len(pairs) == 105
    assert not any(wl3(p.a, p.b) or separate(p, "deleted-3").separated for p in pairs)
    assert all(separate(p, "filter-2").separated for p in pairs)


def test_all_columns_leave_nothing():
    a, b = adjacency(nx.path_graph(5)), adjacency(nx.star_graph(4))
    assert wl1(a, b)
    everything = np.arange(5)[None]
    assert deleted_hashes(a, everything)[0] == pytest.approx(0, abs=1e-9)
    assert deleted_hashes(b, everything)[0] == pytest.approx(0, abs=1e-9)
    assert not separate(Pair("", a, b), "deleted-5").separated


# "At least as expressive as 1-WL" (proposition 2)


def embeddings(graphs, net, inputs):
    subs = batch_of([nx.from_numpy_array(a) for a in graphs], [(0, 0)] * len(graphs))
    return net(subs, constraints.none(subs), inputs(subs))


def test_with_constant_input_and_no_constraints_it_sees_nothing():
    """False as printed: L1 = 0, so every filter returns a constant, and the path and the star, which 1-WL separates,
    stay together.
    """
    path, star = adjacency(nx.path_graph(4)), adjacency(nx.star_graph(3))
    assert wl1(path, star)
    rows = embeddings([path, star], RandomNet(1, 0), ones)
    assert (rows[0] - rows[1]).abs().max() < 1e-12


def test_spectra_alone_are_not_as_expressive_as_1wl():
    """76 pairs of the atlas that 1-WL separates are cospectral; the smallest have 6 nodes."""
    graphs = atlas(6)
    cospectral = find_unseparated_by_fingerprint(graphs, "none") - find_unseparated_by_classes(graphs, wl1_classes)
    assert len(cospectral) == 2
    for i, j in cospectral:
        spectra = [np.linalg.eigvalsh(np.diag(a.sum(1)) - a) for a in (graphs[i], graphs[j])]
        assert spectra[0] == pytest.approx(spectra[1], abs=1e-9)
        assert wl1(graphs[i], graphs[j])


def test_with_degrees_as_input_and_a_complete_basis_it_is():
    """True without constraints: f(λ) = λ and 1 give Dh − Ah and h, and with the degrees at hand that is message
    passing.

    Random weights separate every pair of graphs on 6 nodes that 1-WL separates, and no other.
    """
    graphs = [a for a in atlas(6) if len(a) == 6]
    rows = embeddings(graphs, RandomNet(1, 1), degrees)
    classes = torch.tensor(wl1_classes(graphs))
    distances = torch.cdist(rows, rows, p=torch.inf)
    same = classes[:, None] == classes
    assert distances[same].max() < 1e-10 < 1e-8 < distances[~same].min()


@pytest.mark.parametrize("policy", ["neumann", "deleted-1", "deleted-2", "filter-0", "filter-1", "filter-2"])
def test_constrained_bases_separate_all_graphs_with_at_most_seven_nodes(policy):
    """Observed, not proved in general: 783,126 pairs, none together; 1-WL leaves 26."""
    assert not find_unseparated_by_fingerprint(atlas(), policy)


def test_one_deleted_vertex_refines_the_spectrum():
    graphs = atlas(6)
    for i, j in find_unseparated_by_fingerprint(graphs, "none"):
        assert np.abs(deleted_spectra(graphs[i], 1) - deleted_spectra(graphs[j], 1)).max() > 1e-8


# A random start


def random_start(a):
    """Ritz values of a few steps from the paper's random start, which belongs to node numbers."""
    subs = batch_of([nx.from_numpy_array(a)], [(0, 1)])
    return np.sort(eigenbasis(subs, steps=4, start="random", dtype=torch.float64).values[0].numpy())


def test_a_random_start_separates_a_graph_from_itself_and_is_caught():
    verdict = separate(Pair("", SQUARES.a, relabel(SQUARES.a, 1)), random_start, check=0)
    assert verdict.distance > 1e-3
    assert not verdict.reliable
    assert not verdict.separated
