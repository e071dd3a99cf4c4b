"""Options for the graph of a command: a dataset by its name, or a file and how to read it."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from llwlc._cli.console import print_status
from llwlc._cli.options import make_completer
from llwlc._io.database_url import is_database_url, redact
from llwlc._support.repeated_warnings import suppress_warnings
from llwlc._support.stopwatch import STARTING, stage
from llwlc.datasets._catalog import DATASETS
from llwlc.errors import InputError

if TYPE_CHECKING:
    from llwlc._io.database import Query
    from llwlc._predictor import LinkPredictor
    from llwlc.graph._graph import Graph

GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help=(
            "A dataset (llwlc data list) or a file: an edge list (CSV, TSV, Parquet, SNAP, KONECT), GraphML, GEXF,"
            " Matrix Market, graph6, each also gzipped; a packed graph (llwlc data pack); or a database"
            " (sqlite:///FILE, duckdb:///FILE, postgresql://HOST/NAME, neo4j://HOST) with --query."
        ),
        autocompletion=make_completer(DATASETS),
    ),
]

DEFAULT_LIMIT = 2.0
LimitOption = Annotated[
    float,
    typer.Option(
        min=0,
        help="Gigabytes that a compressed file may unpack to, a guard against decompression bombs; 0: no limit.",
    ),
]


def gigabytes_to_bytes(gigabytes: float) -> int | None:
    """A limit in bytes, None for none.

    >>> gigabytes_to_bytes(2), gigabytes_to_bytes(0)
    (2147483648, None)
    """
    if math.isnan(gigabytes):
        raise InputError("--unzipped-limit is a number of gigabytes, got nan: give one, or 0 for no limit")
    return None if gigabytes == 0 else math.ceil(min(gigabytes, 2.0**30) * 2**30)


@dataclass(frozen=True)
class GraphOptions:
    """How the file of a graph is read; each field is an option of the command line."""

    source: Annotated[str | None, typer.Option(help="Column of one end of an edge.")] = None
    target: Annotated[str | None, typer.Option(help="Column of the other end.")] = None
    weight: Annotated[
        str, typer.Option(help="Column of edge weights; auto: a column named weight; none: no weights.")
    ] = "auto"
    time: Annotated[str, typer.Option(help="Column of edge times; auto: a column named time; none: no times.")] = "auto"
    no_header: Annotated[bool, typer.Option("--no-header", help="The first line is an edge; columns are 1, 2, ...")] = (
        False
    )
    separator: Annotated[str | None, typer.Option(help="Separator of the columns; by default it is detected.")] = None
    query: Annotated[
        str | None,
        typer.Option(
            help="With a database: the query, as in 'select a, b from orders'. Passwords: PGPASSWORD, ~/.pgpass."
        ),
    ] = None
    features: Annotated[
        str | None,
        typer.Option(
            help=(
                "Node features: CSV, TSV, Parquet; npz, with x [nodes, features] (or a sparse matrix as"
                " scipy.sparse.save_npz writes it) and names [nodes]; or a database."
            )
        ),
    ] = None
    features_query: Annotated[
        str | None, typer.Option(help="With a database in --features: the query, one row per node.")
    ] = None
    node: Annotated[str | None, typer.Option(help="Column of node ids in the features file.")] = None
    categorical: Annotated[
        list[str] | None, typer.Option(help="Feature column whose numbers are categories; may be repeated.")
    ] = None
    missing_values: Annotated[
        str,
        typer.Option(
            help=(
                "Missing values in the features: fill (with the mean of the column; an added column marks them) or"
                " error."
            )
        ),
    ] = "fill"
    node_list: Annotated[
        Path | None,
        typer.Option(help="File of node names, one per row, so that nodes without edges are part of the graph."),
    ] = None
    isolated: Annotated[
        str, typer.Option(help="What to do with a node that has features but no edge: error, keep or drop.")
    ] = "error"
    bipartite: Annotated[
        bool | None,
        typer.Option(
            "--bipartite/--no-bipartite",
            help=(
                "Whether the two columns number different things, such as users and items, so that 7 and 7 are two"
                " nodes."
            ),
            show_default="detected",
        ),
    ] = None
    link_attributes: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="Columns of numbers of the links beyond the weight, as in years,calls, which the stack reads.",
        ),
    ] = None
    unzipped_limit: LimitOption = DEFAULT_LIMIT

    @stage("reading")
    def open(self, name: str, *, directed: bool = False) -> Graph:
        """The dataset of that name, or the graph of that file or query; its counts and warnings are printed on
        stderr. `directed`: keep which way its links point.
        """
        if directed and self.bipartite:
            raise InputError(
                "--directed has nothing to tell with --bipartite, as all links lead from the first column to the"
                " second: leave one of them out"
            )
        if is_database_url(name):
            found = self._read(name, directed=directed)
            print_report(redact(name), found)
            return found
        if name in DATASETS and not Path(name).is_file():
            if any(getattr(self, option.name) not in (option.default, []) for option in fields(self)):
                raise InputError(f"{name} is a dataset: options on columns and features are for files")
            if directed:
                raise InputError(f"{name} is a dataset, and datasets are undirected: leave --directed out")
            with stage(STARTING):
                from llwlc import datasets

            return datasets.load(name)
        if Path(name).is_dir():
            if directed:
                raise InputError(
                    f"{name} is a packed graph, which does not keep which way its links point: give the file of links,"
                    " or leave --directed out"
                )
            return self._open_packed(name)
        if not Path(name).exists() and Path(name).name == name and "." not in name and self.query is None:
            close = difflib.get_close_matches(name, DATASETS, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise InputError(
                f"there is neither a dataset nor a file called {name!r}.{hint} llwlc data list names the datasets"
            )
        graph = self._read(name, directed=directed)
        print_report(name, graph)
        return graph

    def _open_packed(self, name: str) -> Graph:
        ineffective = [option.name for option in fields(self) if getattr(self, option.name) not in (option.default, [])]
        ineffective = [option for option in ineffective if not (option == "weight" and self.weight == "none")]
        if ineffective:
            raise InputError(f"{name} is a packed graph: --{ineffective[0].replace('_', '-')} is for files")
        from llwlc.graph._graph import Graph

        graph = Graph.open(name)
        return replace(graph, weight=None) if self.weight == "none" else graph

    def read_node_types(self, graph: Graph, column: str) -> tuple[str, ...]:
        """The type of each node, from a column of the features file."""
        if self.features is None:
            raise InputError("--node-type names a column of the features file: give --features too")
        from llwlc.graph._node_type_column import read_node_types

        source = make_source(self.features, self.features_query, "--features-query")
        return read_node_types(source, graph, column, node=self.node)

    def _read(self, name: str, *, directed: bool = False) -> Graph:
        with stage(STARTING):
            from llwlc.graph._edge_file import read_graph
            from llwlc.graph._report import GraphWarning

        with suppress_warnings(GraphWarning):  # the command prints them, without Python's file and line
            return read_graph(
                make_source(name, self.query, "--query"),
                source=self.source,
                target=self.target,
                weight=None if self.weight == "none" else self.weight,
                time=None if self.time == "none" else self.time,
                header=False if self.no_header else None,
                separator=parse_separator(self.separator),
                features=make_source(self.features, self.features_query, "--features-query"),
                node=self.node,
                categorical=self.categorical or (),
                missing_values=self.missing_values,
                node_list=self.node_list,
                isolated=self.isolated,
                unzipped_limit=gigabytes_to_bytes(self.unzipped_limit),
                directed=directed,
                bipartite=self.bipartite,
                link_attributes=split_names(self.link_attributes),
            )


def split_names(text: str | None) -> tuple[str, ...]:
    """Names between commas.

    >>> split_names("years, calls"), split_names(None)
    (('years', 'calls'), ())
    """
    return () if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def make_source(name: str | None, query: str | None, option: str) -> str | Query | None:
    """A file by its name, or the rows of a query to a database; `option` is the one that says the query."""
    from llwlc._io.database import Query, make_missing_query_error

    if name is None:
        if query is not None:
            raise InputError(f"{option} is for a database: name it too")
        return None
    if not is_database_url(name):
        if query is not None:
            raise InputError(
                f"{option} is for a database such as sqlite:///shop.db, and {name} is not one: leave it out"
            )
        return name
    if query is None:
        raise make_missing_query_error(name, option)
    return Query(name, query)


def print_report(name: str, graph: Graph) -> None:
    """Prints the counts and warnings of a graph that was read, on stderr."""
    from llwlc.graph._names import describe_odd_names

    if graph.report is not None:
        print_status(f"{name}: {graph.report.line}")
        if graph.report.unused:
            print_status(graph.report.unused_line)
        for text in (*describe_odd_names(graph.names), *graph.report.warnings):
            print_status(f"Warning: {text}", style="yellow")
    sys.stderr.flush()


@dataclass(frozen=True)
class UpdateOptions:
    """Changes of the graph since a run was fitted; each field is an option of `score` and `recommend`."""

    graph: Annotated[
        str | None,
        typer.Option(help="File or database of the updated graph, which replaces the one that the run was fitted on."),
    ] = None
    graph_query: Annotated[str | None, typer.Option(help="With a database in --graph: the query.")] = None
    add: Annotated[str | None, typer.Option(help="File or database of new links, added to the known ones.")] = None
    add_query: Annotated[str | None, typer.Option(help="With a database in --add: the query.")] = None
    node_list: Annotated[
        Path | None,
        typer.Option(help="File of node names, one per row, so that nodes without links are part of the graph."),
    ] = None
    features: Annotated[
        str | None,
        typer.Option(
            help="Features of nodes that the run does not know; known ones keep theirs unless the table has them."
        ),
    ] = None
    new_nodes: Annotated[
        Path | None,
        typer.Option(metavar="NODES", help="Table of new nodes, one per row, with the features that the run knows."),
    ] = None
    features_query: Annotated[str | None, typer.Option(help="With a database in --features: the query.")] = None
    graph_source: Annotated[str | None, typer.Option(help="Column of one end of a link in --graph and --add.")] = None
    graph_target: Annotated[str | None, typer.Option(help="Column of the other end in --graph and --add.")] = None
    graph_weight: Annotated[
        str,
        typer.Option(
            "--graph-weight", "--weight", help="Column of weights in --graph and --add, if the run has weights."
        ),
    ] = "auto"
    graph_separator: Annotated[str | None, typer.Option(help="Separator of the columns in --graph and --add.")] = None
    graph_no_header: Annotated[
        bool, typer.Option("--graph-no-header", help="The first line of --graph and --add is a link.")
    ] = False
    graph_node: Annotated[str | None, typer.Option(help="Column of node ids in --features, and in --node-list.")] = None
    unzipped_limit: LimitOption = DEFAULT_LIMIT

    @stage("reading")
    def apply(self, model: LinkPredictor) -> Graph | None:
        """The updated graph, with a line about it on stderr; None if no option changes the run's own graph."""
        sources: dict[str, Any] = {
            name: make_source(getattr(self, name), getattr(self, f"{name}_query"), f"--{name}-query")
            for name in ("graph", "add", "features")
        }
        sources |= {"node_list": self.node_list, "new_nodes": self.new_nodes}
        if all(sources[name] is None for name in ("graph", "add", "node_list", "new_nodes")):
            given = [f.name for f in fields(self) if f.name != "unzipped_limit" and getattr(self, f.name) != f.default]
            if given:
                raise InputError(
                    f"--{given[0].replace('_', '-')} is for the updated graph: give --graph, --add, --node-list or"
                    " --new-nodes too"
                )
            return None
        if self.graph_weight != "auto" and model.graph_.weight is None:
            raise InputError("--graph-weight is for a run that was fitted with weights; this one has none")
        updated = model.updated_graph(
            **sources,
            source=self.graph_source,
            target=self.graph_target,
            weight=self.graph_weight,
            separator=parse_separator(self.graph_separator),
            header=False if self.graph_no_header else None,
            node=self.graph_node,
            unzipped_limit=gigabytes_to_bytes(self.unzipped_limit),
        )
        new = updated.num_edges - model.graph_.num_edges
        print_status(
            f"the updated graph has {updated.num_nodes:,} nodes and {updated.num_edges:,} links ({new:+,} against"
            f" the run)"
        )
        if updated.report is not None and updated.report.self_loops:
            loops = updated.report.self_loops
            print_status(f"{loops:,} {'row joins' if loops == 1 else 'rows join'} a node with itself: dropped")
        return updated


def parse_separator(separator: str | None) -> str | None:
    return "\t" if separator in ("tab", "\\t") else separator


def expand_options(kind: type[Any], keyword: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replaces a command's keyword argument, a dataclass of options, by one parameter for each field, which typer then
    shows as an option.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        whole = inspect.signature(command, eval_str=True)
        kinds = get_type_hints(kind, include_extras=True)
        expanded = [
            inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=kinds[f.name])
            for f in fields(kind)
        ]
        kept = [parameter for parameter in whole.parameters.values() if parameter.name != keyword]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            of_kind = {parameter.name: given.pop(parameter.name) for parameter in expanded}
            command(**given, **{keyword: kind(**of_kind)})

        # typer reads both
        run.__signature__ = whole.replace(parameters=[*kept, *expanded])  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in [*kept, *expanded]}
        return run

    return decorate


takes_graph_options = expand_options(GraphOptions, "graph_options")
takes_update_options = expand_options(UpdateOptions, "update")
