"""`llwlc fit`: from a graph to a run."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llwlc._cli import process
from llwlc._cli.console import OUT, print_rows, print_status, print_text
from llwlc._cli.epoch_bar import EpochBar
from llwlc._cli.graph_options import GraphArgument, GraphOptions, takes_graph_options
from llwlc._cli.options import (
    DirectedOption,
    PluginOption,
    SeedOption,
    SetOption,
    VerboseOption,
    complete_preset,
    get_option_help,
    get_settable_options,
    load_plugins,
    make_completer,
    parse_settings,
    refuse_options,
)
from llwlc._cli.relations import fit_relations
from llwlc._cli.tables import describe_expected_links, show_links, show_ranking, show_result, show_trust
from llwlc._cli.torchrun import join_processes
from llwlc._io.database_url import redact
from llwlc._support.registry import Registry, listed
from llwlc._support.stopwatch import STARTING, current_watch
from llwlc.bases._starts import STARTS
from llwlc.constraints._registry import FAMILIES
from llwlc.errors import InputError
from llwlc.models._llwlc.presets import PRESETS
from llwlc.models._registry import MODELS
from llwlc.nn._registry import READOUTS
from llwlc.splits._registry import PROTOCOLS

if TYPE_CHECKING:
    from llwlc._planning.forecast import Forecast
    from llwlc._planning.plan import FitPlan
    from llwlc._predictor import LinkPredictor
    from llwlc.graph._graph import Graph
    from llwlc.splits._linksplit import LinkSplit
    from llwlc.training._timing import WorkClock

DEFAULT_PRESET = next(iter(PRESETS))
REGISTRIES: dict[str, Registry[Any]] = {
    "--protocol": PROTOCOLS,
    "--set constraints, several joined by +": FAMILIES,
    "--set start": STARTS,
    "--set pooling": READOUTS,
}
MORE_LOAD = 1.2
"""A machine is called busier than before where work takes this many times longer."""
FREE_PROTOCOLS = listed(protocol.name for protocol in PROTOCOLS.records() if protocol.free)


def make_options_help() -> str:
    """The end of `llwlc fit --help-all` as Markdown: the options of `--set` with values, defaults and meaning, then the
    names in each registry.
    """
    text = [
        f"Options for --set, with their values in the preset {DEFAULT_PRESET}; where none is shown, it depends on the"
        " graph:"
    ]
    text.append(
        "\n".join(
            f"- {describe_option(name, value)}" for name, value in get_settable_options(PRESETS[DEFAULT_PRESET]).items()
        )
    )
    for option, kind in REGISTRIES.items():
        text += [f"{option}:", "\n".join(f"- **{record.name}**: {record.about}" for record in kind.records())]
    return "\n\n".join(text)


def describe_option(name: str, value: Any) -> str:
    """One option in a line of Markdown: its name and default, the values that it may have, what it means."""
    default = "" if value is None else f"={str(value).lower() if isinstance(value, bool) else value}"
    values, meaning = get_option_help(PRESETS[DEFAULT_PRESET])[name]
    return f"**{name}{default}** ({values}): {meaning}"


OPTIONS_HELP = make_options_help()


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
            show_default=DEFAULT_PRESET,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help=f"Model to fit: {MODELS.list()}.",
            autocompletion=make_completer(MODELS),
            show_default="blend; llwlc with --preset, --set, --fraction",
        ),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            help=f"How links are split into training, validation and test: {PROTOCOLS.list()}.",
            autocompletion=make_completer(PROTOCOLS),
        ),
    ] = "random",
    seed: SeedOption = 0,
    val: Annotated[
        float | None, typer.Option(help=f"Share of validation links, for protocol {FREE_PROTOCOLS}.")
    ] = None,
    test: Annotated[float | None, typer.Option(help=f"Share of test links, for protocol {FREE_PROTOCOLS}.")] = None,
    set_: SetOption = None,
    fraction: Annotated[
        float | None,
        typer.Option(
            help="Share of the training links to train on; message passing uses all of them.", show_default="1"
        ),
    ] = None,
    minutes: Annotated[
        float,
        typer.Option(help="Time budget in minutes: a plan, printed before training, leaves out what would exceed it."),
    ] = 10.0,
    plan: Annotated[
        str | None,
        typer.Option(help="full: leave nothing out, however long it takes; a run folder: repeat its plan."),
    ] = None,
    node_type: Annotated[
        str | None,
        typer.Option(help="Column of node types in the features file, for recommend --between."),
    ] = None,
    negatives: Annotated[
        Path | None,
        typer.Option(
            metavar="PAIRS", help="File of known non-links, one per row: used to train and evaluate, never recommended."
        ),
    ] = None,
    directed: DirectedOption = False,
    relation: Annotated[
        str | None,
        typer.Option(help="Column of link types: links from source to target are then predicted for one type or any."),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    verbose: VerboseOption = False,
    plugin: PluginOption = None,
    *,
    graph_options: GraphOptions,
) -> None:
    """Fits a model to a graph and lists the ten likeliest missing links, with how far to trust them.

    An interrupted fit continues when the same command is run again. Examples:

    `llwlc fit edges.csv --out run`

    `llwlc fit edges.csv --source from --target to --features nodes.csv`

    `llwlc fit sqlite:///shop.db --query "select customer, item from orders"`

    `llwlc fit cora --model gae --out gae`

    `llwlc fit edges.tsv.gz --no-header --protocol temporal --time 3 --set epochs=20`

    `llwlc fit edges.csv --negatives known_non_links.csv`

    `llwlc fit follows.csv --directed`

    `llwlc fit dense.csv --minutes 30`

    `llwlc fit facts.csv --relation type`

    `torchrun --nproc-per-node 4 -m llwlc fit edges.csv`
    """
    begin = process.take_start()
    load_plugins(plugin)
    if relation is not None:
        fit_relations(ctx, graph, relation, out, seed, graph_options, node_type)
        return
    plannable = model is None or MODELS[model].planned
    if model not in (None, "llwlc"):
        refuse_options(ctx, "preset", why="with --model, as presets are those of our network")
    if not plannable:
        refuse_options(ctx, "fraction", "plan", why="with --model, as a model that is not ours follows its recipe")
    if plan is not None:
        refuse_options(ctx, "minutes", why="with --plan, which says what to do")
    watch = current_watch()
    with watch(STARTING):
        from llwlc import splits
        from llwlc._predictor import LinkPredictor
        from llwlc.training._timing import WorkClock

    with join_processes(device) as ranks:
        full_graph = graph_options.open(graph, directed=directed)
        with watch("reading"):
            labels = None if node_type is None else graph_options.read_node_types(full_graph, node_type)
        settings = parse_settings(set_) | ({} if fraction is None else {"fraction": fraction})
        budget = minutes if plan is None else None
        predictor = LinkPredictor(
            preset, model=model, seed=seed, minutes=budget, directed=directed, device=device, **settings
        )
        known = predictor.make_model()  # refuses bad options before any work
        if full_graph.attributes is not None and not known.reads_attributes:
            raise InputError(
                f"--link-attributes has no effect on {known.title}, which reads none: choose --model stack or blend"
            )
        with watch("splitting"):
            split = splits.make(full_graph, protocol=protocol, seed=seed, val=val, test=test)
        name = redact(graph)
        with EpochBar(known.epochs, out) as bar:
            if not plannable or bar.resumes:
                bar.open()  # a resumed fit has printed its plan in the first call

            def ahead(forecast: Forecast) -> None:
                show_forecast(name, full_graph, split, forecast, forecast.seconds, verbose=verbose)
                bar.open()

            planned: list[tuple[FitPlan, WorkClock]] = []

            def show_plan(plan: FitPlan) -> None:
                planned.append((plan, WorkClock()))
                show_forecast(name, full_graph, split, plan.forecast, plan.forecast.at_most, verbose=verbose)
                minutes = "minute" if plan.minutes == 1 else "minutes"
                print_status(f"Plan for {plan.minutes:g} {minutes}: {plan.sentence}.")
                bar.open(plan.preset.train.epochs)

            predictor.fit(
                full_graph,
                split=split,
                out=out,
                graph_name=name,
                node_types=labels,
                negatives=negatives,
                plan=None if plan in (None, "full") else plan,
                spent=time.perf_counter() - begin,
                on_epoch=bar.move,
                on_forecast=ahead,
                on_plan=show_plan,
                ranks=ranks,
            )
        if ranks is None or ranks.first:
            with watch("listing"):
                show_outcome(predictor, out, verbose=verbose)
            for made, clock in planned:
                if (taken := time.perf_counter() - begin) > 60 * minutes:
                    print_status(describe_overrun(made, clock, taken))


def describe_overrun(plan: FitPlan, clock: WorkClock, taken: float) -> str:
    """Why a fit took longer than its budget; `clock`: that of its work since the plan was made."""
    words = f"This took {format_duration(taken)} of a budget of {plan.minutes:g} min."
    slowdown = clock.wall / max(clock.idle, 1e-9)
    if slowdown > MORE_LOAD * plan.slowdown:
        return (
            f"{words} Other work on this machine made it {slowdown:.1f} times slower, and {plan.slowdown:.1f} times"
            " when the plan was made; the plan was kept."
        )
    forecast = format_duration(plan.forecast.at_most)
    return f"{words} By its plan, {forecast} were enough for what took {format_duration(clock.wall)}."


def show_outcome(model: LinkPredictor, out: Path, *, verbose: bool) -> None:
    """Prints the likeliest missing links, how far to trust them, and, if asked for, all that was measured."""
    from llwlc.explain._explainer import why_not_explainable

    best = model.recommend(top=10, sources=model.model_.limits.sources)
    if best:
        show_links(best, f"The {len(best)} likeliest missing links")
    OUT.print(describe_expected_links(best), markup=False, highlight=False)
    show_trust(model)
    if verbose:
        show_result(model, after_trust=True)
        ranking = model.metrics_.ranking
        if ranking is not None and ranking.candidates:
            OUT.print("Recommendations, evaluated on the test links:", markup=False)
            show_ranking(ranking)
    print_text(f"The run is in {out}. More: llwlc recommend {out} --top 100 -o top.csv")
    if best and not why_not_explainable(model.fitted_):
        print_text(f"Why: llwlc explain {out} {shlex.quote(best[0].source)} {shlex.quote(best[0].target)}")
    print_text(f"To show it: llwlc report {out}, or llwlc serve {out}")
    if not verbose:
        print_text(f"All that was measured: llwlc evaluate {out}")


def show_forecast(name: str, graph: Graph, split: LinkSplit, forecast: Forecast, most: float, *, verbose: bool) -> None:
    """Prints how long the fit is expected to take, an upper bound in seconds, and, if asked for, what it computes."""
    if not verbose:
        counts = f"{graph.num_nodes:,} nodes, {graph.num_edges:,} links"
        print_status(f"{name}: {counts}; time expected: {format_expected_time(forecast, most)}")
        return
    links = " / ".join(f"{len(p):,}" for p in (split.train_pos, split.valid_pos, split.test_pos))
    print_rows(
        f"{name}: {graph.num_nodes:,} nodes, {graph.num_edges:,} links; protocol {split.protocol}, seed {split.seed}",
        [
            ("training, validation, test links", links),
            ("enclosing subgraphs, mean and largest seen", f"{forecast.mean_size:.0f} / {forecast.largest:,} nodes"),
            ("eigenbases to compute", f"{forecast.links:,} links, {forecast.num_bytes / 2**20:,.0f} MB"),
            ("time expected from now on", format_expected_time(forecast, most)),
        ],
    )


def format_expected_time(forecast: Forecast, most: float) -> str:
    """How long a fit is expected to take. A lower bound is given where early stopping would end much earlier."""
    usual = f"{format_duration(forecast.usual)}, at most {format_duration(most)}"
    return (
        f"{usual}, {format_duration(forecast.at_least)} if little can be learned"
        if 1.5 * forecast.at_least < forecast.usual
        else usual
    )


def format_duration(seconds: float) -> str:
    """A time in seconds, minutes or hours, whichever suits its size.

    >>> format_duration(12), format_duration(600), format_duration(7200)
    ('12 seconds', '10 minutes', '2.0 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
