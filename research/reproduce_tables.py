"""Writes the tables of pages and notes from the stored lines: `python -m research.reproduce_tables`. Nothing is
trained.

A page says `<!-- table NAME -->`, or NAME and the number of a section, and the table stands between that and
`<!-- /table -->`.
"""

from __future__ import annotations

import re
from pathlib import Path

from research.experiments.lines import Line, read_lines
from research.experiments.rendering import render
from research.experiments.table import Selection
from research.experiments.tables import TABLES

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "docs", ROOT / "research" / "notes")
RESULTS = ROOT / "research" / "results" / "paper.jsonl"
TABLE = re.compile(r"(<!-- table (\w+)(?: (\d+))? -->\n).*?(<!-- /table -->\n)", re.DOTALL)


def page(text: str, lines: list[Line]) -> str:
    """The page with its tables made again."""

    def filled(match: re.Match[str]) -> str:
        begin, name, number, end = match.groups()
        sections = TABLES[name] if number is None else (TABLES[name][int(number)],)
        return f"{begin}{render(sections, lines, Selection(), 'markdown')}\n{end}"

    return TABLE.sub(filled, text)


def pages() -> list[Path]:
    """The pages that have a table."""
    found = sorted(path for folder in FOLDERS for path in folder.rglob("*.md"))
    return [path for path in found if TABLE.search(path.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    stored = read_lines(RESULTS)
    for path in pages():
        path.write_text(page(path.read_text(encoding="utf-8"), stored), encoding="utf-8")
