"""`llwlc score`: the pairs of a file, scored by a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from llwlc.cli.console import say
from llwlc.cli.graph_options import DEFAULT_LIMIT, GraphOptions, LimitOption, bytes_of
from llwlc.cli.options import OutOption, PluginOption, PriorHelp, RunArgument, SafeOption, load_plugins
from llwlc.cli.tables import deliver
from llwlc.errors import InputError


def score(
    run: RunArgument,
    pairs: Annotated[Path, typer.Argument(help="CSV, TSV or Parquet file that names a pair of nodes a row.")],
    out: OutOption = None,
    prior: Annotated[float, typer.Option(help=PriorHelp)] = 0.5,
    graph: Annotated[
        Path | None, typer.Option(help="Edge list of the updated graph to score on, instead of the run's.")
    ] = None,
    features: Annotated[
        Path | None, typer.Option(help="With --graph: node features, where it has nodes that the run does not know.")
    ] = None,
    weight: Annotated[
        str,
        typer.Option(help="With --graph: column of edge weights, where the run has weights; auto: one called weight."),
    ] = "auto",
    source: Annotated[str | None, typer.Option(help="Column of one end of a pair.")] = None,
    target: Annotated[str | None, typer.Option(help="Column of the other end.")] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first line is a pair; columns are 1, 2, ...")
    ] = False,
    spreadsheet_safe: SafeOption = False,
    unzipped_limit: LimitOption = DEFAULT_LIMIT,
    plugin: PluginOption = None,
) -> None:
    """Adds score and probability to the pairs of a file, and keeps its other columns.

    Examples:

    `llwlc score run pairs.csv -o scores.csv`

    `llwlc score run pairs.parquet -o scores.parquet --prior 0.01 --graph new_edges.csv`
    """
    load_plugins(plugin)
    import pyarrow as pa

    from llwlc.graph.pair_file import read_pairs
    from llwlc.graph.table_file import check_writable
    from llwlc.predict.predictor import LinkPredictor

    if graph is None and features is not None:
        raise InputError("--features are the updated graph's: give --graph too")
    if out is not None:
        check_writable(out)
    model = LinkPredictor.load(run)
    if weight != "auto" and (graph is None or model.graph.weight is None):
        raise InputError("--weight is for the updated graph (--graph) of a run that was fitted with weights")
    weight = "none" if model.graph.weight is None else weight  # as the run was fitted
    options = GraphOptions(weight=weight, features=features, unzipped_limit=unzipped_limit)
    where = model.graph if graph is None else options.open(str(graph))
    wanted = read_pairs(
        pairs,
        where,
        source=source,
        target=target,
        header=False if no_header else None,
        unzipped_limit=bytes_of(unzipped_limit),
    )
    found = model.score(wanted.pairs, prior=prior, graph=None if graph is None else where)
    table = wanted.table
    table = table.add_column(2, "score", pa.array(found.score.numpy()))
    table = table.add_column(3, "probability", pa.array(found.probability.numpy()))
    for name, kept in wanted.renamed.items():
        say(f"the column {name!r} of {pairs} is kept as {kept!r}")
    say(f"{table.num_rows:,} pairs scored; probabilities are for a prior of {prior:g} (--prior)")
    deliver(table, out, spreadsheet_safe=spreadsheet_safe)
