"""The benchmark measures what it says: rivals do the same work, ratios follow from times, files hold the table."""

import json
import math
from collections import Counter

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from llwlc import datasets
from llwlc._kernels import cuda
from llwlc.bases._link_bases import link_bases
from llwlc.errors import StorageError
from llwlc.subgraphs._extraction import extract
from llwlc.subgraphs._labels import drnl
from research import bench
from research.bench import baselines, extraction_growth, growth, plain_cpp
from research.bench.clock import highest_memory, measure_peak_memory, time_in_turns, use_threads
from research.bench.epoch import time_epoch
from research.bench.run import OURS, measure_stream_memory, sample_pairs, stream_links
from research.cli.app import app


@pytest.fixture(scope="module")
def cora():
    graph = datasets.load("cora")
    return graph, sample_pairs(graph, 40, 0)


@pytest.fixture(scope="module")
def report():
    return bench.run("cora", links=12, repeats=1, with_growth=False, with_memory=False, with_epoch=False)


def test_half_of_the_sample_are_edges_and_no_pair_is_a_loop(cora):
    graph, pairs = cora
    assert len(pairs) == 40
    assert int(graph.has_edges(pairs).sum()) >= 20
    assert bool((pairs[:, 0] != pairs[:, 1]).all())


def test_the_recipes_find_our_subgraphs(cora):
    graph, pairs = cora
    subs = extract(graph, pairs)
    assert baselines.run_slicing_and_drnl(baselines.to_csr(graph), pairs) == subs.num_nodes
    assert baselines.run_k_hop(graph.edge_index, graph.num_nodes, pairs) == subs.num_nodes
    labels = drnl(subs)
    for b in range(10):
        u, v = pairs[b].tolist()
        inside, label = baselines._slice_and_label(baselines.to_csr(graph), u, v, 2)
        mine = labels[subs.ptr[b] : subs.ptr[b + 1]]
        # ours calls a node unreachable from the cap 2·hops + 1 on, the recipe only where there is no path at all
        assert not Counter(mine[mine > 0].tolist()) - Counter(label.astype(int).tolist())
        assert int((mine > 0).sum()) <= int((label > 0).sum())
        assert inside.nnz == int(((subs.row >= subs.ptr[b]) & (subs.row < subs.ptr[b + 1])).sum())


def test_compared_solvers_work_on_the_same_operator(cora):
    """ARPACK finds the smallest values of dense PLP on the null space, lobpcg comes down to them from above."""
    graph, pairs = cora
    subs, basis = link_bases(graph, pairs[:12])
    large = [(L, Y) for L, Y, _ in baselines.make_problems(subs, basis) if len(Y) > 60]
    assert large
    for L, Y in large:
        Z = np.linalg.svd(Y, full_matrices=True)[0][:, Y.shape[1] :]
        exact = np.linalg.eigvalsh(Z.T @ L.toarray() @ Z)
        assert np.isclose(baselines._eigsh(L, Y, 1e-9, 5).min(), exact.min(), atol=1e-6)
        assert -1e-9 < baselines._lobpcg(L, Y, 1e-4, 5).min() - exact.min() < 0.05


def test_compared_dense_solvers_take_every_graph(cora):
    subs = extract(*cora)
    assert baselines.run_dense_eigh(subs, batch=16) == subs.num_graphs
    assert baselines.run_dense_lanczos(subs, batch=16) == subs.num_graphs
    L, C = baselines._padded(subs, torch.ones(subs.num_nodes, 1).double(), torch.tensor([3, 5]))
    assert torch.allclose(L, L.mT)
    assert C.sum((1, 2)).tolist() == subs.ptr.diff()[[3, 5]].tolist()


@pytest.mark.skipif(plain_cpp.find_compiler() is None, reason="no C++ compiler")
def test_the_cpp_loop_is_the_same_algorithm():
    found = plain_cpp.compare_with_cpp(graphs=16, repeats=1)
    assert found is not None
    assert found.difference < 1e-6
    assert found.ratio == found.ours / found.plain


