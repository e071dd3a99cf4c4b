"""EncodedLinks: link_bases' own output, found again by a hash of all it depends on, whole or not at all."""

import os
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest
import torch

from kernel_cases import KINDS, NASTY, graph_of, some_pairs
from llwlc._kernels.numba import packed_subgraphs
from llwlc.bases import _cache as cache
from llwlc.bases import _encoded_links as encoded_links
from llwlc.bases import _kernel_compilation as warmup
from llwlc.bases._cache import cache_key, load_or_encode, measure_store_seconds
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import (
    FIELD_TYPES,
    EncodedLinks,
    encode_chunk,
    encode_pairs,
    encode_subgraphs,
    estimate_bytes,
)
from llwlc.bases._link_bases import link_bases, link_bases_checked
from llwlc.constraints._columns import custom
from llwlc.errors import InputError, StorageError
from llwlc.graph._graph import Graph
from llwlc.subgraphs._labels import distance_encoding

CONFIG = BasisConfig()
DELETED = BasisConfig(constraints="vertex_deleted")


def graph(*, weighted: bool = False) -> Graph:
    g = nx.barabasi_albert_graph(50, 2, seed=3)
    edges = torch.tensor(list(g.edges))
    return Graph.from_edges(edges, weight=1.0 + torch.arange(len(edges)) / 7 if weighted else None)


PAIRS = torch.cat([graph().edges[::6], torch.tensor([[49, 0], [31, 17]])])


def same(a: EncodedLinks, b: EncodedLinks) -> bool:
    return all(torch.equal(getattr(a, name), getattr(b, name)) for name in (*FIELD_TYPES, "ptr"))


def assert_as_specified(g: Graph, pairs: torch.Tensor, config: BasisConfig, epoch: int = 0) -> None:
    """What the kernel makes is what subgraphs and bases give when they are made first, to the last bit."""
    pairs = pairs.sort(1).values
    made = encode_chunk(g, pairs, config, epoch=epoch)
    expected = encode_subgraphs(*link_bases_checked(g, pairs, config, epoch=epoch, dtype=torch.float32), config)
    assert list(made) == list(expected) == list(FIELD_TYPES)
    for name, dtype in FIELD_TYPES.items():
        assert made[name].dtype == dtype, name
        assert torch.equal(made[name], expected[name]), name


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("config", [CONFIG, DELETED, BasisConfig(steps=4, start="random", laplacian="combinatorial")])
def test_a_batch_is_what_link_bases_gives(config, weighted, monkeypatch):
    monkeypatch.setattr(encoded_links, "CHUNK", 5)  # so that chunks meet
    g = graph(weighted=weighted)
    data = encode_pairs(g, PAIRS, config, epoch=2)
    index = torch.tensor([7, 0, 3, len(PAIRS) - 1])
    batch = data.batch(index)
    subs, basis = link_bases(
        g,
        PAIRS[index].sort(1).values,
        constraints=config.constraints,
        steps=config.steps,
        start=config.start,
        laplacian=config.laplacian,
        epoch=2,
    )
    for name in ("values", "vectors", "mask", "residual", "ptr"):
        assert torch.equal(getattr(batch.basis, name), getattr(basis, name)), name
    assert torch.equal(batch.node, subs.node)
    assert torch.equal(batch.label, distance_encoding(subs, config.distance_cap))
    assert torch.equal(batch.degree, subs.degree.float())
    assert torch.equal(torch.stack([batch.node[batch.u], batch.node[batch.v]], 1), PAIRS[index].sort(1).values)
    assert (len(data), batch.num_links) == (len(PAIRS), 4)


@pytest.mark.parametrize("config", [CONFIG, DELETED, BasisConfig(start="random")])
def test_both_directions_of_a_link_are_the_same_bits(config):
    assert same(encode_pairs(graph(), PAIRS, config), encode_pairs(graph(), PAIRS.flip(1), config))


