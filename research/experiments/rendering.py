"""A table as text, Markdown, LaTeX or a picture; the same lines always give the same bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from llwlc._support.charts import new_figure
from llwlc.errors import InputError
from research.experiments.lines import Line
from research.experiments.table import Section, Selection

FORMATS = ("text", "markdown", "latex")
MEASURED = re.compile(r"^(\d+\.\d+)(?: ± (\d+\.\d+))?$")


def render(sections: Sequence[Section], lines: Sequence[Line], chosen: Selection, form: str = "text") -> str:
    """The sections of a table, one after the other."""
    if form not in FORMATS:
        raise InputError(f"--format is {', '.join(FORMATS)}, got {form!r}")
    write = {"text": _text, "markdown": _markdown, "latex": _latex}[form]
    parts = []
    for section in sections:
        body = section.body(lines, chosen)
        if body:
            parts.append(write(section.title, section.header(), body, section.notes(lines, chosen)))
    if not parts:
        cells = [cell for section in sections for cell in section.cells(Selection())]
        known = [sorted({getattr(cell, name) for cell in cells} - {""}) for name in ("data", "method", "protocol")]
        has = "; ".join(
            f"{name} {', '.join(names)}"
            for name, names in zip(("--data", "--model", "--protocol"), known, strict=True)
            if names
        )
        raise InputError(f"nothing of this table is left by what was chosen; it has {has}")
    return "\n\n".join(parts)


def _text(title: str, header: list[str], body: list[list[str]], notes: list[str]) -> str:
    widths = [max(len(row[i]) for row in [header, *body]) for i in range(len(header))]
    rows = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [header, *body]
    ]
    return "\n".join([title, "", rows[0], "  ".join("-" * width for width in widths), *rows[1:], "", *notes])


def _markdown(title: str, header: list[str], body: list[list[str]], notes: list[str]) -> str:
    rows = ["| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *body]]
    return "\n".join([f"**{title}**", "", *rows, "", *notes])


LATEX = {
    "±": r"$\pm$",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "–": "--",
    "κ": r"$\kappa$",
    "²": "$^2$",
    "³": "$^3$",
    "µ": r"$\mu$",
    "₆": "$_6$",
    "₅": "$_5$",
    "₁₀": "$_{10}$",
    "×": r"$\times$",
    "`": "",
}


def _latex(title: str, header: list[str], body: list[list[str]], notes: list[str]) -> str:
    def escaped(text: str) -> str:
        for sign, code in LATEX.items():
            text = text.replace(sign, code)
        return text

    rows = [" & ".join(escaped(cell) for cell in row) + r" \\" for row in [header, *body]]
    begin = [
        r"\begin{table}",
        rf"\caption{{{escaped(title)}. {escaped(' '.join(notes))}}}",
        rf"\begin{{tabular}}{{{'l' * len(header)}}}",
        r"\toprule",
    ]
    return "\n".join([*begin, rows[0], r"\midrule", *rows[1:], r"\bottomrule", r"\end{tabular}", r"\end{table}"])


PICTURES = (".png", ".pdf", ".svg")


def plot(sections: Sequence[Section], lines: Sequence[Line], chosen: Selection, path: Path) -> None:
    """Ours with its spread and the published number, a row each, for every row that has a number of ours."""
    shown = []
    for section in sections:
        header = section.header()
        if "ours" not in header:
            continue
        names = ("ours", "published", "data", "method", "protocol", "metric")
        ours, known, data, method, protocol, metric = (header.index(name) for name in names)
        for row in section.body(lines, chosen):
            measured = MEASURED.match(row[ours])
            if measured:
                published = re.match(r"\d+(\.\d+)?", row[known])
                shown.append(
                    (
                        f"{row[data]}, {row[method]} ({row[protocol]}, {row[metric]})",
                        float(measured[1]),
                        float(measured[2] or 0),
                        None if published is None else float(published[0]),
                        "(" in row[known],
                    )
                )
    if not shown:
        raise InputError("this table has no accuracies of ours to draw: leave --plot out")
    figure, axes = new_figure(8, 1 + 0.22 * len(shown))
    at = range(len(shown), 0, -1)
    axes.errorbar([s[1] for s in shown], at, xerr=[s[2] for s in shown], fmt="o", markersize=3, label="ours")
    for elsewhere, color, label in ((False, "tab:red", "published"), (True, "tab:gray", "published, other protocol")):
        pairs = [(s[3], y) for s, y in zip(shown, at, strict=True) if s[3] is not None and s[4] == elsewhere]
        if pairs:
            axes.plot(*zip(*pairs, strict=True), "x", color=color, label=label)
    axes.set_yticks(list(at), [s[0] for s in shown], fontsize=6)
    axes.set_xlabel("percent")
    axes.legend(loc="lower left", fontsize=7)
    figure.savefig(path, dpi=150)
