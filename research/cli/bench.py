"""`python -m research bench`: pairs to eigenbases, timed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from llwlc._cli.console import print_rows
from llwlc._cli.options import make_completer, refuse_options
from llwlc.datasets._catalog import DATASETS
from llwlc.errors import InputError


def bench(
    ctx: typer.Context,
    graph: Annotated[
        str,
        typer.Argument(
            help="A dataset (llwlc data list), or with --scale a generated graph.",
            autocompletion=make_completer(DATASETS),
        ),
    ] = "cora",
    links: Annotated[
        int | None, typer.Option(min=2, help="Number of pairs; 1024, or with --scale or cuda twice the edges.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="How often each method is timed; its best time counts.")] = 3,
    out: Annotated[Path | None, typer.Option(help="Folder for bench.json and bench.png.")] = None,
    scale: Annotated[
        bool, typer.Option("--scale", help="Stream all pairs of a large generated graph instead.")
    ] = False,
    scores: Annotated[
        bool,
        typer.Option("--scores", help="Time scoring and an epoch of training instead, and the same for baselines."),
    ] = False,
    device: Annotated[
        str, typer.Option(help="cpu, or cuda: times on a GPU, for all links of the graph and for an epoch.")
    ] = "cpu",
) -> None:
    """Times the computation of eigenbases against the usual methods.

    All methods get the same links and one core. With --scores: the time from pairs to scores, and of an epoch of
    training, on one core and on two.

    Examples:

    `python -m research bench pubmed --out bench`

    `python -m research bench pubmed --scores`

    `python -m research bench coauthor-like --scale`

    `python -m research bench pubmed --device cuda`
    """
    if device not in ("cpu", "cuda"):
        raise InputError(f"--device is cpu or cuda, got {device!r}")
    if scale and (device == "cuda" or out is not None):
        raise InputError(
            "--scale prints its figures on the CPU, without --device or --out; --device cuda takes all links by itself"
        )
    if scores and (scale or device == "cuda"):
        raise InputError("--scores is measured on the CPU, without --scale or --device cuda")
    if scale:
        refuse_options(ctx, "repeats", why="with --scale, which streams the pairs once")
    from research import bench as benchmark

    if scale:
        print_rows(f"{graph}, streamed", benchmark.scale_table(benchmark.scale(graph, links=links)))
        return
    if scores:
        waited = benchmark.run_scores(graph, links=links or 2048, repeats=repeats)
        print_rows(f"{waited.graph}, scores and epochs", benchmark.scores_table(waited))
        files = benchmark.save(waited, out) if out is not None else []
    elif device == "cuda":
        on_gpu = benchmark.run_gpu(graph, links=links, repeats=repeats)
        print_rows(f"{on_gpu.graph}, {on_gpu.links:,} links", benchmark.gpu_table(on_gpu))
        files = benchmark.save(on_gpu, out) if out is not None else []
    else:
        report = benchmark.run(graph, links=links or 1024, repeats=repeats)
        rows = [(what, f"{figure}   {note}") for what, figure, note in benchmark.table(report)]
        print_rows(f"{report.graph}, {report.links} links", rows)
        files = benchmark.save(report, out) if out is not None else []
    for file in files:
        typer.echo(f"wrote {file}")
