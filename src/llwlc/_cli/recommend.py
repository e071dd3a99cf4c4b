"""`llwlc recommend`: the likeliest missing links of a run's graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from llwlc._cli.console import OUT, print_status
from llwlc._cli.engine_options import AddressOption, EngineOption, WorkersOption, recommend_on_ray, uses_ray
from llwlc._cli.graph_options import UpdateOptions, takes_update_options
from llwlc._cli.options import (
    FormatOption,
    OutOption,
    PluginOption,
    RunArgument,
    SafeOption,
    load_plugins,
    refuse_options,
)
from llwlc._cli.relations import recommend_relations, refuse_updates
from llwlc._cli.runs import open_run
from llwlc._cli.tables import TableOutput, describe_expected_links, show_links
from llwlc._io.database_url import is_database_url, redact
from llwlc._support.stopwatch import stage
from llwlc.errors import InputError
from llwlc.relations._run_folder import is_relation_run


@takes_update_options
def recommend(
    ctx: typer.Context,
    run: RunArgument,
    top: Annotated[int | None, typer.Option(help="How many links; 20 unless --precision is given.")] = None,
    precision: Annotated[
        float | None,
        typer.Option(help="Longest list with expected precision of at least this, as in 0.3."),
    ] = None,
    node: Annotated[str | None, typer.Option(help="Only links of this node.")] = None,
    out: OutOption = None,
    format: FormatOption = None,
    exclude: Annotated[
        Path | None, typer.Option(metavar="PAIRS", help="File of pairs that are never proposed, one per row.")
    ] = None,
    among: Annotated[
        Path | None, typer.Option(metavar="NODES", help="File of nodes, one per row: both ends are among them.")
    ] = None,
    from_: Annotated[
        Path | None, typer.Option("--from", metavar="NODES", help="File of nodes: one end, the source, is one of them.")
    ] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODES|URL",
            help=(
                "File of nodes: the other end is one of them. Or the database to write the links to, all or none:"
                " sqlite:///FILE, duckdb:///FILE, postgresql://… You can give both."
            ),
        ),
    ] = None,
    table: Annotated[str, typer.Option(help="Table of --to URL, as links or schema.links.")] = "links",
    if_exists: Annotated[str, typer.Option(help="If the table of --to URL exists: fail or append.")] = "fail",
    missing_share: Annotated[
        float | None,
        typer.Option(help="Share of all links that is missing; by default, the share of validation links is assumed."),
    ] = None,
    prior: Annotated[
        float | None,
        typer.Option(help="Assumed share of the candidates that are missing links, instead of --missing-share."),
    ] = None,
    between: Annotated[
        tuple[str, str] | None, typer.Option(help="Only links between nodes of these two types (see fit --node-type).")
    ] = None,
    relation: Annotated[
        str | None, typer.Option(help="Of a run with --relation: only links of this type; by default of any.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="Candidates that each node may propose; 100 unless fitted otherwise.")
    ] = None,
    spreadsheet_safe: SafeOption = False,
    plugin: PluginOption = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
    workers: WorkersOption = None,
    *,
    update: UpdateOptions,
) -> None:
    """Lists the likeliest missing links of a graph, or of one node.

    A probability is the chance that a candidate is a missing link if --missing-share of all links is missing. Examples:

    `llwlc recommend run --top 100 -o top.csv`

    `llwlc recommend run --precision 0.3 --missing-share 0.05`

    `llwlc recommend run --node Ada --top 5`

    `llwlc recommend run --between user item`

    `llwlc recommend run --from customers.csv --to in_stock.csv --exclude rejected.csv`

    `llwlc recommend run --add links_since.csv -o - --format jsonl`

    `llwlc recommend run --new-nodes new_nodes.csv --top 50 -o first_links.csv`

    `llwlc recommend run --relation treats --top 50`

    `llwlc recommend run --top 1000 --to postgresql://localhost/shop --table links --if-exists append`
    """
    load_plugins(plugin)
    url, target_nodes = split_targets(to)
    if url is None:
        refuse_options(ctx, "table", "if_exists", why="without --to and the URL of a database")
    else:
        from llwlc._io.database import check_table_target
        from llwlc._runs.format import DIRECTION
        from llwlc.ranking._recommendations import COLUMNS, DIRECTED_COLUMNS

        columns = DIRECTED_COLUMNS if (run / DIRECTION).is_file() else COLUMNS
        check_table_target(url, table, list(columns), if_exists)
    delivery = TableOutput.of(out, format, spreadsheet_safe=spreadsheet_safe)
    if is_relation_run(run):
        others = (
            "precision",
            "exclude",
            "among",
            "from_",
            "to",
            "missing_share",
            "prior",
            "between",
            "budget",
            "engine",
        )
        refuse_options(ctx, *others, why="on a run with --relation")
        refuse_updates(ctx)
        recommend_relations(run, update, relation, top, node, delivery)
        return
    if relation is not None:
        raise InputError("--relation is for a run of typed links: fit with --relation COLUMN")
    options: dict[str, Any] = {
        "node": node,
        "top": top,
        "precision": precision,
        "missing_share": missing_share,
        "prior": prior,
        "between": between,
        "budget": budget,
    }
    scope: dict[str, Any] = {"exclude": exclude, "among": among, "source_nodes": from_, "target_nodes": target_nodes}
    if uses_ray(engine, address, workers):
        refuse_options(ctx, "exclude", "among", "from_", why="with --engine ray, whose workers list all pairs")
        if target_nodes is not None:
            raise InputError("--to NODES has no effect with --engine ray, whose workers list all pairs: leave it out")
        recommendations = recommend_on_ray(run, out, address, workers, update, **options)
    else:
        model = open_run(run)
        graph = update.apply(model)
        if update.new_nodes is not None and graph is not None and node is None and from_ is None:
            from llwlc._runs.new_nodes import choose_new_nodes
            from llwlc.graph._name_file import read_names

            names = read_names(update.new_nodes, node=update.graph_node).to_pylist()
            scope["source_nodes"] = choose_new_nodes(model.graph_, graph, names)
        recommendations = model.recommend(**options, **scope, graph=graph)
    whose = f" of {node}" if node else ""
    if not recommendations and precision is not None and recommendations.candidates:
        print_status(f"No list{whose} has the precision {precision:g}: ask for less, or see --top 20")
    elif recommendations or not node:
        print_status(describe_expected_links(recommendations))
    elif any(scope.values()):
        print_status(f"There are no candidates of {node} among the pairs that the options leave")
    else:
        print_status(f"There are no candidates of {node}: no unlinked node is near it or has similar features")
    if url is not None:
        with stage("writing"):
            recommendations.to_database(url, table, if_exists=if_exists)
        print_status(f"{len(recommendations):,} links written to table {table} of {redact(url)}")
        if out is None and format is None:
            return
    if out is None and format is None and OUT.is_terminal:
        if recommendations:
            show_links(recommendations, f"The {len(recommendations)} likeliest missing links{whose}")
        return
    delivery.write_out(recommendations.to_arrow())


def split_targets(to: list[str] | None) -> tuple[str | None, Path | None]:
    """What `--to` names: the database to write to, and the file of nodes at the other end.

    >>> split_targets(["sqlite:///shop.db"])
    ('sqlite:///shop.db', None)
    """
    urls = [name for name in to or () if is_database_url(name)]
    files = [Path(name) for name in to or () if not is_database_url(name)]
    if len(urls) > 1 or len(files) > 1:
        raise InputError("--to is given once for a file of nodes and once for a database: leave the others out")
    if files and not files[0].exists():
        raise InputError(
            f"--to {files[0]}: there is no such file of nodes. A list of links is written to a file by -o, to a"
            " database by --to and its URL, as in sqlite:///shop.db"
        )
    return next(iter(urls), None), next(iter(files), None)