def test_the_hash_sees_graph_pairs_weights_and_configuration():
    g, w = graph(), graph(weighted=True)
    longer = Graph.from_edges(g.edges, num_nodes=51)
    keys = [
        cache_key(g, PAIRS, CONFIG, 0),
        cache_key(g.with_edges(g.edges[1:]), PAIRS, CONFIG, 0),
        cache_key(longer, PAIRS, CONFIG, 0),
        cache_key(w, PAIRS, CONFIG, 0),
        cache_key(replace(w, weight=2 * w.weight), PAIRS, CONFIG, 0),
        cache_key(g, PAIRS[1:], CONFIG, 0),
        cache_key(g, PAIRS.flip(0), CONFIG, 0),
        *(cache_key(g, PAIRS, replace(CONFIG, **{k: v}), 0) for k, v in OTHERS.items()),
    ]
    assert len(set(keys)) == len(keys)
    assert cache_key(graph(), PAIRS.clone(), BasisConfig(), 0) == keys[0]
    # features enter no basis, and names only where something is drawn
    named = replace(g, x=torch.ones(50, 2), names=[f"n{i}" for i in range(50)])
    assert cache_key(named, PAIRS, CONFIG, 0) == keys[0]
    for name, value in (("start", "random"), ("constraints", "vertex_deleted"), ("max_nodes_per_hop", 7)):
        drawn = replace(CONFIG, **{name: value})
        assert cache_key(named, PAIRS, drawn, 0) != cache_key(g, PAIRS, drawn, 0)


OTHERS = {
    "hops": 1,
    "constraints": "none",
    "count": "all",
    "steps": 8,
    "start": "random",
    "laplacian": "combinatorial",
    "max_nodes_per_hop": 7,
    "seed": 1,
    "stored_bits": 16,
    "distance_cap": 2,
}


def test_every_option_is_in_the_hash():
    # `redraw` says which epochs have bases of their own; the epoch is in the hash
    assert {*OTHERS, "redraw"} == set(BasisConfig.__dataclass_fields__)


@pytest.mark.parametrize("memory_budget", [0, 1 << 30], ids=["mapped", "in memory"])
def test_in_half_precision_the_vectors_are_rounded_and_nothing_else(tmp_path, memory_budget):
    half = replace(CONFIG, stored_bits=16)
    whole, kept = encode_pairs(graph(), PAIRS, CONFIG), encode_pairs(graph(), PAIRS, half)
    for data in (
        kept,
        *(load_or_encode(graph(), PAIRS, half, cache=tmp_path, memory_budget=memory_budget) for _ in range(2)),
    ):
        assert torch.equal(data.vectors, whole.vectors.half())
        assert same(replace(data, vectors=whole.vectors), whole)
        expected = estimate_bytes(len(PAIRS), float(whole.sizes.double().mean()), CONFIG.steps, 16)
        assert data.num_bytes == pytest.approx(expected, abs=1)
    assert len(entries(tmp_path)) == 1
    assert kept.num_bytes < 0.65 * whole.num_bytes


def test_half_precision_bases_are_read_as_float32():
    data, index = encode_pairs(graph(), PAIRS, replace(CONFIG, stored_bits=16)), torch.tensor([3, 0, 5])
    rounded = replace(data, vectors=data.vectors.float())
    largest = int(data.sizes.max())
    for one, two in (
        (data.batch(index), rounded.batch(index)),
        (data.uniform_batch(index, largest), rounded.uniform_batch(index, largest)),
    ):
        assert one.basis.vectors.dtype == torch.float32
        assert torch.equal(one.basis.vectors, two.basis.vectors)
    part, at = data.as_float32(index)
    assert at.tolist() == [0, 1, 2]
    assert torch.equal(part.batch(at).basis.vectors, rounded.batch(index).basis.vectors)
    assert torch.equal(part.node, rounded.batch(index).node.int())
    again, there = rounded.as_float32(index)
    assert again is rounded
    assert there is index


