"""The graph that a command is asked about: a dataset by its name, or a file with its options, written once for all commands."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from llwlc.cli.console import say
from llwlc.cli.options import completer
from llwlc.datasets.catalog import DATASETS
from llwlc.errors import InputError

if TYPE_CHECKING:
    from llwlc.graph.graph import Graph

GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="A dataset (llwlc data list) or an edge list file.",
        autocompletion=completer(DATASETS),
    ),
]

DEFAULT_LIMIT = 2.0
LimitOption = Annotated[
    float,
    typer.Option(
        min=0,
        help="Gigabytes that a compressed file may unpack to: a small one can hold more than any memory; 0: any number.",
    ),
]


def bytes_of(gigabytes: float) -> int | None:
    """A limit in bytes, None for none.

    >>> bytes_of(2), bytes_of(0)
    (2147483648, None)
    """
    if math.isnan(gigabytes):
        raise InputError("--unzipped-limit is a number of gigabytes, got nan: give one, or 0 for no limit")
    return None if gigabytes == 0 else math.ceil(min(gigabytes, 2.0**30) * 2**30)


@dataclass(frozen=True)
class GraphOptions:
    """How the file of a graph is read, each field an option of the command line."""

    source: Annotated[str | None, typer.Option(help="Column of one end of an edge.")] = None
    target: Annotated[str | None, typer.Option(help="Column of the other end.")] = None
    weight: Annotated[str, typer.Option(help="Column of edge weights; auto: one called weight; none: no weights.")] = (
        "auto"
    )
    time: Annotated[str, typer.Option(help="Column of edge times; auto: one called time; none: no times.")] = "auto"
    no_header: Annotated[bool, typer.Option("--no-header", help="The first line is an edge; columns are 1, 2, ...")] = (
        False
    )
    separator: Annotated[str | None, typer.Option(help="Separator of the columns, if it is not found by itself.")] = (
        None
    )
    features: Annotated[Path | None, typer.Option(help="Node features: CSV, TSV, Parquet or npz.")] = None
    node: Annotated[str | None, typer.Option(help="Column of node ids in the features file.")] = None
    categorical: Annotated[
        list[str] | None, typer.Option(help="Feature column whose numbers are categories; may be repeated.")
    ] = None
    isolated: Annotated[str, typer.Option(help="A node with features but no edge: error or keep.")] = "error"
    unzipped_limit: LimitOption = DEFAULT_LIMIT

    def open(self, name: str) -> Graph:
        """The dataset of that name, or the graph of that file, with its counts and warnings said on stderr."""
        if name in DATASETS and not Path(name).is_file():
            if any(getattr(self, option.name) not in (option.default, []) for option in fields(self)):
                raise InputError(f"{name} is a dataset: options on columns and features are for files")
            from llwlc import datasets

            return datasets.load(name)
        if not Path(name).exists() and Path(name).name == name and "." not in name:
            close = difflib.get_close_matches(name, DATASETS, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise InputError(
                f"there is neither a dataset nor a file called {name!r}.{hint} llwlc data list names the datasets"
            )
        graph = self._read(name)
        if graph.report is not None:
            say(f"{name}: {graph.report.line}")
            for text in graph.report.warnings:
                say(f"Warning: {text}", style="yellow")
        sys.stderr.flush()
        return graph

    def kinds(self, graph: Graph, column: str) -> tuple[str, ...]:
        """The kind of each node, from a column of the features file."""
        if self.features is None:
            raise InputError("--kind names a column of the features file: give --features too")
        from llwlc.graph.kind_column import read_kinds

        return read_kinds(self.features, graph, column, node=self.node)

    def _read(self, name: str) -> Graph:
        from llwlc.graph.edge_file import read_graph
        from llwlc.graph.report import GraphWarning

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GraphWarning)  # the command says them, without Python's file and line
            return read_graph(
                name,
                source=self.source,
                target=self.target,
                weight=None if self.weight == "none" else self.weight,
                time=None if self.time == "none" else self.time,
                header=False if self.no_header else None,
                separator="\t" if self.separator in ("tab", "\\t") else self.separator,
                features=self.features,
                node=self.node,
                categorical=self.categorical or (),
                isolated=self.isolated,
                unzipped_limit=bytes_of(self.unzipped_limit),
            )


def takes_graph_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with its keyword `graph_options: GraphOptions` written out as one option a field, for typer to see."""
    whole = inspect.signature(command, eval_str=True)
    kinds = get_type_hints(GraphOptions, include_extras=True)
    expanded = [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=kinds[f.name])
        for f in fields(GraphOptions)
    ]
    kept = [parameter for parameter in whole.parameters.values() if parameter.name != "graph_options"]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        of_graph = {parameter.name: given.pop(parameter.name) for parameter in expanded}
        command(**given, graph_options=GraphOptions(**of_graph))

    # typer reads both
    run.__signature__ = whole.replace(parameters=[*kept, *expanded])  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in [*kept, *expanded]}
    return run
