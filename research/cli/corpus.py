"""`python -m research corpus`: any models on networks of many domains."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from llwlc._cli.console import print_status
from llwlc._cli.options import PluginOption, load_plugins, parse_seeds
from llwlc.errors import InputError

COMMITTED = Path("research/results/corpus.jsonl")
PICTURES = (".png", ".pdf", ".svg")


def corpus(
    use: Annotated[
        str, typer.Option(help="Networks of this use: tune, for choices, or final, for reported figures only.")
    ] = "tune",
    networks: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    models: Annotated[
        str | None,
        typer.Option(help="Names of models, separated by commas; default: the stack and all heuristics."),
    ] = None,
    seeds: Annotated[str, typer.Option(help="Number of seeds, from 0, as in 3, or a range, as in 30-32.")] = "1",
    folds: Annotated[
        int, typer.Option(min=1, max=20, help="Folds of the cross-validation of networks below 500 links.")
    ] = 5,
    minutes: Annotated[float, typer.Option(min=0.01, help="Time budget of one fit, of models that take one.")] = 2.0,
    processes: Annotated[int, typer.Option(min=1, max=256, help="Processes, one thread each.")] = 1,
    results: Annotated[
        Path | None,
        typer.Option(help=f"File of the lines; default: {COMMITTED} where it is, else corpus.jsonl here."),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Print what is stored and measure nothing.")] = False,
    against: Annotated[
        str | None, typer.Option(help="The model that the others are compared with; default: the first.")
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Critical-difference plot of the ranks, PNG, PDF or SVG.")] = None,
    members: Annotated[
        bool, typer.Option("--members", help="Also the members of blends, and sums of them, from the same fits.")
    ] = False,
    plugin: PluginOption = None,
) -> None:
    """Measures models on real networks of many domains, without features.

    Stored results are not measured again; an interrupted command continues when it is run again. Networks below
    500 links are cross-validated, once for each seed.

    Examples:

    `python -m research corpus --seeds 3 --processes 2`

    `python -m research corpus --models llwlc,stack --networks football,munin --minutes 2`

    `python -m research corpus --models blend --seeds 3 --processes 16 --members`

    `python -m research corpus --show --against llwlc --models llwlc,stack,katz --figure ranks.png`
    """
    load_plugins(plugin)
    from llwlc.models._registry import MODELS
    from research.corpus.comparison import ScoreTable, rank_models
    from research.corpus.members import member_lines
    from research.corpus.networks import USES, select_networks
    from research.corpus.report import draw_ranks, make_report
    from research.corpus.runs import make_cells, run_corpus
    from research.experiments.lines import read_lines

    if use not in USES:
        raise InputError(f"--use is {' or '.join(USES)}, got {use!r}")
    if figure is not None and figure.suffix.lower() not in PICTURES:
        raise InputError(f"--figure ends in {', '.join(PICTURES)}, got {figure}")
    if minutes <= 0:
        raise InputError(f"--minutes is above 0, got {minutes}")
    chosen = select_networks(use, _names(networks))
    untrained = [record.name for record in MODELS.records() if not record.trained and record.name != "cosine"]
    methods = _names(models) or ["stack", *untrained]
    for name in methods:
        MODELS[name]  # an unknown one is refused before any work
    file = results or (COMMITTED if COMMITTED.parent.is_dir() else Path("corpus.jsonl"))
    if use == "final":
        print_status(
            "OPENING THE FINAL NETWORKS: their figures are for tables. Choose nothing by them.", style="bold red"
        )
    cells = make_cells(chosen, methods, parse_seeds(seeds), folds, minutes)
    if not show:
        left = run_corpus(cells, file, processes=processes, report=print_status)
        if left:
            print_status(f"{left} of {len(cells)} cells have no line yet: the same command goes on with them")
    wanted = {cell.key for cell in cells}
    lines = [line for line in read_lines(file) if line.cell.key in wanted]
    if members:
        more = member_lines(lines)
        lines, methods = lines + more, list(dict.fromkeys([*methods, *sorted(line.cell.method for line in more)]))
    groups = {network.name: network.group for network in chosen}
    typer.echo(make_report(lines, methods, groups, against or methods[0]))
    if figure is not None:
        draw_ranks(rank_models(ScoreTable.of(lines, methods, "auc")), figure)
        print_status(f"written to {figure}")


def _names(text: str | None) -> list[str] | None:
    return None if text is None else list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