def test_the_epoch_counts_only_where_a_basis_depends_on_it():
    assert cache_key(graph(), PAIRS, CONFIG, 0) == cache_key(graph(), PAIRS, CONFIG, 1)
    assert cache_key(graph(), PAIRS, DELETED, 0) != cache_key(graph(), PAIRS, DELETED, 1)
    assert same(encode_pairs(graph(), PAIRS, CONFIG, epoch=0), encode_pairs(graph(), PAIRS, CONFIG, epoch=1))
    assert not same(encode_pairs(graph(), PAIRS, DELETED, epoch=0), encode_pairs(graph(), PAIRS, DELETED, epoch=1))


def test_bases_are_computed_once_and_found_again(tmp_path, monkeypatch):
    first = load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path / "new" / "cache")
    assert same(first, encode_pairs(graph(), PAIRS, CONFIG))

    def never(*_, **__):
        raise AssertionError("computed a second time")

    monkeypatch.setattr(encoded_links, "encode_chunk", never)
    assert same(load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path / "new" / "cache"), first)
    with pytest.raises(AssertionError, match="a second time"):
        load_or_encode(graph(), PAIRS, replace(CONFIG, steps=8), cache=tmp_path / "new" / "cache")


def test_over_the_memory_budget_the_arrays_are_mapped_and_the_same(tmp_path):
    memory = load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path)
    mapped = load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path, memory_budget=0)
    assert same(mapped, memory)
    index = torch.tensor([4, 1])
    assert torch.equal(mapped.batch(index).basis.vectors, memory.batch(index).basis.vectors)
    (folder,) = entries(tmp_path)
    maps = Path("/proc/self/maps")
    if maps.exists():
        assert str(folder / "vectors") in maps.read_text()


def test_writing_to_a_mapped_tensor_does_not_reach_the_cache(tmp_path):
    mapped = load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path, memory_budget=0)
    mapped.values.fill_(7)
    assert same(load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path), encode_pairs(graph(), PAIRS, CONFIG))


DAMAGE = {
    "cut": lambda file: file.write_bytes(file.read_bytes()[:-3]),
    "grown": lambda file: file.write_bytes(file.read_bytes() + file.read_bytes()[:40]),
    "empty": lambda file: file.write_bytes(b""),
    "garbage": lambda file: file.write_bytes(b"\xff{[" * 99),
    "gone": lambda file: file.unlink(),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
    "a flipped bit": lambda file: file.write_bytes(flipped(file.read_bytes())),
}


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]


@pytest.mark.parametrize("name", [*FIELD_TYPES, "digests.json"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_bases_are_computed_again_and_stored_whole(tmp_path, name, damage):
    load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path)
    (folder,) = entries(tmp_path)
    DAMAGE[damage](folder / name)
    with pytest.warns(UserWarning, match=rf"{folder} are damaged \(.*{name}.*\); they are computed again"):
        found = load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path)
    assert same(found, encode_pairs(graph(), PAIRS, CONFIG))
    assert entries(tmp_path) == [folder]
    assert same(load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path), found)  # without a warning


def test_a_file_in_place_of_a_cache_entry_is_replaced(tmp_path):
    folder = tmp_path / cache_key(graph(), PAIRS, CONFIG, 0)
    for make in (folder.mkdir, folder.touch, lambda: folder.symlink_to(tmp_path / "nowhere")):
        make()
        with pytest.warns(UserWarning, match="they are computed again"):
            load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path)
        assert same(load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path), encode_pairs(graph(), PAIRS, CONFIG))
        shutil.rmtree(folder)


def test_damaged_bases_that_cannot_be_replaced_are_kept_in_memory(tmp_path, monkeypatch):
    """As those of a read-only cache, or of another user's."""
    load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path)
    (folder,) = entries(tmp_path)
    DAMAGE["cut"](folder / "values")
    before = (folder / "values").read_bytes()
    monkeypatch.setattr(cache, "remove", lambda path: None)
    with pytest.warns(UserWarning, match="damaged") as caught:
        found = load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path)
    assert [str(warning.message).split("; ")[1] for warning in caught] == [
        "they are computed again",
        "they are kept in memory",
    ]
    assert same(found, encode_pairs(graph(), PAIRS, CONFIG))
    assert (folder / "values").read_bytes() == before