def test_growth_sees_the_exponents_of_its_own_points(monkeypatch):
    values = {"nodes": (64, 256), "edges": (4, 16), "κ": (4, 8), "k": (1, 4)}
    monkeypatch.setattr(growth, "time_in_turns", lambda works, **_: dict.fromkeys(works, 1.0))
    grown = growth.measure_growth({name: growth.Grid(growth.BASE, some) for name, some in values.items()}, repeats=1)
    assert set(grown.exponents) == {"nodes", "edges", "κ", "k"}
    assert len(grown.points) == 8
    # the same time for four times the graphs' size: a graph takes four times as long
    assert math.isclose(grown.exponents["nodes"], 1.0, rel_tol=0.05)
    assert math.isclose(grown.exponents["κ"], 0.0, abs_tol=1e-9)
    assert growth._model_error([(n, 6 * n, 10, 2, 1e-7 * n) for n in (100, 200, 400)]) < 1e-6


def test_growth_of_extraction_runs_and_sees_the_exponents_of_its_points(monkeypatch):
    def cubes(works, **_):
        for work in works.values():
            work()
        return {name: float(name) ** 3 for name in works}

    monkeypatch.setattr(extraction_growth, "time_in_turns", cubes)
    found = extraction_growth.measure_extraction(scale=1 / 4, repeats=1)
    deleted = [exponent for name, exponent in found.items() if "vertex-deleted" in name]
    assert len(deleted) == 4
    assert all(math.isclose(exponent, 3, rel_tol=1e-9) for exponent in deleted)
    # in a regular graph of degree d the boundary has about 2 d² nodes, and the subgraph as many edges by order
    assert math.isclose(found["Neumann: largest degree × boundary"], 1, rel_tol=0.3)


