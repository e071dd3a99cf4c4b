"""What the commands share: where they print, how they fail, and how they find the graph they are asked about."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from llwlc.errors import InputError
from llwlc.graph import Graph
from llwlc.graph_report import GraphWarning

OUT = Console()
ERR = Console(stderr=True)

GraphArgument = Annotated[
    str, typer.Argument(metavar="GRAPH", help="A dataset (llwlc data list) or an edge list file.")
]
SourceOption = Annotated[str | None, typer.Option(help="Column of one end of an edge.")]
TargetOption = Annotated[str | None, typer.Option(help="Column of the other end.")]
WeightOption = Annotated[str, typer.Option(help="Column of edge weights; auto: one called weight; none: no weights.")]
TimeOption = Annotated[str, typer.Option(help="Column of edge times; auto: one called time; none: no times.")]
NoHeaderOption = Annotated[bool, typer.Option("--no-header", help="The first line is an edge; columns are 1, 2, ...")]
SeparatorOption = Annotated[str | None, typer.Option(help="Separator of the columns, if it is not found by itself.")]
FeaturesOption = Annotated[Path | None, typer.Option(help="Node features: CSV, TSV, Parquet or npz.")]
NodeOption = Annotated[str | None, typer.Option(help="Column of node ids in the features file.")]
CategoricalOption = Annotated[
    list[str] | None, typer.Option(help="Feature column whose numbers are categories; may be repeated.")
]
IsolatedOption = Annotated[str, typer.Option(help="A node with features but no edge: error or keep.")]


class Group(TyperGroup):
    """Commands whose `InputError` ends in one plain sentence on stderr and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            say(f"Error: {error}", style="red")
            raise typer.Exit(2) from None


def say(text: str, *, style: str | None = None) -> None:
    """One line on stderr, never cut or wrapped, its brackets left alone."""
    ERR.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def show(title: str, rows: Sequence[tuple[str, str]]) -> None:
    """A table of two columns on stdout."""
    OUT.print(title, markup=False, highlight=False, soft_wrap=True)  # rich would fold a long title to the table's width
    table = Table(show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in rows:
        table.add_row(name, value)
    OUT.print(table)


def open_graph(
    name: str,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str = "auto",
    time: str = "auto",
    no_header: bool = False,
    separator: str | None = None,
    features: Path | None = None,
    node: str | None = None,
    categorical: Sequence[str] | None = None,
    isolated: str = "error",
) -> Graph:
    """The dataset of that name, or the graph of that file, with its counts and warnings said on stderr."""
    from llwlc import datasets
    from llwlc.graph_io import read_graph

    known = datasets.names()
    if name in known and not Path(name).is_file():
        given = [source, target, separator, features, node, categorical]
        if any(given) or no_header or (weight, time, isolated) != ("auto", "auto", "error"):
            raise InputError(f"{name} is a dataset: options on columns and features are for files")
        return datasets.load(name)
    if not Path(name).exists() and Path(name).name == name and "." not in name:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise InputError(
            f"there is neither a dataset nor a file called {name!r}.{hint} llwlc data list names the datasets"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)  # said below, without Python's file and line
        graph = read_graph(
            name,
            source=source,
            target=target,
            weight=None if weight == "none" else weight,
            time=None if time == "none" else time,
            header=False if no_header else None,
            separator="\t" if separator in ("tab", "\\t") else separator,
            features=features,
            node=node,
            categorical=categorical or (),
            isolated=isolated,
        )
    if graph.report is not None:
        say(f"{name}: {graph.report.line}")
        for text in graph.report.warnings:
            say(f"Warning: {text}", style="yellow")
    sys.stderr.flush()
    return graph
