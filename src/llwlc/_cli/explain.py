"""`llwlc explain`: why a pair has its score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from llwlc._cli.console import print_status, print_text
from llwlc._cli.options import PluginOption, PriorHelp, RunArgument, load_plugins, refuse_options
from llwlc._cli.relations import explain_relations
from llwlc._cli.runs import open_run
from llwlc._support.stopwatch import stage
from llwlc.errors import InputError
from llwlc.relations._run_folder import is_relation_run

ENDINGS = (".json", ".html", ".txt")


def explain(
    ctx: typer.Context,
    run: RunArgument,
    u: Annotated[str, typer.Argument(metavar="U", help="Name of one node.")],
    v: Annotated[str, typer.Argument(metavar="V", help="Name of the other node.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="JSON, HTML or text file, by its ending; by default the screen.")
    ] = None,
    candidates: Annotated[
        bool,
        typer.Option(
            "--candidates", help="Explain the probability among candidates (recommend), not among random pairs (score)."
        ),
    ] = False,
    relation: Annotated[
        str | None,
        typer.Option(help="Of a run with --relation: the type of the link from U to V; by default the likeliest."),
    ] = None,
    prior: Annotated[float, typer.Option(help=PriorHelp)] = 0.5,
    missing_share: Annotated[
        float | None, typer.Option(help="Assumed share of missing links, for the probability among candidates.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Rows of each table.")] = 8,
    edges: Annotated[int, typer.Option(min=0, help="Edges of the subgraph to remove one by one, nearest first.")] = 500,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="On the screen: eigenvectors and learned filters too; files have them.")
    ] = False,
    plugin: PluginOption = None,
) -> None:
    """Explains why a pair of nodes gets its score.

    The explanation lists the contribution of each part of the model, the edges, common neighbours and paths that the
    score rests on, and the most similar existing links. The effect of an edge is the drop in log-odds when it is
    removed. A pair that is already linked is explained as if it were not. Examples:

    `llwlc explain run Ada Bob`

    `llwlc explain run Ada Bob --candidates -o why.html`

    `llwlc explain run "drug 7" "disease 1" --relation treats`
    """
    load_plugins(plugin)
    if out is not None and out.suffix.lower() not in ENDINGS:
        raise InputError(f"{out}: an explanation is written as {', '.join(ENDINGS)}: choose one of these endings")
    if is_relation_run(run):
        refuse_options(ctx, "candidates", "missing_share", "edges", why="on a run with --relation")
        explain_relations(run, u, v, relation, out, prior=prior, top=top)
        return
    if relation is not None:
        raise InputError("--relation is for a run of typed links: fit with --relation COLUMN")
    from llwlc._support.files import check_parent_folder, write_text

    if out is not None:
        check_parent_folder(out)
    population = "candidates" if candidates else "random"
    explanation = open_run(run).explain(
        u, v, population=population, prior=prior, missing_share=missing_share, max_edges=edges
    )
    if out is None:
        for line in explanation.to_text(top, spectrum=verbose).splitlines():
            print_text(line)
        return
    kind = out.suffix.lower()
    with stage("writing"):
        write_text(
            out,
            explanation.to_json()
            if kind == ".json"
            else explanation.to_html(top)
            if kind == ".html"
            else explanation.to_text(top),
        )
    print_status(f"written to {out}")