def test_turns_count_the_best_call():
    calls = []
    times = time_in_turns({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeats=2, at_least=0)
    assert calls == ["a", "b", "a", "b", "a", "b"]
    assert all(0 <= t < 1 for t in times.values())


def test_threads_are_put_back():
    before = torch.get_num_threads()
    with use_threads(2):
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == before


def test_ratios_follow_from_the_times(report):
    assert np.isclose(
        report.ratios["recipe (a) alone"], report.seconds["(a) scipy slices + DRNL"] / report.seconds[OURS]
    )
    assert report.ratios["recipe (a), then (c) eigsh"] > report.ratios["recipe (a) alone"] > 1
    assert {"processor", "cores", "date"} <= set(report.machine)


def test_the_report_is_a_table_a_file_and_a_picture(report, tmp_path):
    rows = bench.table(report)
    assert any("(b) PyG" in what for what, _, _ in rows)
    files = bench.save(report, tmp_path / "new")
    stored = json.loads(files[0].read_text(encoding="utf-8"))
    assert stored["seconds"] == report.seconds
    assert files[1].stat().st_size > 10_000
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        bench.save(report, tmp_path / "file" / "below")


def test_a_small_scale_run_streams_everything(monkeypatch):
    generate = datasets.generate
    monkeypatch.setattr(datasets, "generate", lambda name: generate(name, scale=0.01))
    found = bench.scale("coauthor-like", links=500, batch_size=200)
    assert found.links == 500
    assert found.links_per_second > 0
    assert any("links/s" in value for _, value in bench.scale_table(found))


def nothing() -> None:
    pass


def test_a_fresh_process_does_not_count_the_memory_of_its_parent():
    large = np.ones(1 << 27)  # 1 GB, touched
    assert highest_memory() > 1
    del large
    assert measure_peak_memory(nothing) < 0.9


def test_epochs_are_timed_by_stage():
    found = time_epoch("cora", device="cpu", fraction=0.05, repeats=1)
    assert list(found) == ["encoding 1,295 links", "epoch of 555 links, cpu", "validation of 1,582 links"]
    assert all(spent > 0 for spent in found.values())


def test_the_gpu_report_states_its_distance_from_the_bytes():
    found = bench.GpuReport("g", 1000, 10.0, 20.0, {"pairs to bases": 2e-3}, 1e-4, 4e9, 4e12)
    assert found.floor == 1e-3
    rows = dict(bench.gpu_table(found))
    assert rows["distance from that"] == "2 times"
    assert rows["the reference in torch, same device"] == "50 times as long"
    assert not any("probability" in name for name in rows), "no scores, no difference between them"


def test_the_gpu_report_states_its_stages():
    seconds = {"pairs to bases": 2e-3, "pairs to scores": 3e-3}
    stages = {"basis": 1.5}
    found = bench.GpuReport("g", 1000, 10.0, 20.0, seconds, 1e-4, 4e9, 4e12, stages=stages, difference=2e-7)
    rows = dict(bench.gpu_table(found))
    assert rows["pairs to scores"] == "3.0 ms, 333,333 links/s"
    assert rows["basis"] == "1.50 µs a link"
    assert rows["largest difference from torch, in probability"] == "2.0e-07"


@pytest.mark.skipif(cuda.available(), reason="there is a GPU")
def test_without_a_gpu_its_bench_is_refused():
    result = CliRunner().invoke(app, ["bench", "cora", "--device", "cuda"])
    assert result.exit_code != 0
    assert "NVIDIA GPU" in result.output


@pytest.mark.parametrize(
    "wrong",
    [
        ("--links", "-5"),
        ("--repeats", "0"),
        ("--device", "tpu"),
        ("--scale", "--device", "cuda"),
        ("--scale", "--out", "x"),
    ],
)
def test_wrong_options_are_refused_before_anything_runs(wrong):
    result = CliRunner().invoke(app, ["bench", "cora", *wrong])
    assert result.exit_code == 2
    assert wrong[0] in result.output


@pytest.mark.slow
def test_memory_is_flat_in_the_number_of_links():
    assert stream_links("cora", 300) == 300
    assert measure_peak_memory(stream_links, "cora", 0) > 0.1
    sizes = measure_stream_memory("cora")
    assert sizes["streamed, 40,000 links"] < 1.15 * sizes["streamed, 10,000 links"]


def test_the_command_is_there():
    result = CliRunner().invoke(app, ["bench", "--help"])
    assert result.exit_code == 0
    assert "--scale" in result.output


def test_the_plain_loop_leaves_subnormal_numbers_alone():
    if plain_cpp.find_compiler() is None:
        pytest.skip("no C++ compiler")
    plain_cpp.compare_with_cpp(graphs=4, repeats=1)
    assert np.nextafter(0.0, 1.0) * 1.0 > 0, "loading the compiled loop changed the processor's arithmetic"


def test_a_system_without_resource_or_sysconf_is_described_all_the_same(monkeypatch):
    """As Windows is: there is no /proc, no `resource`, no `os.sysconf`, no `os.getloadavg`."""
    import builtins
    import math
    import sys

    from research.bench import clock

    def nowhere(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(builtins, "open", nowhere)
    monkeypatch.setitem(sys.modules, "resource", None)
    assert math.isnan(clock.highest_memory())
    monkeypatch.undo()
    monkeypatch.delattr(clock.os, "sysconf")
    monkeypatch.delattr(clock.os, "getloadavg")
    found = clock.describe_machine()
    assert math.isnan(found["memory_gb"])
    assert math.isnan(found["load"])


def test_scores_and_epochs_are_timed_on_one_core_and_on_two(tmp_path):
    """Every method of every kind has a time, and the table names the aims."""
    found = bench.run_scores("cora", links=24, repeats=1, baseline_names=("gae", "seal"), with_memory=False)
    assert set(found.microseconds) == {"1", "2"}
    one, two = found.microseconds.values()
    assert set(one) == set(two)
    assert {"pairs to scores", "epoch, bases at hand", "GAE: pairs to scores", "SEAL: epoch"} <= set(one)
    assert all(spent > 0 for spent in one.values())
    rows = dict(bench.scores_table(found))
    assert "at most 3" in rows["pairs to scores, 1 core"]
    assert "at most 6" in rows["epoch, bases at hand, 2 cores"]
    saved = json.loads(bench.save(found, tmp_path)[0].read_text())
    assert saved["microseconds"]["2"] == two


def test_scores_are_not_measured_on_a_gpu_or_streamed():
    done = CliRunner().invoke(app, ["bench", "cora", "--scores", "--device", "cuda"])
    assert done.exit_code == 2
    assert "--scores is measured on the CPU" in done.stderr
