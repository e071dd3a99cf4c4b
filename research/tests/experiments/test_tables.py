"""The tables: printed byte for byte from the committed lines, every row something that can be run, and honest about
protocols and data.
"""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from llwlc.errors import InputError
from llwlc.models._llwlc.presets import PRESETS, find_preset
from llwlc.models._recipes import recipe
from llwlc.models._registry import MODELS
from llwlc.nn._config import NetConfig
from llwlc.nn._net import LLwLCNet
from research import reproduce_tables
from research.cli.app import app
from research.cli.reproduce import NAMES
from research.experiments.availability import select_runnable
from research.experiments.cell import Cell
from research.experiments.leaks import LEAKS
from research.experiments.lines import append_line, read_lines
from research.experiments.presets_section import LADDER
from research.experiments.rendering import plot, render
from research.experiments.study_baselines import STUDY_BASELINES, make_study_baseline
from research.experiments.study_model import cell_model
from research.experiments.study_split import SPLIT_OPTIONS
from research.experiments.table import Row, Selection
from research.experiments.tables import TABLES

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "research" / "results" / "paper.jsonl"
LINES = read_lines(RESULTS)
ROWS = [row for sections in TABLES.values() for section in sections for row in getattr(section, "rows", ())]


def test_the_docs_have_the_tables_of_the_committed_lines_to_the_byte():
    assert len(reproduce_tables.pages()) >= 3
    for page in reproduce_tables.pages():
        text = page.read_text()
        assert reproduce_tables.page(text, LINES) == text, "run python -m research.reproduce_tables"


@pytest.mark.slow
def test_a_changed_line_changes_the_page():
    other = [type(line)(line.cell, line.found | {"hits@100": 0.5, "auc": 0.5, "parameters": 1}) for line in LINES]
    assert all(reproduce_tables.page(page.read_text(), other) != page.read_text() for page in reproduce_tables.pages())


def test_the_command_knows_every_table():
    assert set(TABLES) == set(NAMES)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.method} {row.title}")
def test_every_row_can_be_run_or_is_of_an_older_version(row: Row):
    own = {name: value for name, value in row.options.items() if name not in SPLIT_OPTIONS}
    options = {name: value for name, value in own.items() if name != "fraction"}
    if row.method in PRESETS:
        cell_model(row.method, own, row.leak)
    elif row.method in STUDY_BASELINES:
        make_study_baseline(row.method, **options)
    elif row.method in MODELS:
        if MODELS[row.method].trained:
            recipe(row.method).changed(**options)
    else:
        assert row.method == "anchored-58797"
    assert row.leak == "" or row.leak in LEAKS


@pytest.mark.parametrize("row", LADDER, ids=lambda row: row.title)
def test_the_ladder_names_the_networks_that_its_lines_were_made_with(row: Row):
    stored = {line["parameters"] for line in LINES if line.cell.row == row.cell("accuracy", "cora").row}
    chosen = find_preset(row.method, **row.options)
    net = LLwLCNet(NetConfig(**(vars(chosen.net) | {"feature_channels": chosen.features})))
    assert stored == {net.num_parameters}


