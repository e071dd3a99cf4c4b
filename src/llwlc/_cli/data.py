"""`llwlc data`: lists datasets, describes graphs, checks splits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from llwlc._cli.console import OUT, Group, print_rows, print_status, print_table, print_text
from llwlc._cli.graph_options import GraphArgument, GraphOptions, make_source, takes_graph_options
from llwlc._cli.options import PluginOption, load_plugins, make_completer
from llwlc._io.database_url import redact
from llwlc._support.stopwatch import STARTING, stage
from llwlc.datasets._catalog import DATASETS
from llwlc.errors import InputError
from llwlc.splits._registry import PROTOCOLS, Protocol

if TYPE_CHECKING:
    from llwlc.graph._graph import Graph

data = typer.Typer(cls=Group, no_args_is_help=True, help="Lists datasets, describes a graph, checks a split.")


@data.command("list")
def list_datasets(plugin: PluginOption = None) -> None:
    """Lists the datasets with their sizes. Example: `llwlc data list`"""
    load_plugins(plugin)
    with stage(STARTING):
        from llwlc import datasets

    for name in datasets.names():
        about = datasets.info(name)
        typer.echo(
            f"{name:<16}{about.nodes:>10,} nodes{about.edges:>11,} edges{about.features:>7,} features   {about.what}"
        )


@data.command("get")
def get_dataset(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A name of llwlc data list.", autocompletion=make_completer(DATASETS))
    ],
) -> None:
    """Downloads a dataset, unless it is there already. Example: `llwlc data get pubmed`"""
    with stage(STARTING):
        from llwlc import datasets

    with stage("reading"):
        graph = datasets.load(name)
    typer.echo(f"{name} is ready: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges")


@data.command("show")
@takes_graph_options
def show_graph(graph: GraphArgument, plugin: PluginOption = None, *, graph_options: GraphOptions) -> None:
    """Counts nodes, edges, components and degrees of a dataset or a file.

    Examples:

    `llwlc data show cora`

    `llwlc data show edges.csv --source from --target to`

    `llwlc data show edges.tsv.gz --no-header --features nodes.csv --isolated keep`
    """
    load_plugins(plugin)
    full_graph = graph_options.open(graph)
    with stage("counting"):
        rows = describe_graph(full_graph)
    print_rows(redact(graph), rows)


@data.command("pack")
def pack_graph(
    edges: Annotated[
        str,
        typer.Argument(
            metavar="EDGES",
            help="Edge list of any size: CSV, TSV (also gzipped), Parquet, or a database with --query.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder for the packed graph.")],
    query: Annotated[
        str | None, typer.Option(help="With a database: the query, as in 'select a, b from orders'.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Column of one end of an edge.")] = None,
    target: Annotated[str | None, typer.Option(help="Column of the other end.")] = None,
    weight: Annotated[
        str, typer.Option(help="Column of edge weights; auto: a column named weight; none: no weights.")
    ] = "auto",
    time: Annotated[
        str, typer.Option(help="Column of edge times; auto: a column named time; none: no times.")
    ] = "auto",
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first line is an edge; columns are 1, 2, ...")
    ] = False,
    separator: Annotated[str | None, typer.Option(help="Separator of the columns; by default it is detected.")] = None,
    memory: Annotated[
        float, typer.Option(min=0.1, max=1024, help="Gigabytes of memory for sorting; the rest is sorted on disk.")
    ] = 1.0,
) -> None:
    """Packs an edge list that does not fit in memory into a folder of arrays, which other commands map instead of
    reading.

    Examples:

    `llwlc data pack edges.csv -o graph`

    `llwlc data pack postgresql://localhost/shop --query "select customer, item from orders" -o graph`

    `llwlc score run pairs.parquet -o scores.parquet --graph graph`
    """
    with stage(STARTING):
        from llwlc.graph._packing import pack

    origin = make_source(edges, query, "--query")
    assert origin is not None
    before = out.exists()
    with stage("packing"):
        report = pack(
            origin,
            out,
            memory=memory,
            source=source,
            target=target,
            weight=None if weight == "none" else weight,
            time=None if time == "none" else time,
            header=False if no_header else None,
            separator="\t" if separator in ("tab", "\\t") else separator,
        )
    print_status(f"{redact(edges)}: {report.line}")
    if report.unused:
        print_status(report.unused_line)
    for text in report.warnings:
        print_status(f"Warning: {text}", style="yellow")
    print_status(f"{out} was packed from it already" if before else f"written to {out}")


@data.command("audit")
@takes_graph_options
def audit_split(
    split: Annotated[
        Path, typer.Argument(metavar="SPLIT", help="A run folder, or a split file that LinkSplit.save wrote.")
    ],
    graph: Annotated[
        str | None, typer.Option(help="With a split file: the dataset or file that was split; its options as in fit.")
    ] = None,
    plugin: PluginOption = None,
    *,
    graph_options: GraphOptions,
) -> None:
    """Checks a split for leaks.

    A leak is a pair in two parts, a negative that is a link, or a message graph that contains links to be predicted.
    The exit code is 1 if there is one.

    Examples:

    `llwlc data audit run`

    `llwlc data audit split.safetensors --graph edges.csv --source from --target to`
    """
    load_plugins(plugin)
    with stage(STARTING):
        from llwlc._runs import directory as run_directory
        from llwlc.splits._auditing import audit

    if split.is_dir():
        if graph is not None:
            raise InputError("a run stores the graph that it split: leave --graph out")
        with stage("reading"):
            run = run_directory.load(split)
        parts, whole = run.split, run.graph
    else:
        if graph is None:
            raise InputError(f"{split} is not a run folder: with a split file, give its graph with --graph")
        whole = graph_options.open(graph)
        with stage("reading"):
            parts = run_directory.load_split(split, whole)
    with stage("auditing"):
        report = audit(parts, whole)
    for line in str(report).splitlines():
        print_text(line)
    if not report.ok:
        raise typer.Exit(1)


@data.command("protocols")
@takes_graph_options
def show_protocols(
    graph: Annotated[
        str | None,
        typer.Argument(
            metavar="[GRAPH]",
            help="A dataset or file, to see how many links each part of it would have.",
            autocompletion=make_completer(DATASETS),
        ),
    ] = None,
    plugin: PluginOption = None,
    *,
    graph_options: GraphOptions,
) -> None:
    """Lists the protocols: how links are divided and negatives drawn; with a graph, the sizes of its parts under each.

    Examples:

    `llwlc data protocols`

    `llwlc data protocols cora`
    """
    load_plugins(plugin)
    if graph is None:
        columns = Table(
            "protocol", "how links are divided", "negatives", "messages at test", "compared by", pad_edge=False
        )
        print_table(columns, [_protocol_row(record) for record in PROTOCOLS.records()])
        return
    with stage(STARTING):
        from llwlc.splits._making import NUM_HARD, part_sizes

    table = Table("protocol", "train", "valid", "test", "negatives, valid", "negatives, test", pad_edge=False)
    full_graph = graph_options.open(graph)
    for name in PROTOCOLS:
        if not PROTOCOLS[name].from_dataset:
            with stage("splitting"):
                sizes = part_sizes(full_graph, name)
            own = f"{NUM_HARD:,} × " if PROTOCOLS[name].negatives else ""
            links, negatives = sizes[:3], sizes[3:]
            table.add_row(name, *(f"{size:,}" for size in links), *(f"{own}{size:,}" for size in negatives))
    OUT.print(table)


def _protocol_row(record: Protocol) -> list[str]:
    negatives = (
        "each link's own, hard" if record.negatives else "the dataset's" if record.from_dataset else "random pairs"
    )
    messages = "training, validation links" if record.valid_messages else "training links"
    return [
        record.name,
        record.about,
        negatives,
        messages,
        "as the dataset says" if record.from_dataset else record.metric,
    ]


def describe_graph(graph: Graph) -> list[tuple[str, str]]:
    """The rows of `llwlc data show`: sizes, components and degrees of a graph."""
    import numpy as np
    from scipy.sparse.csgraph import connected_components

    degree = graph.degree
    count, part = connected_components(graph.to_scipy(), directed=False)
    rows = [
        ("nodes", f"{graph.num_nodes:,}"),
        ("edges", f"{graph.num_edges:,}"),
        ("components", f"{count:,}"),
    ]
    if graph.num_nodes:
        rows += [
            ("nodes in the largest", f"{int(np.bincount(part).max()):,}"),
            ("isolated nodes", f"{int((degree == 0).sum()):,}"),
            ("degree, mean", f"{float(degree.double().mean()):.2f}"),
            ("degree, median", f"{int(degree.median()):,}"),
            ("degree, largest", f"{int(degree.max()):,}"),
        ]
    width = "none" if graph.x is None else f"{graph.x.shape[1]:,}"
    return [
        *rows,
        ("features", width),
        ("weights", "no" if graph.weight is None else "yes"),
        ("times", "no" if graph.time is None else "yes"),
    ]
