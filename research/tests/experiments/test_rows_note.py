"""The note of every row of the paper: its counts are those of its rows, its figures those of the stored lines, and what
shows a row is there.
"""

import re
from pathlib import Path

import pytest

from research.experiments.cell import Cell
from research.experiments.lines import compute_mean_and_spread, read_lines, select_row_lines
from research.experiments.tables import TABLES

ROOT = Path(__file__).parents[3]
NOTE = ROOT / "research" / "notes" / "2026-11-19-the-paper-row-by-row.md"
TEXT = NOTE.read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in re.findall(r"^\| \d+ \|.*$", TEXT, re.M)]
LINES = read_lines(ROOT / "research" / "results" / "paper.jsonl")
PUBLIC, OURS = ("cora-planetoid", "citeseer", "pubmed"), ("cora", "citeseer", "pubmed")
DELETED = {"constraints": "vertex_deleted"}
FIGURES = {
    "83": ("buddy", PUBLIC, "common-neighbors"),
    "84": ("buddy", PUBLIC, "adamic-adar"),
    "85": ("buddy", PUBLIC, "resource-allocation"),
    "86": ("buddy", PUBLIC, "gcn"),
    "87": ("buddy", PUBLIC, "sage"),
    "88": ("buddy", PUBLIC, "neognn"),
    "89": ("buddy", PUBLIC, "seal"),
    "90": ("buddy", PUBLIC[:2], "nbfnet"),
    "92": ("buddy", PUBLIC, "buddy"),
    "93": ("paper", OURS, "paper"),
    "99": ("paper", OURS[::2], "unconstrained"),
    "100": ("paper", OURS[::2], "paper"),
    "101": ("paper", OURS[::2], "paper", DELETED),
}
"""Of rows of methods: protocol, graphs, method and options whose HR@100 the row has, a slash between the graphs."""
VERDICTS = ("holds", "refuted", "done", "partly", "not done")


def test_the_counts_are_those_of_the_rows():
    assert [row[0] for row in ROWS] == [str(number) for number in range(1, len(ROWS) + 1)]
    assert {len(row) for row in ROWS} == {5}
    count = {verdict: sum(row[2] == verdict for row in ROWS) for verdict in VERDICTS}
    assert sum(count.values()) == len(ROWS)
    said = re.search(
        r"(\d+) rows here .*: (\d+) hold, (\d+) are refuted, (\d+) are done, (\d+) partly, (\d+) are not done", TEXT
    )
    assert said is not None
    assert [int(number) for number in said.groups()] == [len(ROWS), *count.values()]


@pytest.mark.parametrize("number", FIGURES)
def test_the_figures_of_a_row_are_those_of_the_lines(number):
    protocol, graphs, method, *options = FIGURES[number]
    means = []
    for data in graphs:
        wide = {"batch_size": 256} if data == "pubmed" and method in ("paper", "unconstrained") else {}
        cell = Cell("accuracy", data, protocol, method, {**(options[0] if options else {}), **wide})
        values = [100 * line["hits@100"] for line in select_row_lines(LINES, cell)]
        means.append(f"{compute_mean_and_spread(values)[0]:.2f}")
    found = next(row[3] for row in ROWS if row[0] == number)
    assert " / ".join(means) in found


def names_of_tests(path: Path) -> list[str]:
    files = [path] if path.is_file() else sorted(path.rglob("test_*.py"))
    return [name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.M)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_shows_a_row_is_there(row):
    shown = row[4]
    if row[2] != "not done":
        assert shown != "–"
    for path, _, quoted, bare in re.findall(r"pytest (\S+?)(?:`| -k (\"([^\"]+)\"|(\w+)))", shown):
        assert (ROOT / path).exists(), path
        for word in re.findall(r"\w+", quoted or bare):
            assert word == "or" or any(word in name for name in names_of_tests(ROOT / path)), word
    for table in re.findall(r"python -m research reproduce (\w+)", shown):
        assert table in TABLES
    for script in re.findall(r"python (\S+\.py)", shown):
        assert (ROOT / script).exists()
    for link in re.findall(r"\]\(([^)#]+)\)", shown):
        assert (NOTE.parent / link).exists()
