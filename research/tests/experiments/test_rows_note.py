"""The note of every row of the paper: its counts are those of its rows, and what shows a row is there."""

import re
from pathlib import Path

import pytest

from research.experiments.tables import TABLES

ROOT = Path(__file__).parents[3]
NOTE = ROOT / "research" / "notes" / "2026-11-19-the-paper-row-by-row.md"
TEXT = NOTE.read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in re.findall(r"^\| \d+ \|.*$", TEXT, re.M)]
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
