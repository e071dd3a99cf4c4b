"""`llwlc fit`: from a graph to a run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llwlc.baselines.registry import METHODS
from llwlc.bases.starts import STARTS
from llwlc.cli.console import OUT, show
from llwlc.cli.epoch_bar import EpochBar
from llwlc.cli.graph_options import GraphArgument, GraphOptions, takes_graph_options
from llwlc.cli.options import (
    PluginOption,
    SeedOption,
    SetOption,
    complete_preset,
    completer,
    load_plugins,
    options,
    refuse,
    settable,
)
from llwlc.cli.tables import advice, show_links, show_ranking, show_result
from llwlc.cli.together import together
from llwlc.constraints.registry import FAMILIES
from llwlc.errors import InputError
from llwlc.nn.registry import READOUTS
from llwlc.splits.registry import PROTOCOLS
from llwlc.support.registry import Registry, listed
from llwlc.training.option_help import OPTION_HELP
from llwlc.training.presets import PRESETS

if TYPE_CHECKING:
    from llwlc.graph.graph import Graph
    from llwlc.predict.predictor import LinkPredictor
    from llwlc.splits.linksplit import LinkSplit
    from llwlc.training.forecast import Forecast
    from llwlc.training.plan import Plan

DEFAULT = next(iter(PRESETS))
KINDS_OF: dict[str, Registry[Any]] = {
    "--protocol": PROTOCOLS,
    "--set constraints, several joined by +": FAMILIES,
    "--set start": STARTS,
    "--set pooling": READOUTS,
}
FREE = listed(protocol.name for protocol in PROTOCOLS.records() if protocol.free)


def kinds() -> str:
    """The end of `llwlc fit --help` as Markdown: the options of `--set` with values, defaults and meaning, then the names in each registry."""
    text = [
        f"Options for --set, with their values in the preset {DEFAULT}; where none is shown, it depends on the graph:"
    ]
    text.append("\n".join(f"- {option_line(name, value)}" for name, value in settable(PRESETS[DEFAULT]).items()))
    for option, kind in KINDS_OF.items():
        text += [f"{option}:", "\n".join(f"- **{record.name}**: {record.about}" for record in kind.records())]
    return "\n\n".join(text)


def option_line(name: str, value: Any) -> str:
    """One option in a line of Markdown: its name and default, the values that it may have, what it means."""
    default = "" if value is None else f"={str(value).lower() if isinstance(value, bool) else value}"
    values, meaning = OPTION_HELP[name]
    return f"**{name}{default}** ({values}): {meaning}"


KINDS = kinds()


@takes_graph_options
def fit(
    ctx: typer.Context,
    graph: GraphArgument,
    out: Annotated[Path, typer.Option(help="Folder of the run.")] = Path("run"),
    preset: Annotated[
        str | None,
        typer.Option(
            help=f"Set of options: {listed(PRESETS)}.",
            autocompletion=complete_preset,
            show_default=DEFAULT,
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help=f"Fit another method, for comparison: {METHODS.list()}.", autocompletion=completer(METHODS)),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            help=f"How links are split into training, validation and test: {PROTOCOLS.list()}.",
            autocompletion=completer(PROTOCOLS),
        ),
    ] = "random",
    seed: SeedOption = 0,
    val: Annotated[float | None, typer.Option(help=f"Share of validation links, for protocol {FREE}.")] = None,
    test: Annotated[float | None, typer.Option(help=f"Share of test links, for protocol {FREE}.")] = None,
    set_: SetOption = None,
    fraction: Annotated[
        float | None, typer.Option(help="Share of the training links to use.", show_default="1")
    ] = None,
    minutes: Annotated[
        float,
        typer.Option(help="Time budget in minutes: a plan, printed before training, leaves out what does not fit."),
    ] = 10.0,
    plan: Annotated[
        str | None,
        typer.Option(help="full: leave nothing out, however long it takes; a run folder: repeat its plan."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(help="Column of the features file that names each node's kind, for recommend --between."),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    plugin: PluginOption = None,
    *,
    graph_options: GraphOptions,
) -> None:
    """Learns which links are missing from a graph, measures how well, and names the ten likeliest.

    An interrupted fit continues when the same command is run again. Examples:

    `llwlc fit cora --out run`

    `llwlc fit edges.csv --source from --target to --features nodes.csv --out run`

    `llwlc fit edges.tsv.gz --no-header --protocol temporal --time 3 --set epochs=20`

    `llwlc fit dense.csv --minutes 30`

    `llwlc fit cora --method gae --out gae`

    `torchrun --nproc-per-node 4 -m llwlc fit edges.csv --out run`
    """
    begin = time.perf_counter()
    load_plugins(plugin)
    if method is not None:
        refuse(ctx, "preset", why="with --method, which fits another method than our network")
        refuse(ctx, "fraction", "minutes", "plan", why="with --method, which follows its recipe")
    if plan is not None:
        refuse(ctx, "minutes", why="with --plan, which says what to do")
    from llwlc import splits
    from llwlc.predict.predictor import LinkPredictor

    with together(device) as ranks:
        if ranks is not None and method is not None:
            raise InputError("an opponent is trained by one process: start it without torchrun")
        found = graph_options.open(graph)
        labels = None if kind is None else graph_options.kinds(found, kind)
        chosen: dict[str, Any] = {"preset": preset} if method is None else {"method": method}
        chosen |= {} if fraction is None else {"fraction": fraction}
        model = LinkPredictor(device=device, **chosen, **options(set_))
        budget: dict[str, Any] = {"plan": plan} if plan not in (None, "full") else {}
        if method is None and plan is None:
            budget = {"minutes": minutes}
        split = splits.make(found, protocol=protocol, seed=seed, val=val, test=test)
        with EpochBar(model.preset.train.epochs if method is None else None, out) as bar:
            if method is not None or bar.begun:
                bar.open()  # a resumed fit has printed its plan in the first call

            def ahead(forecast: Forecast) -> None:
                show_ahead(graph, found, split, forecast, forecast.seconds)
                bar.open()

            def planned(plan: Plan) -> None:
                show_ahead(graph, found, split, plan.forecast, plan.forecast.at_most)
                OUT.print(f"Plan for {plan.minutes:g} minutes: {plan.sentence}.", markup=False, highlight=False)
                bar.open(plan.preset.train.epochs)

            model.fit(
                found,
                split=split,
                seed=seed,
                out=out,
                graph_name=graph,
                kinds=labels,
                on_forecast=ahead,
                on_plan=planned,
                on_epoch=bar.move,
                ranks=ranks,
                spent=time.perf_counter() - begin,
                **budget,
            )
        if ranks is None or ranks.first:
            show_outcome(model, out)


def show_outcome(model: LinkPredictor, out: Path) -> None:
    """Prints what was measured, and the likeliest missing links."""
    show_result(model)
    ranking = model.metrics.ranking
    if ranking is not None and ranking.candidates:
        OUT.print("Recommendations, measured by the test links:", markup=False)
        show_ranking(ranking)
    best = model.recommend(top=10, sources=model.model.limits.sources)
    if best:
        show_links(best, f"The {len(best)} likeliest missing links")
    OUT.print(advice(best), markup=False, highlight=False)
    OUT.print(f"The run is in {out}. More: llwlc recommend {out} --top 100 -o top.csv", markup=False, soft_wrap=True)


def show_ahead(name: str, graph: Graph, split: LinkSplit, forecast: Forecast, most: float) -> None:
    """Prints what the fit will compute, and how long that is expected to take: at most so many seconds."""
    links = " / ".join(f"{len(p):,}" for p in (split.train_pos, split.valid_pos, split.test_pos))
    show(
        f"{name}: {graph.num_nodes:,} nodes, {graph.num_edges:,} links; protocol {split.protocol}, seed {split.seed}",
        [
            ("training, validation, test links", links),
            ("enclosing subgraphs, mean and largest seen", f"{forecast.mean_size:.0f} / {forecast.largest:,} nodes"),
            ("eigenbases to compute", f"{forecast.links:,} links, {forecast.num_bytes / 2**20:,.0f} MB"),
            ("time expected from now on", expected(forecast, most)),
        ],
    )


def expected(forecast: Forecast, most: float) -> str:
    """How long a fit is expected to take. The least is said where training that soon learns nothing more would end much earlier."""
    found = f"{duration(forecast.usual)}, at most {duration(most)}"
    return (
        f"{found}, {duration(forecast.at_least)} if little can be learned"
        if 1.5 * forecast.at_least < forecast.usual
        else found
    )


def duration(seconds: float) -> str:
    """A time in seconds, minutes or hours, whichever suits its size.

    >>> duration(12), duration(600), duration(7200)
    ('12 seconds', '10 minutes', '2.0 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
