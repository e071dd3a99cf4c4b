"""Links of several types on the command line: `fit --relation`, and `recommend` and `score` of such a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from llwlc._cli.console import OUT, print_rows, print_status
from llwlc._cli.graph_options import GraphOptions, gigabytes_to_bytes, make_source, parse_separator
from llwlc._cli.options import refuse_options
from llwlc._cli.tables import TableOutput
from llwlc._io.database_url import redact
from llwlc._support.stopwatch import STARTING, stage
from llwlc.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from llwlc.relations import RelationPredictor, Triples, TypedLink

COLUMNS = ("source", "type", "target", "score", "probability")


def fit_relations(
    ctx: typer.Context, name: str, relation: str, out: Path, seed: int, options: GraphOptions, node_type: str | None
) -> None:
    """Fits a predictor of typed links, and prints what it measured."""
    refuse_options(
        ctx,
        *("preset", "model", "protocol", "val", "test", "set_", "fraction", "minutes", "plan", "negatives", "weight"),
        *("time", "bipartite", "node_list", "isolated", "categorical"),
        why="with --relation, whose links have types instead",
    )
    refuse_options(ctx, "directed", why="with --relation, whose links lead from source to target in any case")
    with stage(STARTING):
        from llwlc.graph import Graph
        from llwlc.graph._report import describe_unused
        from llwlc.relations import RelationPredictor, read_triples

    if out.exists():
        raise InputError(f"{out} exists already: choose another --out, or delete it")
    source = make_source(name, options.query, "--query")
    assert source is not None
    with stage("reading"):
        triples = read_triples(
            source,
            relation,
            source=options.source,
            target=options.target,
            header=False if options.no_header else None,
            separator=parse_separator(options.separator),
            unzipped_limit=gigabytes_to_bytes(options.unzipped_limit),
        )
    print_status(
        f"{redact(name)}: {triples.num_rows:,} rows gave {triples.num_nodes:,} nodes and {len(triples):,} links of"
        f" {len(triples.types):,} types{describe_repeats(triples)}"
    )
    if triples.unused:
        print_status(describe_unused(triples.unused))
    labels = None
    if node_type is not None:
        import torch

        nodes = Graph.from_edges(torch.zeros(0, 2, dtype=torch.long), num_nodes=triples.num_nodes, names=triples.names)
        labels = options.read_node_types(nodes, node_type)
    with stage("training"):
        model = RelationPredictor(seed=seed).fit(triples, node_types=labels)
    with stage("saving"):
        model.save(out)
    metrics = [
        (title.upper() if title == "mrr" else title, f"{100 * value:.2f}") for title, value in model.metrics_.items()
    ]
    print_rows("A hidden tenth of the links, both ends predicted (filtered ranks, in percent)", metrics)
    OUT.print(
        f"The run is in {out}. More: llwlc recommend {out} --relation TYPE --top 20", markup=False, soft_wrap=True
    )


def describe_repeats(triples: Triples) -> str:
    """The number of repeated rows, which are merged, and of self-loops, which are kept.

    >>> from llwlc.relations import Triples
    >>> describe_repeats(Triples.of([("Ada", "knows", "Bob"), ("Ada", "knows", "Bob"), ("Bob", "knows", "Bob")]))
    ': 1 repeated merged, 1 of a node with itself'
    """
    repeated = triples.num_rows - len(triples)
    loops = int((triples.rows[:, 0] == triples.rows[:, 2]).sum())
    parts = [f"{repeated:,} repeated merged"] * bool(repeated) + [f"{loops:,} of a node with itself"] * bool(loops)
    return f": {', '.join(parts)}" if parts else ""


def recommend_relations(
    run: Path, relation: str | None, top: int | None, node: str | None, delivery: TableOutput
) -> None:
    """Writes the likeliest missing links of a run of typed links."""
    model = open_relation_run(run)
    with stage("listing"):
        links = model.recommend(relation, top=20 if top is None else top, node=node)
    what = "of any type" if relation is None else f"of type {relation!r}"
    print_status(f"{len(links):,} links {what}; probabilities assume as many known as random links")
    delivery.write_out(as_table(links))


def score_relations(
    run: Path,
    pairs: str,
    query: str | None,
    relation: str,
    source: str | None,
    target: str | None,
    delivery: TableOutput,
) -> None:
    """Writes the scores of the typed links of a file."""
    asked = make_source(pairs, query, "--query")
    assert asked is not None
    model = open_relation_run(run)
    from llwlc.relations._triples import read_columns

    with stage("reading"):
        columns, _ = read_columns(asked, relation, source=source, target=target)
        rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
    with stage("scoring"):
        scored = model.score(rows)
    print_status(f"{len(scored):,} typed links scored; probabilities assume as many known as random links")
    delivery.write_out(as_table(scored))


def open_relation_run(folder: Path) -> RelationPredictor:
    """The fitted predictor of typed links in a run folder."""
    with stage(STARTING):
        from llwlc.relations import RelationPredictor
    with stage("reading"):
        return RelationPredictor.load(folder)


def as_table(links: list[TypedLink]) -> pa.Table:
    """Columns source, type, target, score and probability."""
    import pyarrow as pa

    return pa.table({name: [getattr(link, name) for link in links] for name in COLUMNS})
