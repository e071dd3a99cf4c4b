"""Links of several types on the command line: `fit --relation`, and the other commands on such a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from llwlc._cli.console import OUT, print_rows, print_status, print_table, print_text
from llwlc._cli.graph_options import (
    GraphOptions,
    UpdateOptions,
    gigabytes_to_bytes,
    make_source,
    parse_separator,
    split_names,
)
from llwlc._cli.options import refuse_options
from llwlc._cli.tables import TableOutput
from llwlc._io.database_url import redact
from llwlc._support.stopwatch import STARTING, stage
from llwlc.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from llwlc.relations import RelationPredictor, Triples, TypedLink

MAX_LISTED = 3_000_000
"""Maximum number of candidates from which `fit` makes a list."""
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
        from llwlc.graph._names import describe_odd_names
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
            link_attributes=split_names(options.link_attributes),
        )
    print_status(
        f"{redact(name)}: {triples.num_rows:,} rows gave {triples.num_nodes:,} nodes and {len(triples):,} links of"
        f" {len(triples.types):,} types{describe_repeats(triples)}"
    )
    if triples.unused:
        print_status(describe_unused(triples.unused))
    for text in (*describe_odd_names(triples.types, "type of links"), *describe_odd_names(triples.names)):
        print_status(f"Warning: {text}", style="yellow")
    labels = None
    if node_type is not None:
        import torch

        nodes = Graph.from_edges(torch.zeros(0, 2, dtype=torch.long), num_nodes=triples.num_nodes, names=triples.names)
        labels = options.read_node_types(nodes, node_type)
    with stage("training"):
        model = RelationPredictor(seed=seed).fit(triples, node_types=labels)
    with stage("saving"):
        model.save(out)
    if model.network_note_:
        print_status(f"Without our network's score of pairs: {model.network_note_}")
    show_typed_links(model)
    metrics = []
    for title, value in model.metrics_.items():
        alone = "" if model.weights_ is None else f"  ({100 * model.factor_metrics_[title]:.2f} by the factors alone)"
        metrics.append((title.upper() if title == "mrr" else title, f"{100 * value:.2f}{alone}"))
    print_rows("A hidden tenth of the links, both ends predicted (filtered ranks, in percent)", metrics)
    OUT.print(
        f"The run is in {out}. More: llwlc recommend {out} --relation TYPE --top 20", markup=False, soft_wrap=True
    )


def count_pairs(model: RelationPredictor) -> int:
    """An upper bound of the number of candidates of all types."""
    triples = model.triples_
    if model.node_types_ is not None:
        return len(triples.types) * triples.num_nodes**2
    by_type = (triples.rows[triples.rows[:, 1] == kind] for kind in range(len(triples.types)))
    return sum(len({*rows[:, 0].tolist()}) * len({*rows[:, 2].tolist()}) for rows in by_type)


def show_typed_links(model: RelationPredictor) -> None:
    """Prints the likeliest missing links of any type, unless listing takes long, and how far to trust them in words."""
    from llwlc.relations._explanation import describe_population

    if count_pairs(model) > MAX_LISTED:
        print_text("The graph is too large for a list of all types here: llwlc recommend lists one type.")
    elif not (links := model.recommend(top=10)):
        print_text("There are no candidates for missing links: all pairs of sources and targets are links.")
    else:
        print_text(f"The {len(links):,} likeliest missing links of any type")
        rows = [[link.source, link.type, link.target, f"{link.probability:.3f}"] for link in links]
        print_table(Table("source", "type", "target", "probability", pad_edge=False), rows)
        OUT.print(f"Probabilities hold {describe_population(0.5)}.", markup=False, highlight=False)
    first, ten = (f"{100 * model.metrics_[name]:.0f} %" for name in ("hits@1", "hits@10"))
    chance = 100 * min(10 / model.triples_.num_nodes, 1)
    OUT.print(
        "How far to trust this: a tenth of the links was hidden, and either end of each was looked for among all"
        f" {model.triples_.num_nodes:,} nodes. The right node came first for {first} of them, and among the first ten"
        f" for {ten} (at random: {chance:.2g} %). It says how well nodes are ranked, not how many links of the list are"
        " true.",
        markup=False,
        highlight=False,
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


def open_relation_run(run: Path, update: UpdateOptions | None = None) -> RelationPredictor:
    """A run of typed links, with the links of `--add`, which has the column of types that the run was fitted with."""
    with stage(STARTING):
        from llwlc.relations import RelationPredictor, read_triples
    with stage("reading"):
        model = RelationPredictor.load(run)
    added = None if update is None else make_source(update.add, update.add_query, "--add-query")
    if update is None or added is None:
        return model
    triples = read_triples(
        added,
        model.relation_,
        source=update.graph_source,
        target=update.graph_target,
        header=False if update.graph_no_header else None,
        separator=parse_separator(update.graph_separator),
        unzipped_limit=gigabytes_to_bytes(update.unzipped_limit),
        link_attributes=model.triples_.attribute_names,
    )
    newer, before = model.with_links(triples), model.triples_
    print_status(
        f"with the added links, {newer.triples_.num_nodes:,} nodes and {len(newer.triples_):,} links"
        f" ({newer.triples_.num_nodes - before.num_nodes:+,} nodes, {len(newer.triples_) - len(before):+,} links);"
        " factors of new nodes are trained on their links, others stay as they were fitted"
    )
    return newer


def refuse_updates(ctx: typer.Context) -> None:
    """Refuses the changes of a graph that a run of typed links cannot take."""
    why = "on a run with --relation, which takes new links and their nodes by --add"
    refuse_options(ctx, "graph", "graph_query", "node_list", "features", "new_nodes", "features_query", why=why)
    refuse_options(ctx, "graph_weight", "graph_node", why=why)


def recommend_relations(
    run: Path, update: UpdateOptions, relation: str | None, top: int | None, node: str | None, delivery: TableOutput
) -> None:
    """Writes the likeliest missing links of a run of typed links."""
    from llwlc.relations._explanation import describe_population

    model = open_relation_run(run, update)
    with stage("listing"):
        links = model.recommend(relation, top=20 if top is None else top, node=node)
    what = "of any type" if relation is None else f"of type {relation!r}"
    print_status(f"{len(links):,} links {what}; probabilities hold {describe_population(0.5)}")
    delivery.write_out(as_table(links))


def score_relations(
    run: Path,
    update: UpdateOptions,
    pairs: str,
    query: str | None,
    delivery: TableOutput,
    *,
    prior: float,
    unknown: str,
    **columns: Any,
) -> None:
    """Writes the typed links of a file with their scores and all other columns."""
    from llwlc.relations._explanation import describe_population

    asked = make_source(pairs, query, "--query")
    model = open_relation_run(run, update)
    with stage("scoring"):
        found = model.score_table(asked, prior=prior, unknown=unknown, verbatim=delivery.text, **columns)
    for name, renamed in found.renamed.items():
        print_status(f"the column {name!r} of {redact(pairs)} is kept as {renamed!r}")
    if found.note:
        print_status(
            f"Warning: {found.note} These rows {'are left out' if unknown == 'skip' else 'have no score'}",
            style="yellow",
        )
    print_status(f"{found.scored:,} typed links scored; probabilities hold {describe_population(prior)} (--prior)")
    delivery.write_out(found.table)


def explain_relations(
    run: Path, source: str, target: str, relation: str | None, out: Path | None, *, prior: float, top: int
) -> None:
    """Prints or writes why a typed link has its score."""
    from llwlc._support.files import check_parent_folder, write_text

    if out is not None:
        check_parent_folder(out)
    model = open_relation_run(run)
    with stage("explaining"):
        found = model.explain(source, target, relation, prior=prior)
    if out is None:
        for line in found.to_text(top).splitlines():
            print_text(line)
        return
    if out.suffix.lower() == ".json":
        write_text(out, found.to_json())
    else:
        write_text(out, found.to_html(top) if out.suffix.lower() == ".html" else found.to_text(top))
    print_status(f"written to {out}")


def as_table(links: list[TypedLink]) -> pa.Table:
    """Columns source, type, target, score and probability."""
    import pyarrow as pa

    return pa.table({name: [getattr(link, name) for link in links] for name in COLUMNS})
