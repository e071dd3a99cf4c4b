"""Suites, table, report and gallery."""

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

from llwlc.errors import InputError
from research.cli.app import app
from research.expressivity.atlas import find_unseparated_by_fingerprint
from research.expressivity.families import (
    BREC,
    adjacency,
    brec,
    csl,
    graph6,
    load_suite,
    rook,
    shrikhande,
    strongly_regular,
)
from research.expressivity.gallery import compute_constrained_basis, make_exhibits, write_page
from research.expressivity.published import BREC_RESULTS
from research.expressivity.report import brec_table, markdown, table
from research.expressivity.separate import climb
from research.expressivity.table import SuiteRow, compare_policies, load_rows, run_suite, save_rows


def test_rook_and_shrikhande_are_the_two_of_their_parameters():
    for graph in (rook(), shrikhande()):
        a = adjacency(graph)
        # a² = 6 I + 2 A + 2 (J − I − A)
        assert np.array_equal(a @ a, 4 * np.eye(16) + 2 * np.ones((16, 16)))
    assert not nx.is_isomorphic(rook(), shrikhande())


def test_skip_link_pairs_are_not_isomorphic():
    pairs = csl()
    assert len(pairs) == 45
    assert not any(nx.is_isomorphic(nx.from_numpy_array(p.a), nx.from_numpy_array(p.b)) for p in pairs[:9])


@pytest.mark.data
def test_brec_files_have_the_published_counts_and_sizes(data_root):
    sizes = {}
    for category, (_, count) in BREC.items():
        data_root(f"brec/{category}.npy")
        pairs = brec(category)
        assert len(pairs) == count
        assert all(len(p.a) == len(p.b) and np.array_equal(p.a, p.a.T) for p in pairs)
        sizes[category] = (min(len(p.a) for p in pairs), max(len(p.a) for p in pairs))
    assert sizes["cfi"][1] == 198
    assert sizes["regular"][0] == 7


@pytest.mark.data
def test_sr16622_is_the_papers_pair(data_root):
    data_root("strongly_regular/sr16622.g6")
    (pair,) = strongly_regular("sr16622")
    found = {nx.is_isomorphic(nx.from_numpy_array(x), rook()) for x in (pair.a, pair.b)}
    assert found == {True, False}


def test_graph6_reads_text_and_bytes():
    assert np.array_equal(graph6("Bw"), np.ones((3, 3)) - np.eye(3))
    assert np.array_equal(graph6(b"Bw"), graph6("Bw"))


def test_names_that_are_not_there(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="choose from paper"):
        load_suite("brec")
    with pytest.raises(InputError, match="choose from basic"):
        brec("cif")
    with pytest.raises(InputError, match="LLWLC_DATA"):
        brec("cfi", root=tmp_path)
    with pytest.raises(InputError, match="choose from 1-wl"):
        run_suite("paper", "5-wl")


def test_a_pair_climbs_to_the_first_rung_that_separates():
    squares = load_suite("paper")[1]
    assert [v.policy for v in climb(squares, check=1)] == ["filter-0", "filter-1", "filter-2"]


def test_rows_are_kept_and_found_again(tmp_path):
    out = tmp_path / "table.json"
    rows = compare_policies(["paper"], ["1-wl", "deleted-4", "filter"], out=out)
    assert [(row.policy, row.separated) for row in rows] == [("1-wl", 0), ("deleted-4", 2), ("filter", 2)]
    assert rows[-1].by_policy == {"filter-0": 1, "filter-2": 1}
    assert rows[-1].closest is not None
    assert rows[-1].closest > 1e-3
    save_rows([SuiteRow("paper", "1-wl", 2, 99)], out)
    assert compare_policies(["paper"], ["1-wl"], out=out)[0].separated == 99
    assert load_rows(out)[0].together == ()


def test_pairs_that_would_take_too_long_are_skipped_and_said():
    row = run_suite("paper", "filter-4", max_seconds=0.0)
    assert (row.separated, row.skipped, len(row.together)) == (0, 2, 2)
    assert table([row])[1][0][1] == "0/2+"
    one, half = SuiteRow("a", "p", 2, 1, mean_seconds=1.0), SuiteRow("b", "p", 4, 1, skipped=2, mean_seconds=3.0)
    assert table([one, half])[1][0][1:4] == ["1/2", "1/4+", "2"]


def test_published_results_are_those_of_the_paper():
    totals = {p.method: p.total for p in BREC_RESULTS}
    assert totals["3-WL"] == 270
    assert totals["I²-GNN"] == 281
    assert max(p.total for p in BREC_RESULTS) == 281


def test_brec_table_adds_the_regular_kinds():
    rows = [SuiteRow(f"brec-{c}", "filter", n, n) for c, (_, n) in BREC.items()]
    header, lines = brec_table(rows)
    assert lines[-1] == ["here: filter", "60", "140", "100", "100", "400"]
    assert markdown(header, lines).count("\n") == len(lines) + 1


def test_1_wl_leaves_26_pairs_of_the_atlas():
    row = run_suite("atlas", "1-wl")
    assert (row.pairs, row.pairs - row.separated) == (783_126, 26)
    assert find_unseparated_by_fingerprint([], "none") == set()


def test_gallery_is_one_file_with_its_pictures(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    page = write_page(tmp_path / "gallery.html").read_text(encoding="utf-8")
    assert page.count("<img") == len(make_exhibits()) == 4
    assert "http" not in page.replace("data:image", "")
    assert page.count(">separated<") >= 7


def test_pictures_show_vectors_that_satisfy_the_constraints():
    for exhibit in make_exhibits():
        for side in exhibit.sides:
            basis = compute_constrained_basis(side)
            assert np.abs(side.columns.T @ basis.vectors).max() < 1e-10
            assert basis.vectors.shape == (len(side.a), len(side.a) - np.linalg.matrix_rank(side.columns))


def test_the_command_prints_and_stores_the_rows_asked_for(tmp_path):
    out = tmp_path / "rows.json"
    result = CliRunner().invoke(
        app, ["expressivity", "--suite", "paper", "--policy", "3-wl", "--policy", "filter-2", "--out", str(out)]
    )
    assert result.exit_code == 0
    assert "| filter-2 | 2/2 " in result.output
    assert len(load_rows(out)) == 2
    copies = ["expressivity", "--suite", "paper", "--copies", "20", "--max-seconds", "1"]
    assert "| filter-4 | 20     | 16             | 0 " in CliRunner().invoke(app, copies).output
    assert CliRunner().invoke(app, ["expressivity", "--policy", "magic"]).exit_code == 2


def test_command_line_writes_the_gallery_and_learns(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    page = tmp_path / "gallery.html"
    assert "wrote" in CliRunner().invoke(app, ["expressivity", "--gallery", str(page)]).output
    assert page.exists()
    learned = CliRunner().invoke(app, ["expressivity", "--suite", "paper", "--learned"]).output
    assert "| 0    | 2/2   | 2/2   | 2/2 " in learned
