"""A `--help` of one screen for commands with many options; `--help-all` shows the rest."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperCommand

EXAMPLES = 3
"""Examples of the short screen, the first of the docstring."""
SHORT: dict[str, dict[str, str]] = {
    "fit": {
        "graph": "A file of links (CSV, TSV, Parquet, GraphML, …), a database, or a dataset (llwlc data list).",
        "out": "Folder of the run.",
        "source": "",
        "target": "",
        "weight": "Column of edge weights.",
        "features": "Table of node features.",
        "directed": "Predict the direction of links too.",
        "relation": "Column of link types, to predict each type.",
        "minutes": "Time budget in minutes.",
        "model": "Model to fit (--help-all lists them).",
        "verbose": "Print all that was measured, too.",
    },
    "recommend": {
        "run": "",
        "top": "",
        "precision": "",
        "node": "",
        "out": "File to write: .csv, .tsv, .parquet or .jsonl.",
        "missing_share": "Share of all links that is missing; an assumption unless stated.",
        "exclude": "File of pairs that are never proposed.",
        "from_": "File of nodes: one end is one of them.",
        "to": "File of nodes: the other end is one of them; or a database to write to.",
        "add": "File of new links, added to the known ones.",
        "new_nodes": "Table of new nodes with their features.",
    },
    "score": {
        "run": "",
        "pairs": "File with a pair of node names in each row.",
        "out": "File to write: .csv, .tsv, .parquet or .jsonl.",
        "prior": "Share of the given pairs that are expected to be links.",
        "unknown": "What to do with unknown nodes: error, skip or blank.",
        "add": "File of new links, added to the known ones.",
        "new_nodes": "Table of new nodes with their features.",
    },
    "tune": {
        "graph": "A file of links, a database, or a dataset (llwlc data list).",
        "minutes": "",
        "model": "Model to try, may be repeated; by default ours, heuristics and some baselines.",
        "metric": "Metric to compare settings by: auc, ap, mrr or hits@10.",
        "out": "File to write the comparison to.",
    },
}
"""The parameters that `--help` of a command shows, each with its text there; an empty text stands for its own. What is
not here, such as a new option, is shown by `--help-all`.
"""


class BriefCommand(TyperCommand):
    """A command whose `--help` shows the parameters of `brief` alone."""

    brief: Mapping[str, str] = {}

    def get_params(self, ctx: Any) -> list[Any]:
        found: list[Any] = list(super().get_params(ctx))
        *others, show_help = found
        show_all = copy.copy(show_help)  # not made anew: the constructor differs between versions of typer
        show_all.name, show_all.opts, show_all.help = "help_all", ["--help-all"], "Show all options and exit."
        show_all.callback = self.show_all
        return [*others, show_all, show_help]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        short = copy.copy(self)
        short.params = [_shorten(p, self.brief[p.name]) for p in self.params if p.name in self.brief]
        short.help, short.epilog = keep_first_examples(self.help or ""), None
        TyperCommand.format_help(short, ctx, formatter)

    def show_all(self, ctx: Any, param: Any, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            formatter = ctx.make_formatter()
            TyperCommand.format_help(self, ctx, formatter)
            typer.echo(formatter.getvalue(), nl=False)
            ctx.exit()


def make_command_class(name: str) -> type[BriefCommand]:
    """The class of a command whose short screen is in `SHORT`."""
    return type("BriefCommand", (BriefCommand,), {"brief": SHORT[name]})


def keep_first_examples(text: str) -> str:
    """The text of a command up to its third example.

    >>> keep_first_examples("Fits.\\n\\nMore. Examples:\\n\\n`a`\\n\\n`b`\\n\\n`c`\\n\\n`d`")
    'Fits.\\n\\nMore. Examples:\\n\\n`a`\\n\\n`b`\\n\\n`c`'
    """
    kept, count = [], 0
    for paragraph in text.split("\n\n"):
        count += paragraph.strip().startswith("`")
        if count <= EXAMPLES:
            kept.append(paragraph)
    return "\n\n".join(kept)


def _shorten(parameter: Any, text: str) -> Any:
    if not text:
        return parameter
    parameter = copy.copy(parameter)
    parameter.help = text
    return parameter
