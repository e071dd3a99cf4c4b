"""`python -m research outside`: calibration of `recommend`'s probabilities on files that lack links."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from llwlc._cli.console import print_status
from llwlc.errors import InputError

COMMITTED = Path("research/results/outside.jsonl")


def outside(
    use: Annotated[
        list[str] | None,
        typer.Option(
            help="Networks of this use: tune, final (for reported figures only), or datasets, the named ones; may be"
            " repeated; default: tune."
        ),
    ] = None,
    network: Annotated[list[str] | None, typer.Option(help="Only this network; may be repeated.")] = None,
    links: Annotated[int, typer.Option(min=1, help="Only networks with at least this many links.")] = 500,
    model: Annotated[
        list[str] | None, typer.Option(help="A model by name; may be repeated; default: blend, what `fit` trains.")
    ] = None,
    share: Annotated[
        list[float] | None, typer.Option(help="Share of the links to hide; may be repeated; default: 0.1, 0.2, 0.05.")
    ] = None,
    hidings: Annotated[int, typer.Option(min=1, help="Number of times links are hidden from each network.")] = 5,
    minutes: Annotated[float, typer.Option(help="Time budget of each fit.")] = 1.0,
    processes: Annotated[int, typer.Option(min=1, max=256, help="Processes, one thread each.")] = 1,
    results: Annotated[Path, typer.Option(help="File of the trials, one per line.")] = COMMITTED,
    show: Annotated[bool, typer.Option("--show", help="Print what is stored and run nothing.")] = False,
    figure: Annotated[Path | None, typer.Option(help="Reliability diagram, PNG or SVG.")] = None,
) -> None:
    """Hides links of networks before llwlc reads them, and compares predicted with observed shares of `recommend`.

    Each trial fits once and asks for lists of 50, 200 and 1000 links, with the true --missing-share and with the
    default. The first share comes first: a run that is cut off has at least its tables. Stored trials are not
    repeated; an interrupted command continues when it is run again.

    Examples:

    `python -m research outside --model adamic-adar --share 0.1 --hidings 2 --results mine.jsonl`

    `python -m research outside --use datasets --processes 8`

    `python -m research outside --show --figure outside.svg`
    """
    from research.outside.lines import order_trials, read_lines, run_missing
    from research.outside.networks import USES, find_networks
    from research.outside.table import draw, render

    uses = tuple(dict.fromkeys(use or ("tune",)))
    if unknown := set(uses) - set(USES):
        raise InputError(f"--use is {', '.join(USES[:-1])} or {USES[-1]}, got {sorted(unknown)[0]!r}")
    shares = tuple(share or (0.1, 0.2, 0.05))
    if not all(0 < part < 1 for part in shares):
        raise InputError(f"--share is above 0 and below 1, got {', '.join(map(str, shares))}")
    networks = find_networks(uses, network, links)
    if not show:
        run_missing(
            order_trials(networks, tuple(model or ("blend",)), shares, hidings, minutes),
            results,
            processes,
            print_status,
        )
    names = {each.name for each in networks}
    lines = [
        line
        for line in read_lines(results)
        if line["network"] in names
        and (model is None or line["model"] in model)
        and (share is None or line["share"] in shares)
    ]
    if not lines:
        raise InputError(f"{results} has no such trial: leave out --show to run some")
    typer.echo(render(lines))
    if figure is not None:
        draw(lines, figure)
        print_status(f"written to {figure}")
