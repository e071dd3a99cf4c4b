"""`llwlc tune`: searches for the model and options that suit a graph."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from llwlc._cli.console import OUT, print_status, print_table, print_text
from llwlc._cli.graph_options import GraphArgument, GraphOptions, takes_graph_options
from llwlc._cli.options import (
    DirectedOption,
    FormatOption,
    OutOption,
    PluginOption,
    SeedOption,
    SetOption,
    complete_preset,
    load_plugins,
    make_completer,
    parse_settings,
)
from llwlc._cli.tables import TableOutput
from llwlc._io.database_url import redact
from llwlc._support.registry import listed
from llwlc.models._llwlc.presets import PRESETS
from llwlc.models._registry import MODELS
from llwlc.splits._registry import PROTOCOLS


@takes_graph_options
def tune(
    graph: GraphArgument,
    minutes: Annotated[float, typer.Option(help="Time budget of the search in minutes.")] = 30.0,
    trials: Annotated[
        int | None, typer.Option(help="Maximum number of settings; by default as many as the time allows.")
    ] = None,
    folds: Annotated[int, typer.Option(help="Number of times that links are hidden, different ones each time.")] = 3,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Metric to compare settings by: auc, ap, mrr, hits@10, …; by default the protocol's metric, or auc"
            " where few links are hidden."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Model to try, may be repeated; by default ours, heuristics and some baselines. {MODELS.list()}.",
            autocompletion=make_completer(MODELS),
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help=f"Preset of our network: {listed(PRESETS)}.", autocompletion=complete_preset),
    ] = None,
    set_: SetOption = None,
    protocol: Annotated[
        str,
        typer.Option(
            help=f"Protocol of the fit, whose test links are not used: {PROTOCOLS.list()}.",
            autocompletion=make_completer(PROTOCOLS),
        ),
    ] = "random",
    seed: SeedOption = 0,
    negatives: Annotated[
        Path | None, typer.Option(metavar="PAIRS", help="File of known non-links, as in llwlc fit.")
    ] = None,
    node_type: Annotated[str | None, typer.Option(help="Column of node types in the features file.")] = None,
    fit_minutes: Annotated[float, typer.Option(help="Time budget of the fit that the printed command runs.")] = 10.0,
    directed: DirectedOption = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    out: OutOption = None,
    format: FormatOption = None,
    plugin: PluginOption = None,
    *,
    graph_options: GraphOptions,
) -> None:
    """Compares models and options on a graph, and prints the command that fits the best.

    Links are hidden from training, and settings are compared on them; the test links of the fit are not used.
    Options given with --set stay fixed. Examples:

    `llwlc tune cora --minutes 20`

    `llwlc tune edges.csv --model llwlc --model gcn --trials 12 -o tried.csv`
    """
    load_plugins(plugin)
    delivery = TableOutput.of(out, format)
    from llwlc._predictor import LinkPredictor

    known = graph_options.open(graph, directed=directed)
    labels = None if node_type is None else graph_options.read_node_types(known, node_type)
    first = None if preset is not None or not model or "llwlc" in model else model[0]
    predictor = LinkPredictor(
        preset, model=first, seed=seed, minutes=fit_minutes, directed=directed, device=device, **parse_settings(set_)
    )
    tuning = predictor.tune(
        known,
        models=model,
        minutes=minutes,
        trials=trials,
        folds=folds,
        metric=metric,
        protocol=protocol,
        node_types=labels,
        negatives=negatives,
    )
    if out is None and format is None and OUT.is_terminal:
        print_text(tuning.title)
        print_table(Table("setting", tuning.metric, "± s.e.", "folds", "seconds", pad_edge=False), tuning.rows)
    else:
        delivery.write_out(tuning.to_arrow())
    further = [] if negatives is None else ["--negatives", str(negatives)]
    further += [] if node_type is None else ["--node-type", node_type]
    print_status(f"Best: {tuning.command(redact(graph), *format_graph_options(graph_options), *further)}")


def format_graph_options(options: GraphOptions) -> list[str]:
    """The options that are not the default ones, as words of a command.

    >>> format_graph_options(GraphOptions(source="from", no_header=True, categorical=["a", "b"]))
    ['--source', 'from', '--no-header', '--categorical', 'a', '--categorical', 'b']
    """
    words: list[str] = []
    for option in fields(options):
        value, name = getattr(options, option.name), f"--{option.name.replace('_', '-')}"
        if value == option.default or value == []:
            continue
        if value is True:
            words.append(name)
        else:
            for one in value if isinstance(value, list) else [value]:
                words += [name, redact(str(one))]
    return words
