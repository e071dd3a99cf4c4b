"""The command line: thin, every command one call."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import numpy as np
import scipy.sparse.csgraph
import typer

from llwlc import cli_run, console
from llwlc.console import show
from llwlc.graph import Graph

app = typer.Typer(
    cls=console.Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Finds the links that are missing from a graph.",
    epilog="First steps: `llwlc data list`, `llwlc data show cora`, `llwlc fit edges.csv --out run`, `llwlc recommend run`.",
)
data = typer.Typer(cls=console.Group, no_args_is_help=True, help="The graphs at hand, and what is in a graph.")
app.add_typer(data, name="data")


def main() -> None:
    """Entry point. Input that cannot be used, and wrong usage, end with code 2; an interrupt with 130."""
    app()


@app.callback(invoke_without_command=True)
def about(
    show_version: Annotated[bool, typer.Option("--version", help="Say the version and stop.", is_eager=True)] = False,
) -> None:
    if show_version:
        typer.echo(f"llwlc {version('llwlc')}")
        raise typer.Exit


@data.command("list")
def list_datasets() -> None:
    """Names the datasets and says what they are. Example: `llwlc data list`"""
    from llwlc import datasets

    for name in datasets.names():
        about = datasets.info(name)
        typer.echo(
            f"{name:<16}{about.nodes:>10,} nodes{about.edges:>11,} edges{about.features:>7,} features   {about.what}"
        )


@data.command("get")
def get_dataset(
    name: Annotated[str, typer.Argument(help="A name of llwlc data list.")],
) -> None:
    """Loads a dataset, and fetches it first where it is not there yet. Example: `llwlc data get pubmed`"""
    from llwlc import datasets

    graph = datasets.load(name)
    typer.echo(f"{name} is ready: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges")


@data.command("show")
def show_graph(
    graph: console.GraphArgument,
    source: console.SourceOption = None,
    target: console.TargetOption = None,
    weight: console.WeightOption = "auto",
    time: console.TimeOption = "auto",
    no_header: console.NoHeaderOption = False,
    separator: console.SeparatorOption = None,
    features: console.FeaturesOption = None,
    node: console.NodeOption = None,
    categorical: console.CategoricalOption = None,
    isolated: console.IsolatedOption = "error",
) -> None:
    """Counts nodes, edges, components and degrees of a dataset or a file.

    Examples:

    `llwlc data show cora`

    `llwlc data show edges.csv --source from --target to`

    `llwlc data show edges.tsv.gz --no-header --features nodes.csv --isolated keep`
    """
    found = console.open_graph(
        graph,
        source=source,
        target=target,
        weight=weight,
        time=time,
        no_header=no_header,
        separator=separator,
        features=features,
        node=node,
        categorical=categorical,
        isolated=isolated,
    )
    show(graph, overview(found))


for command in (cli_run.fit, cli_run.score, cli_run.recommend, cli_run.evaluate):
    app.command()(command)


def overview(graph: Graph) -> list[tuple[str, str]]:
    """What there is to know of a graph at a glance."""
    degree = graph.degree
    count, part = scipy.sparse.csgraph.connected_components(graph.to_scipy(), directed=False)
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


@app.command()
def bench(
    graph: Annotated[
        str, typer.Argument(help="A dataset (llwlc data list), or with --scale a generated graph.")
    ] = "cora",
    links: Annotated[
        int | None, typer.Option(min=2, help="Number of pairs; 1024, or with --scale or cuda twice the edges.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Turns of every method; the best one counts.")] = 3,
    out: Annotated[Path | None, typer.Option(help="Folder for bench.json and bench.png.")] = None,
    scale: Annotated[
        bool, typer.Option("--scale", help="Stream all pairs of a large generated graph instead.")
    ] = False,
    device: Annotated[
        str, typer.Option(help="cpu, or cuda: the times of a GPU, of all links of the graph and of an epoch.")
    ] = "cpu",
) -> None:
    """Times pairs to eigenbases against the usual ways, on the same links, one core against one core.

    Examples:

    `llwlc bench pubmed --out bench`

    `llwlc bench coauthor-like --scale`

    `llwlc bench pubmed --device cuda`
    """
    from llwlc import bench as benchmark
    from llwlc.errors import InputError

    if device not in ("cpu", "cuda"):
        raise InputError(f"--device is cpu or cuda, got {device!r}")
    if scale and (device == "cuda" or out is not None):
        raise InputError(
            "--scale prints its figures on the CPU, without --device or --out; --device cuda takes all links by itself"
        )
    if device == "cuda":
        found = benchmark.run_gpu(graph, links=links, repeats=repeats)
        show(f"{found.graph}, {found.links:,} links", benchmark.gpu_table(found))
        for file in benchmark.save(found, out) if out is not None else []:
            typer.echo(f"wrote {file}")
        return
    if scale:
        show(f"{graph}, streamed", benchmark.scale_table(benchmark.scale(graph, links=links)))
        return
    report = benchmark.run(graph, links=links or 1024, repeats=repeats)
    show(
        f"{report.graph}, {report.links} links",
        [(what, f"{figure}   {note}") for what, figure, note in benchmark.table(report)],
    )
    for file in benchmark.save(report, out) if out is not None else []:
        typer.echo(f"wrote {file}")


@app.command()
def expressivity(
    suite: Annotated[
        list[str] | None, typer.Option(help="A suite of pairs, several times for several; default: all.")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option(help="A policy or test, several times for several; default: all.")
    ] = None,
    max_seconds: Annotated[float, typer.Option(help="Skip a pair that would take longer than this.")] = 60.0,
    out: Annotated[
        Path | None,
        typer.Option(help="File of the rows (JSON; --learned: a line a trial). What is there is not run again."),
    ] = None,
    gallery: Annotated[Path | None, typer.Option(help="Write the page of pictures to this file and stop.")] = None,
    learned: Annotated[
        bool, typer.Option("--learned", help="Train the network on each pair of the suites instead.")
    ] = False,
    seeds: Annotated[int, typer.Option(help="With --learned: so many networks a pair.")] = 1,
    processes: Annotated[int, typer.Option(help="With --learned: so many at a time, one thread each.")] = 1,
    copies: Annotated[int, typer.Option(min=0, help="Compare this many graphs with relabelled copies instead.")] = 0,
) -> None:
    """Counts the pairs of graphs that constrained bases tell apart, beside WL tests and published results.

    Examples:

    `llwlc expressivity --suite paper --suite csl`

    `llwlc expressivity --suite brec-str --policy 3-wl --policy filter`

    `llwlc expressivity --gallery gallery.html`
    """
    from llwlc.expressivity import command

    for text in command.run(
        suite,
        policy,
        max_seconds=max_seconds,
        out=out,
        gallery=gallery,
        learned=learned,
        seeds=seeds,
        processes=processes,
        copies=copies,
    ):
        typer.echo(text)
