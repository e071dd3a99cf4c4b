"""`llwlc score`: the pairs of a file, scored by a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from llwlc._cli.console import print_status
from llwlc._cli.engine_options import AddressOption, EngineOption, WorkersOption, score_on_ray, uses_ray
from llwlc._cli.graph_options import (
    UpdateOptions,
    gigabytes_to_bytes,
    make_source,
    parse_separator,
    takes_update_options,
)
from llwlc._cli.options import (
    FormatOption,
    OutOption,
    PluginOption,
    PriorHelp,
    RunArgument,
    SafeOption,
    load_plugins,
    refuse_options,
)
from llwlc._cli.relations import refuse_updates, score_relations
from llwlc._cli.runs import open_run
from llwlc._cli.tables import TableOutput
from llwlc._io.database_url import redact
from llwlc.relations._run_folder import is_relation_run


@takes_update_options
def score(
    ctx: typer.Context,
    run: RunArgument,
    pairs: Annotated[
        str,
        typer.Argument(
            metavar="PAIRS",
            help="CSV, TSV or Parquet file with a pair of node names in each row, or a database with --query.",
        ),
    ],
    query: Annotated[
        str | None, typer.Option(help="With a database: the query, as in 'select a, b from pairs'.")
    ] = None,
    out: OutOption = None,
    format: FormatOption = None,
    prior: Annotated[float, typer.Option(help=PriorHelp)] = 0.5,
    unknown: Annotated[
        str,
        typer.Option(
            help=(
                "What to do with a pair that cannot be scored, such as one with an unknown node: error, skip (leave the"
                " row out) or blank (no score)."
            )
        ),
    ] = "error",
    source: Annotated[str | None, typer.Option(help="Column of one end of a pair.")] = None,
    target: Annotated[str | None, typer.Option(help="Column of the other end.")] = None,
    relation: Annotated[
        str | None,
        typer.Option(help="Of a run with --relation: the column of link types.", show_default="as in the fit"),
    ] = None,
    separator: Annotated[str | None, typer.Option(help="Separator of the columns; by default it is detected.")] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first line is a pair; columns are 1, 2, ...")
    ] = False,
    spreadsheet_safe: SafeOption = False,
    plugin: PluginOption = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
    workers: WorkersOption = None,
    *,
    update: UpdateOptions,
) -> None:
    """Scores the pairs of a file.

    The output has the columns of the file as they are, and two more, score and probability. A column of the file that
    has one of these names is renamed.

    Examples:

    `llwlc score run pairs.csv -o scores.csv`

    `llwlc score run pairs.csv --unknown skip -o - | head`

    `llwlc score run pairs.parquet -o scores.parquet --prior 0.01 --graph new_edges.csv --graph-source from
    --graph-target to`

    `llwlc score run pairs.csv --add links_since.csv --node-list new_nodes.csv`

    `llwlc score run pairs.parquet -o scores --engine ray --graph packed`
    """
    load_plugins(plugin)
    if uses_ray(engine, address, workers):
        refuse_options(
            ctx, "query", "format", "no_header", "separator", "spreadsheet_safe", "plugin", why="with --engine ray"
        )
        options = {"prior": prior, "source": source, "target": target, "unknown": unknown}
        score_on_ray(run, Path(pairs), out, address, workers, update, **options)
        return
    delivery = TableOutput.of(out, format, spreadsheet_safe=spreadsheet_safe)
    if is_relation_run(run):
        refuse_updates(ctx)
        score_relations(
            run,
            update,
            pairs,
            query,
            delivery,
            prior=prior,
            unknown=unknown,
            relation=relation,
            source=source,
            target=target,
            header=False if no_header else None,
            separator=parse_separator(separator),
            unzipped_limit=gigabytes_to_bytes(update.unzipped_limit),
        )
        return
    refuse_options(ctx, "relation", why="on a run that was fitted without --relation")
    asked_pairs = make_source(pairs, query, "--query")
    model = open_run(run)
    table = model.score_table(
        asked_pairs,
        prior=prior,
        graph=update.apply(model),
        source=source,
        target=target,
        unknown=unknown,
        header=False if no_header else None,
        separator=parse_separator(separator),
        verbatim=delivery.text,
        unzipped_limit=gigabytes_to_bytes(update.unzipped_limit),
    )
    for name, renamed in table.renamed.items():
        print_status(f"the column {name!r} of {redact(pairs)} is kept as {renamed!r}")
    if table.note:
        print_status(
            f"Warning: {table.note} These rows {'are left out' if unknown == 'skip' else 'have no score'}; for a graph"
            " that has such nodes, see --graph, --add, --node-list and --new-nodes",
            style="yellow",
        )
    print_status(f"{table.scored:,} pairs scored; probabilities are for a prior of {prior:g} (--prior)")
    delivery.write_out(table.table)
