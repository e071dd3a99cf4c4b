"""Small tables as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from llwlc._support.text import html_text


def html_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A titled table; every cell is escaped.

    >>> html_table("People", ["name"], [["<b>"]])
    '<div><b>People</b><table><tr><th>name</th></tr><tr><td>&lt;b&gt;</td></tr></table></div>'
    """
    head = f"<tr>{''.join(f'<th>{html_text(c)}</th>' for c in columns)}</tr>" if any(columns) else ""
    body = "".join(f"<tr>{''.join(f'<td>{html_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div><b>{html_text(title)}</b><table>{head}{body}</table></div>"
