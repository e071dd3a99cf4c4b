"""`llwlc evaluate`: what a run measured, or its preset measured anew."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Annotated

import typer

from llwlc.cli.console import show
from llwlc.cli.epoch_bar import EpochBar
from llwlc.cli.options import PluginOption, RunArgument, completer, load_plugins, refuse
from llwlc.cli.tables import show_ranking, show_result
from llwlc.errors import InputError
from llwlc.splits.registry import PROTOCOLS

if TYPE_CHECKING:
    from llwlc.training.records import FitMetrics

MOST_SEEDS = 1000
SHOWN = ("hits@10", "hits@20", "hits@50", "hits@100", "mrr", "auc", "ap")


def evaluate(
    ctx: typer.Context,
    run: RunArgument,
    protocol: Annotated[
        str | None,
        typer.Option(
            help=f"Measure anew under {PROTOCOLS.list()}; without it, the run's own split.",
            autocompletion=completer(PROTOCOLS),
        ),
    ] = None,
    ranking: Annotated[
        bool, typer.Option("--ranking", help="Measure the lists of recommend by the links that the run's split hides.")
    ] = False,
    hidden: Annotated[
        str,
        typer.Option(help="With --ranking: test links, or held-out, validation links too, on training links alone."),
    ] = "test",
    seeds: Annotated[int, typer.Option(help="With --protocol: how many splits.")] = 3,
    device: Annotated[str, typer.Option(help="With --protocol or --ranking: auto, cpu or cuda.")] = "auto",
    plugin: PluginOption = None,
) -> None:
    """Shows what a run measured, measures its recommendations, or trains its preset afresh on other splits of its graph and gives mean and spread.

    Examples:

    `llwlc evaluate run`

    `llwlc evaluate run --protocol ncn --seeds 5`

    `llwlc evaluate run --ranking`
    """
    load_plugins(plugin)
    if protocol is None:
        refuse(ctx, "seeds", why="without --protocol, as the run's own split is looked at")
    if not ranking:
        refuse(ctx, "hidden", why="without --ranking")
    elif protocol is not None:
        raise InputError("--ranking looks at the run's own split: leave --protocol out, or fit with that protocol")
    if protocol is None and not ranking:
        refuse(ctx, "device", why="without --protocol or --ranking, as what was measured is only shown")
    if not 1 <= seeds <= MOST_SEEDS:
        raise InputError(f"--seeds must be at least 1 and at most {MOST_SEEDS:,}, as each is a training, got {seeds}")
    from llwlc.predict.predictor import LinkPredictor

    model = LinkPredictor.load(run, device=device)
    if ranking:
        show_ranking(model.evaluate_ranking(hidden=hidden))
        return
    if protocol is None:
        show_result(model)
        return
    measured = []
    for seed in range(seeds):
        with EpochBar(model.preset.train.epochs if model.opponent is None else None) as bar:
            bar.open()
            measured.append(model.evaluate(protocol=protocol, seed=seed, on_epoch=bar.move))
    first = measured[0]
    show(
        f"protocol {protocol}, {seeds} seed{'s' if seeds > 1 else ''}, {first['num_negatives']:,} negatives, {first['parameters']:,} parameters",
        [(_label(key, first), _spread([one[key] for one in measured])) for key in SHOWN],
    )


def _label(key: str, first: FitMetrics) -> str:
    rate = f" (false-positive rate {100 * first[f'{key}_fpr']:.3g} %)" if key.startswith("hits@") else ""
    return key.replace("hits", "HR").upper() + rate


def _spread(values: list[float]) -> str:
    spread = 100 * statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{100 * statistics.mean(values):.2f} ± {spread:.2f}"