def test_bases_that_another_process_clears_meanwhile_are_kept_in_memory(tmp_path, monkeypatch):
    write = cache._write

    def cleared(folder, *given):
        write(folder, *given)
        cache.delete_entries(tmp_path)

    monkeypatch.setattr(cache, "_write", cleared)
    with pytest.warns(UserWarning, match="they are kept in memory"):
        found = load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path)
    assert same(found, encode_pairs(graph(), PAIRS, CONFIG))


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="Windows has other rights")
def test_a_cache_that_this_user_may_not_read_is_refused_with_the_remedy(tmp_path):
    load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path / "cache")
    (tmp_path / "cache").chmod(0)
    mine = os.geteuid()
    try:
        if not mine:
            os.seteuid(65534)  # root may read everything
        with pytest.raises(StorageError, match=r"Permission denied.*(choose another place|LLWLC_CACHE)"):
            load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path / "cache")
    finally:
        os.seteuid(mine)
        (tmp_path / "cache").chmod(0o700)


def test_storing_is_timed_also_on_a_full_disk(monkeypatch):
    data = encode_pairs(graph(), PAIRS, CONFIG)
    assert measure_store_seconds(data) > 0

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    assert measure_store_seconds(data) > 0


@pytest.mark.parametrize(("error", "seen"), [(KeyboardInterrupt, KeyboardInterrupt), (OSError, StorageError)])
def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch, error, seen):
    monkeypatch.setattr(encoded_links, "CHUNK", 5)
    calls = []

    def breaks(*args, **options):
        calls.append(args)
        if len(calls) == 3:
            raise error("stopped")
        return encode_chunk(*args, **options)

    monkeypatch.setattr(encoded_links, "encode_chunk", breaks)
    with pytest.raises(seen, match="stopped"):
        load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path)
    assert entries(tmp_path) == []
    assert same(load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path), encode_pairs(graph(), PAIRS, CONFIG))


def test_another_process_may_be_first(tmp_path, monkeypatch):
    expected = encode_pairs(graph(), PAIRS, CONFIG)

    def slow(*args, **options):
        monkeypatch.setattr(encoded_links, "encode_chunk", encode_chunk)
        load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path)  # the other one, while this one computes
        return encode_chunk(*args, **options)

    monkeypatch.setattr(encoded_links, "encode_chunk", slow)
    assert same(load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path), expected)
    assert len(entries(tmp_path)) == 1


def test_the_cache_forgets_what_was_not_used_for_longest(tmp_path, monkeypatch):
    configs = [replace(CONFIG, seed=seed) for seed in range(3)]
    folders = [tmp_path / cache_key(graph(), PAIRS, config, 0) for config in configs]
    half_written, abandoned = tmp_path / ".new-1", tmp_path / ".old-2"
    for config, folder in zip(configs[:2], folders, strict=False):
        load_or_encode(graph(), PAIRS, config, cache=tmp_path)
        os.utime(folder, (1, 1))
    for folder in (half_written, abandoned):
        folder.mkdir()
    os.utime(abandoned, (2, 2))
    load_or_encode(graph(), PAIRS, configs[0], cache=tmp_path)  # used again, so the other one is the older now
    size = sum(file.stat().st_size for file in folders[0].iterdir())
    monkeypatch.setattr(cache, "CACHE_LIMIT", 2 * size)
    load_or_encode(graph(), PAIRS, configs[2], cache=tmp_path)
    assert entries(tmp_path) == sorted([folders[0], folders[2], half_written])  # the limit holds with the new one
    monkeypatch.setattr(cache, "CACHE_LIMIT", 0)
    with pytest.warns(
        UserWarning, match="more than the cache may hold .0 GB, LLWLC_CACHE_LIMIT.; they are kept in memory"
    ):
        last = load_or_encode(graph(), PAIRS, configs[1], cache=tmp_path)
    assert same(last, encode_pairs(graph(), PAIRS, configs[1]))
    assert entries(tmp_path) == sorted([folders[0], folders[2], half_written])