def test_a_published_number_of_another_protocol_says_so_and_data_that_is_not_to_be_had_too():
    text = render(TABLES["results"], LINES, Selection())
    untrained = next(line for line in text.splitlines() if re.search(r"^cora +CN +paper", line))
    assert "33.92 (buddy)" in untrained
    own = next(line for line in text.splitlines() if re.search(r"^cora +LLwLC, `paper` +paper", line))
    assert re.search(r"91\.44 +527", own)
    for data, numbers in (("ogbl-collab", 10), ("ogbl-vessel", 8)):
        far = [line for line in text.splitlines() if line.startswith(f"{data}  ")]
        assert len(far) == numbers
        assert all("data not at hand" in line for line in far)
    assert any("LLwLC" in line and "66.86" in line for line in text.splitlines() if line.startswith("ogbl-collab"))
    assert re.search(r"^coauthor-cs ", text, re.MULTILINE)
    assert re.search(r"^vessel-sample ", text, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_text_markdown_and_latex_have_the_same_cells(name):
    if not any(section.body(LINES, Selection()) for section in TABLES[name]):
        pytest.skip("no line of it yet")
    latex = render(TABLES[name], LINES, Selection(), "latex")
    rows = [line for line in latex.splitlines() if line.endswith(r"\\")]
    widths = {row.count(" & ") for row in rows if not row.startswith(r"\caption")}
    shown = [section for section in TABLES[name] if section.body(LINES, Selection())]
    assert len(widths) == len({len(section.header()) for section in shown})
    assert latex.count("{") == latex.count("}")
    markdown = render(TABLES[name], LINES, Selection(), "markdown")
    assert sum(line.startswith("| ") for line in markdown.splitlines()) == len(rows) + latex.count(r"\midrule")


def test_seeds_data_and_methods_are_selected():
    section = TABLES["neumann"][0]
    cells = section.cells(Selection(data=("cora",), methods=("paper",), seeds=(30, 31)))
    assert [(c.data, c.method, c.seed) for c in cells] == [("cora", "paper", 30), ("cora", "paper", 31)]
    assert {c.protocol for c in section.cells(Selection(protocol="seal"))} == {"seal"}
    assert {c.seed for c in section.cells(Selection()) if c.data == "pubmed"} == {0, 1, 2}
    with pytest.raises(InputError, match="nothing of this table is left"):
        render(TABLES["neumann"], LINES, Selection(data=("nowhere",)))


def test_a_picture_of_the_accuracies(tmp_path):
    plot(TABLES["ladder"], LINES, Selection(), tmp_path / "ladder.png")
    assert (tmp_path / "ladder.png").stat().st_size > 10_000
    with pytest.raises(InputError, match="leave --plot out"):
        plot(TABLES["complexity"], LINES, Selection(), tmp_path / "no.png")


def test_cells_without_data_or_of_an_older_version_are_left_with_a_sentence():
    cells = [Cell("accuracy", "ogbl-nowhere", "ogb", "paper"), Cell("accuracy", "cora", "ncn", "anchored-58797")]
    ready, left = select_runnable([*cells, Cell("accuracy", "cora", "ncn", "gcn")])
    assert [cell.method for cell in ready] == ["gcn"]
    assert left[0].startswith("ogbl-nowhere is not available")
    assert "only its stored results are shown" in left[1]


def called(*words: str):
    return CliRunner().invoke(app, ["reproduce", *words])


def test_show_prints_what_is_stored_and_finished_cells_are_not_run_again(tmp_path):
    file = tmp_path / "mine.jsonl"
    for seed in (0, 1):
        append_line(
            file,
            {
                "kind": "accuracy",
                "data": "cora",
                "protocol": "paper",
                "method": "paper",
                "seed": seed,
                "auc": 0.9 + seed / 50,
                "num_negatives": 5,
                "parameters": 7,
            },
        )
    words = ("neumann", "--data", "cora", "--model", "paper", "--results", str(file))
    shown = called(*words, "--show")
    assert shown.exit_code == 0
    assert "91.00 ± 1.41" in shown.output
    again = called(*words, "--seeds", "2")  # both are there: nothing is trained
    assert again.exit_code == 0
    assert again.output == shown.output
    assert len(read_lines(file)) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("resutls",), "no table is called 'resutls'"),
        (("results", "--seeds", "0"), "--seeds is a number of trainings, 1"),
        (("results", "--seeds", "4-2"), "--seeds is a number of trainings, 1"),
        (("results", "--format", "word", "--show"), "--format is text, markdown, latex"),
        (
            ("results", "--results", "nowhere.jsonl", "--show"),
            "nowhere.jsonl does not exist, so there is nothing to show",
        ),
    ],
)
def test_bad_input_gets_one_sentence(words, said):
    result = called(*words)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_a_section_and_a_kind_of_cell_are_selected(tmp_path):
    file = tmp_path / "mine.jsonl"
    shown = called("constraints", "--section", "2", "--show")
    assert shown.exit_code == 0
    assert "no distance labels" in shown.output
    assert "the paper's rows" not in shown.output
    beyond = called("constraints", "--section", "3", "--show")
    assert beyond.exit_code == 2
    assert "--section is 1 to 2" in " ".join(beyond.output.split())
    nothing = called("figures", "--kind", "accuracy", "--results", str(file))
    assert "cells to run" not in nothing.stderr
    assert not file.exists()


def test_a_choice_that_leaves_nothing_is_told_what_there_is():
    with pytest.raises(
        InputError, match=r"it has --data citeseer, cora, pubmed; --model lanczosnet, paper; --protocol paper$"
    ):
        render(TABLES["chain"], [], Selection(data=("nope",)))


def test_a_damaged_results_file_is_refused_by_the_command(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text('{"kind": "accuracy"\n')
    result = called("neumann", "--results", str(file), "--show")
    assert result.exit_code == 2
    assert "mine.jsonl, line 1 is damaged" in " ".join(result.output.split())


def test_what_is_missing_is_run_once_and_printed(tmp_path):
    file = tmp_path / "mine.jsonl"
    first = called("figures", "--results", str(file))
    assert first.exit_code == 0
    assert "2 cells to run" in first.stderr  # the paper's graphs, and marking beside deletion
    assert re.search(r"pairs of C₆.*Neumann.*all three told apart", first.stdout)
    again = called("figures", "--results", str(file))
    assert again.stderr == ""
    assert again.stdout == first.stdout
    assert len(read_lines(file)) == 2


def test_a_model_of_ones_own_has_a_row_in_the_tables(tmp_path):
    """Its file registers it in this process and in those of its cells."""
    plugin = ROOT / "examples" / "plugins" / "my_model.py"
    own = ("--plugin", str(plugin), "--model", "degrees", "--data", "cora", "--seeds", "1", "--processes", "1")
    file = tmp_path / "mine.jsonl"
    try:
        done = called("results", *own, "--results", str(file), "--device", "cpu")
        assert done.exit_code == 0, done.output
        (line,) = read_lines(file)
        assert (line.cell.method, line.cell.data, line.cell.protocol) == ("degrees", "cora", "buddy")
        assert 0.5 < line["auc"] < 1
        assert "product of degrees" in done.output
    finally:
        MODELS.remove("degrees")
