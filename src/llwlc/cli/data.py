"""`llwlc data`: the graphs at hand, and what is in a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from llwlc.cli.console import Group, show
from llwlc.cli.graph_options import GraphArgument, GraphOptions, takes_graph_options
from llwlc.cli.options import PluginOption, completer, load_plugins
from llwlc.datasets.catalog import DATASETS

if TYPE_CHECKING:
    from llwlc.graph.graph import Graph

data = typer.Typer(cls=Group, no_args_is_help=True, help="The graphs at hand, and what is in a graph.")


@data.command("list")
def list_datasets(plugin: PluginOption = None) -> None:
    """Names the datasets and says what they are. Example: `llwlc data list`"""
    load_plugins(plugin)
    from llwlc import datasets

    for name in datasets.names():
        about = datasets.info(name)
        typer.echo(
            f"{name:<16}{about.nodes:>10,} nodes{about.edges:>11,} edges{about.features:>7,} features   {about.what}"
        )


@data.command("get")
def get_dataset(
    name: Annotated[str, typer.Argument(help="A name of llwlc data list.", autocompletion=completer(DATASETS))],
) -> None:
    """Loads a dataset, and fetches it first where it is not there yet. Example: `llwlc data get pubmed`"""
    from llwlc import datasets

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
    show(graph, overview(graph_options.open(graph)))


def overview(graph: Graph) -> list[tuple[str, str]]:
    """What there is to know of a graph at a glance."""
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