def test_bases_of_a_run_that_is_gone_are_the_first_to_go(tmp_path, monkeypatch):
    configs = [replace(CONFIG, seed=seed) for seed in range(3)]
    folders = [tmp_path / "cache" / cache_key(graph(), PAIRS, config, 0) for config in configs]
    (tmp_path / "kept").mkdir()
    for config, owner in zip(configs[:2], ("kept", "gone"), strict=True):
        load_or_encode(graph(), PAIRS, config, cache=tmp_path / "cache", owner=tmp_path / owner)
    os.utime(folders[0], (1, 1))  # used long ago, but its run is there
    size = sum(file.stat().st_size for file in folders[0].iterdir())
    monkeypatch.setenv("LLWLC_CACHE_LIMIT", str(2.5 * size / 2**30))
    load_or_encode(graph(), PAIRS, configs[2], cache=tmp_path / "cache")
    assert entries(tmp_path / "cache") == sorted([folders[0], folders[2]])


def test_a_full_disk_keeps_bases_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "free_disk", lambda path: 10)
    with pytest.warns(UserWarning, match="more than the disk of .* has room for; they are kept in memory"):
        found = load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path)
    assert same(found, encode_pairs(graph(), PAIRS, CONFIG))
    assert entries(tmp_path) == []


@pytest.mark.parametrize("said", ["much", "-1", "nan", "1e30"])
def test_a_cache_limit_that_is_not_a_number_is_refused(said, tmp_path, monkeypatch):
    monkeypatch.setenv("LLWLC_CACHE_LIMIT", said)
    with pytest.raises(InputError, match="LLWLC_CACHE_LIMIT is a number of gigabytes"):
        load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path)


def test_an_empty_cache_limit_means_the_default(tmp_path, monkeypatch):
    monkeypatch.setenv("LLWLC_CACHE_LIMIT", "")
    assert cache.cache_limit() == cache.CACHE_LIMIT
    assert len(load_or_encode(graph(), PAIRS, CONFIG, cache=tmp_path)) == len(PAIRS)


def test_no_links_give_empty_bases(tmp_path):
    none = PAIRS[:0]
    assert len(encode_pairs(graph(), none, CONFIG)) == 0
    assert len(load_or_encode(graph(), none, CONFIG, cache=tmp_path)) == 0
    assert len(load_or_encode(graph(), none, CONFIG, cache=tmp_path)) == 0


def test_the_estimate_is_what_the_arrays_take():
    data = encode_pairs(graph(), PAIRS, CONFIG)
    mean = float(data.sizes.double().mean())
    assert abs(estimate_bytes(len(data), mean, CONFIG.steps) - data.num_bytes) <= 1


def test_wrong_pairs_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InputError, match="outside the graph"):
        load_or_encode(graph(), torch.tensor([[0, 50]]), CONFIG, cache=tmp_path)
    assert entries(tmp_path) == []


@pytest.mark.parametrize("cap", [0, 22])
def test_distances_that_do_not_fit_their_class_are_refused(cap):
    with pytest.raises(InputError, match=f"distance_cap must be a whole number from 1 to 21, got {cap}"):
        BasisConfig(distance_cap=cap)


def test_the_largest_distance_cap_fits():
    config = BasisConfig(distance_cap=21)
    subs, _ = link_bases(graph(), PAIRS.sort(1).values)
    assert torch.equal(encode_pairs(graph(), PAIRS, config).label.long(), distance_encoding(subs, 21))


