"""`python -m research expressivity`: which graphs constrained bases tell apart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from llwlc._cli.options import refuse_options


def expressivity(
    ctx: typer.Context,
    suite: Annotated[
        list[str] | None, typer.Option(help="A suite of pairs of graphs; may be repeated; default: all.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="A policy (how bases are compared) or a WL test; may be repeated; default: all."),
    ] = None,
    graphs: Annotated[
        tuple[Path, Path] | None, typer.Option(help="Compare two graphs of your own instead, a file each.")
    ] = None,
    max_seconds: Annotated[float, typer.Option(help="Skip a pair that would take longer than this.")] = 60.0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File of the results (JSON; with --learned JSON lines). Results in it are not computed again."
        ),
    ] = None,
    gallery: Annotated[Path | None, typer.Option(help="Write the page of pictures to this file and stop.")] = None,
    learned: Annotated[
        bool, typer.Option("--learned", help="Train the network on each pair of the suites instead.")
    ] = False,
    seeds: Annotated[int, typer.Option(help="With --learned: networks trained for each pair.")] = 1,
    processes: Annotated[int, typer.Option(help="With --learned: processes at a time, one thread each.")] = 1,
    copies: Annotated[int, typer.Option(min=0, help="Compare this many graphs with relabelled copies instead.")] = 0,
) -> None:
    """Counts the pairs of graphs that constrained bases tell apart, beside WL tests and published results.

    Examples:

    `python -m research expressivity --suite paper --suite csl`

    `python -m research expressivity --suite brec-str --policy 3-wl --policy filter`

    `python -m research expressivity --graphs a.g6 b.g6`

    `python -m research expressivity --gallery gallery.html`
    """
    if graphs:
        refuse_options(ctx, "suite", "out", "gallery", "learned", "seeds", "processes", "copies", why="with --graphs")
    if gallery is not None:
        refuse_options(ctx, "suite", "policy", "max_seconds", "out", "learned", "copies", why="with --gallery")
    if learned:
        refuse_options(ctx, "policy", "max_seconds", "copies", why="with --learned")
    else:
        refuse_options(ctx, "seeds", "processes", why="without --learned")
    if copies:
        refuse_options(ctx, "policy", "out", why="with --copies")
    from research.expressivity import command

    for text in command.make_tables(
        suite,
        policy,
        graphs=graphs,
        max_seconds=max_seconds,
        out=out,
        gallery=gallery,
        learned=learned,
        seeds=seeds,
        processes=processes,
        copies=copies,
    ):
        typer.echo(text)
