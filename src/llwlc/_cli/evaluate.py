"""`llwlc evaluate`: shows what a run measured, or measures its recommendations or its model on other splits."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Annotated

import typer

from llwlc._cli.console import print_rows, print_status
from llwlc._cli.epoch_bar import EpochBar
from llwlc._cli.options import PluginOption, RunArgument, load_plugins, make_completer, parse_seeds, refuse_options
from llwlc._cli.runs import open_run
from llwlc._cli.tables import show_ranking, show_result
from llwlc.errors import InputError
from llwlc.splits._registry import PROTOCOLS

if TYPE_CHECKING:
    from llwlc._fitting.fit_metrics import FitMetrics

SHOWN = ("hits@10", "hits@20", "hits@50", "hits@100", "mrr", "auc", "ap")


def evaluate(
    ctx: typer.Context,
    run: RunArgument,
    protocol: Annotated[
        str | None,
        typer.Option(
            help=f"Train and measure again under another protocol: {PROTOCOLS.list()}.",
            autocompletion=make_completer(PROTOCOLS),
        ),
    ] = None,
    ranking: Annotated[
        bool, typer.Option("--ranking", help="Measure how well recommend finds the links that the run's split hides.")
    ] = False,
    hidden: Annotated[
        str,
        typer.Option(
            help="With --ranking: test (the test links), or held-out (validation links too, from training links alone)."
        ),
    ] = "test",
    seeds: Annotated[
        str, typer.Option(help="With --protocol: number of splits, from seed 0, or a range of seeds, as in 30-34.")
    ] = "3",
    device: Annotated[str, typer.Option(help="With --protocol or --ranking: auto, cpu or cuda.")] = "auto",
    plugin: PluginOption = None,
) -> None:
    """Shows what a run measured.

    With --ranking: measures its recommendations. With --protocol: trains its model again on other splits of its graph,
    and shows mean and standard deviation.

    Examples:

    `llwlc evaluate run`

    `llwlc evaluate run --protocol ncn --seeds 5`

    `llwlc evaluate run --ranking`
    """
    load_plugins(plugin)
    if protocol is None:
        refuse_options(ctx, "seeds", why="without --protocol: what the run measured is only shown")
    if not ranking:
        refuse_options(ctx, "hidden", why="without --ranking")
    elif protocol is not None:
        raise InputError("--ranking measures on the run's own split: leave --protocol out, or fit with that protocol")
    if protocol is None and not ranking:
        refuse_options(ctx, "device", why="without --protocol or --ranking: what the run measured is only shown")
    which = parse_seeds(seeds)
    model = open_run(run, device=device)
    if ranking:
        show_ranking(model.evaluate_ranking(hidden=hidden))
        return
    if protocol is None:
        show_result(model)
        return
    measured = []
    for seed in which:
        with EpochBar(model.model_.epochs) as bar:
            bar.open()
            measured.append(model.evaluate(protocol=protocol, seed=seed, on_epoch=bar.move))
    first = measured[0]
    print_rows(
        f"protocol {protocol}, {len(which)} seed{'s' if len(which) > 1 else ''}, {first['num_negatives']:,} negatives,"
        f" {first['parameters']:,} parameters",
        [(_label(key, first), _spread([one[key] for one in measured])) for key in SHOWN],
    )
    if model.directed:
        print_status("Whether there is a link was measured, not which way it points: llwlc fit --directed --seed does")


def _label(key: str, first: FitMetrics) -> str:
    rate = f" (false-positive rate {100 * first[f'{key}_fpr']:.3g} %)" if key.startswith("hits@") else ""
    return key.replace("hits", "HR").upper() + rate


def _spread(values: list[float]) -> str:
    spread = 100 * statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{100 * statistics.mean(values):.2f} ± {spread:.2f}"