def test_kernels_are_compiled_elsewhere_once_and_again_only_after_a_failure(tmp_path, monkeypatch):
    from llwlc._support import compiler

    ring = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [0, 2]]))
    codes, calls = [1, 0, 0], []
    monkeypatch.setattr(warmup, "_READY", set())
    monkeypatch.setattr(compiler, "cache_dir", lambda module: str(tmp_path))
    monkeypatch.setattr(warmup, "run_child", lambda *a, **k: calls.append(a) or codes[len(calls) - 1])
    for _ in range(4):
        warmup.compile_basis_kernels(ring, BasisConfig(steps=3))
    assert len(calls) == 2  # the first failed, the second left its mark
    warmup.compile_basis_kernels(ring, BasisConfig(steps=4, start="random", constraints="vertex_deleted"))
    assert len(calls) == 2  # other values, the same machine code
    warmup.compile_basis_kernels(ring, BasisConfig(constraints=lambda subs: None))
    assert len(calls) == 3


VALUES = """
import torch
from llwlc.bases import _encoded_links as encoded_links, _kernel_compilation as warmup
from llwlc.bases._config import BasisConfig
from llwlc.constraints._columns import custom
from llwlc.graph._graph import Graph
from llwlc._kernels.numba import eigenbasis, extraction, fused_bases
own = lambda subs: custom(subs, torch.ones(subs.num_nodes))
edges = torch.tensor([[i, (i + 1) % 9] for i in range(9)])
named = Graph.from_edges(edges, names=[f"n{i}" for i in range(9)])
for graph in (Graph.from_edges(edges), named):
    for options in (
        {}, {"start": "random", "seed": -(2**63)}, {"constraints": "vertex_deleted", "count": "all"}, {"constraints": "none", "steps": 1},
        {"constraints": "neumann+vertex_deleted", "count": 3, "start": "constraint"}, {"hops": 15, "max_nodes_per_hop": 1},
        {"laplacian": "combinatorial", "max_nodes_per_hop": None}, {"hops": 16}, {"constraints": own, "start": "random"},
    ):
        config = BasisConfig(**options)
        warmup.compile_basis_kernels(graph, config)
        encoded_links.encode_pairs(graph, graph.edges, config, about="")
kernels = [fused_bases.run_links, extraction._count, extraction._fill, eigenbasis._run]
print(sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels))
"""


@pytest.mark.filterwarnings("ignore")
def test_machine_code_depends_on_types_and_not_on_the_values_of_options():
    """So a process that has warmed up compiles nothing, whatever the options: what it computes is what another one
    does, to the last bit.
    """
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", VALUES], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["0"]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("family", "start"), KINDS)
@pytest.mark.parametrize("name", NASTY)
def test_the_kernel_makes_the_specified_fields(name, family, start, weighted):
    g = graph_of(NASTY[name], weighted)
    assert_as_specified(g, some_pairs(g, 6), BasisConfig(constraints=family, start=start, steps=8), epoch=1)


@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("distance_cap", [1, 2, 3, 4, 5, 21])
@pytest.mark.parametrize("name", [*NASTY, "path"])
def test_labels_are_right_up_to_any_distance(name, distance_cap, hops):
    g = graph_of((NASTY | {"path": nx.path_graph(14)})[name])
    config = BasisConfig(hops=hops, distance_cap=distance_cap, steps=2)
    assert_as_specified(g, some_pairs(g, 30), config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # of a neighbour that a full hop leaves to the next one, the distance is not known from the ends alone
        assert_as_specified(g, some_pairs(g, 30), replace(config, max_nodes_per_hop=2))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("budget", [packed_subgraphs.BUDGET, 0])
def test_threads_and_what_is_kept_between_the_passes_change_nothing(threads, weighted, budget, monkeypatch):
    monkeypatch.setattr(packed_subgraphs, "BUDGET", budget)
    g = graph_of(NASTY["hubs"], weighted)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        assert_as_specified(g, some_pairs(g, 200), CONFIG)
        assert_as_specified(g, some_pairs(g, 200)[:0], CONFIG)
    finally:
        torch.set_num_threads(before)


# every type of weights is compiled for, half a minute each
@pytest.mark.parametrize(
    "dtype", [torch.float32, *(pytest.param(d, marks=pytest.mark.slow) for d in (torch.float64, torch.int64))]
)
def test_weighted_degrees_are_summed_as_the_weights_are(dtype):
    g = nx.complete_graph(25)
    weight = torch.logspace(0, 8, g.number_of_edges(), dtype=torch.float64).to(dtype)
    weighted = Graph.from_edges(torch.tensor(sorted(g.edges)), weight=weight)
    assert_as_specified(weighted, weighted.edges[::20], CONFIG)


def test_a_weight_that_is_not_finite_stays_with_its_own_links():
    g = nx.disjoint_union(nx.cycle_graph(6), nx.cycle_graph(7))
    weight = torch.ones(g.number_of_edges())
    weight[0] = float("inf")
    broken = Graph.from_edges(torch.tensor(sorted(g.edges)), weight=weight)
    pairs = torch.tensor([[0, 3], [7, 9]])
    assert_as_specified(broken, pairs, CONFIG)
    assert encode_pairs(broken, pairs, CONFIG).mask.any(1).tolist() == [False, True]


@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("cap", [1, 2, 3, 5, 29, 30, 31])
@pytest.mark.parametrize("name", ["hubs", "star", "edgeless", "tiny, n below κ"])
def test_the_kernel_warns_of_hubs_as_link_bases_does(name, cap, hops, monkeypatch):
    monkeypatch.setattr("llwlc.bases._link_bases.DEFAULT_CAP", cap)  # of one that was chosen nobody is warned
    g = graph_of(NASTY[name])
    pairs, config = some_pairs(g, 30).sort(1).values, BasisConfig(max_nodes_per_hop=cap, hops=hops, steps=2)
    said = []
    for make in (lambda: encode_pairs(g, pairs, config, about=""), lambda: link_bases(g, pairs, config)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            subs = make()
        said.append([str(warning.message) for warning in caught])
    assert said[0] == said[1]
    hop, graph_of_node = subs[0].hop, subs[0].graph
    met = torch.zeros(len(pairs), hops + 1).index_put((graph_of_node, hop), torch.ones(len(hop)), accumulate=True)
    full = int((met[:, 1:] >= cap).any(1).sum())
    assert [text.split("; ")[0] for text in said[0]] == (
        [f"{full} of {len(pairs)} pairs have {cap} or more nodes at one distance from their ends"] if full else []
    )


def test_a_second_hop_without_any_hub_is_described_as_what_it_is(monkeypatch):
    """Its nodes may be more than any node has neighbours: a message that compares them with the largest degree says
    something impossible.
    """
    monkeypatch.setattr("llwlc.bases._link_bases.DEFAULT_CAP", 20)
    tree = Graph.from_edges(torch.tensor(sorted(nx.balanced_tree(5, 3).edges)))
    assert int(tree.degree.max()) == 6
    with pytest.warns(UserWarning, match="1 of 1 pairs have 20 or more nodes at one distance") as caught:
        encode_pairs(tree, torch.tensor([[0, 1]]), BasisConfig(max_nodes_per_hop=20, hops=2, steps=2), about="")
    assert "degree" not in str(caught[0].message)


def test_only_what_the_kernel_cannot_do_is_made_from_subgraphs(monkeypatch):
    def ones(subs):
        return custom(subs, torch.ones(subs.num_nodes))

    calls = []
    monkeypatch.setattr(
        encoded_links, "link_bases_checked", lambda *a, **k: calls.append(a) or link_bases_checked(*a, **k)
    )
    for config in (CONFIG, DELETED, BasisConfig(constraints="none", hops=15)):
        encode_pairs(graph(), PAIRS, config, about="")
    assert not calls
    for config in (
        BasisConfig(constraints=ones),
        BasisConfig(hops=16),
        BasisConfig(constraints="neumann+neumann_degree"),
    ):
        calls.clear()
        encode_pairs(graph(), PAIRS, config, about="")
        assert len(calls) == 1
