"""The commands around a run: fit, score, recommend, evaluate. Each is one call of the library and a table."""

from __future__ import annotations

import csv
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from llwlc import console
from llwlc.console import OUT, say, show
from llwlc.errors import InputError

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="Folder that llwlc fit wrote.")]
PROTOCOLS = "paper, seal, ncn, buddy, heart, random or temporal"
OutOption = Annotated[Path | None, typer.Option("--out", "-o", help="CSV, TSV or Parquet file, by its ending.")]
ELSEWHERE = {name: f"--{name}" for name in ("preset", "seed", "fraction", "device")} | {"cache": "LLWLC_CACHE"}
PriorHelp = "Share of the candidates that are links; probabilities are calibrated for it."


def fit(
    graph: console.GraphArgument,
    out: Annotated[Path, typer.Option(help="Folder of the run.")] = Path("run"),
    preset: Annotated[str, typer.Option(help="anchored (the default), paper or lanczosnet.")] = "anchored",
    protocol: Annotated[str, typer.Option(help=f"How links are split for measuring: {PROTOCOLS}.")] = "random",
    seed: Annotated[int, typer.Option(help="Seed of split, training and every draw.")] = 0,
    val: Annotated[float | None, typer.Option(help="Share of validation links under random and temporal.")] = None,
    test: Annotated[float | None, typer.Option(help="Share of test links under random and temporal.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change an option of the preset, as in --set epochs=10; may be repeated."),
    ] = None,
    fraction: Annotated[float, typer.Option(help="Share of the training links to use.")] = 1.0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    source: console.SourceOption = None,
    target: console.TargetOption = None,
    weight: console.WeightOption = "auto",
    time: console.TimeOption = "auto",
    no_header: console.NoHeaderOption = False,
    separator: console.SeparatorOption = None,
    features: console.FeaturesOption = None,
    node: console.NodeOption = None,
    categorical: console.CategoricalOption = None,
    isolated: console.IsolatedOption = "error",
) -> None:
    """Learns which links are missing from a graph, measures how well, and names the ten likeliest.

    Stopped at any moment, the same command goes on where it was. Examples:

    `llwlc fit cora --out run`

    `llwlc fit edges.csv --source from --target to --features nodes.csv --out run`

    `llwlc fit edges.tsv.gz --no-header --protocol temporal --time 3 --set epochs=20`
    """
    found = console.open_graph(
        graph,
        source=source,
        target=target,
        weight=weight,
        time=time,
        no_header=no_header,
        separator=separator,
        features=features,
        node=node,
        categorical=categorical,
        isolated=isolated,
    )
    from llwlc import splits
    from llwlc.predictor import LinkPredictor

    model = LinkPredictor(preset, device=device, fraction=fraction, **options(set_))
    model.data = graph
    split = splits.make(found, protocol=protocol, seed=seed, val=val, test=test)
    _show_ahead(graph, found, split, model)
    with _epochs(model.preset.train.epochs) as bar:
        model.fit(found, split=split, seed=seed, out=out, on_epoch=bar)
    _show_result(model)
    best = model.recommend(top=10)
    _show_links(best, f"The {len(best)} likeliest missing links")
    OUT.print(f"The run is in {out}. More: llwlc recommend {out} --top 100 -o top.csv", markup=False, soft_wrap=True)


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
) -> None:
    """Adds score and probability to the pairs of a file, and keeps its other columns.

    Examples:

    `llwlc score run pairs.csv -o scores.csv`

    `llwlc score run pairs.parquet -o scores.parquet --prior 0.01 --graph new_edges.csv`
    """
    import pyarrow as pa

    from llwlc.pairs_io import read_pairs
    from llwlc.predictor import LinkPredictor
    from llwlc.table_io import check_writable, write_table

    if out is not None:
        check_writable(out)
    model = LinkPredictor.load(run)
    if graph is None and features is not None:
        raise InputError("--features are the updated graph's: give --graph too")
    if weight != "auto" and (graph is None or model.graph.weight is None):
        raise InputError("--weight is for the updated graph (--graph) of a run that was fitted with weights")
    weight = "none" if model.graph.weight is None else weight  # as the run was fitted
    where = model.graph if graph is None else console.open_graph(str(graph), weight=weight, features=features)
    wanted = read_pairs(pairs, where, source=source, target=target, header=False if no_header else None)
    found = model.score(wanted.pairs, prior=prior, graph=None if graph is None else where)
    table = wanted.table
    table = table.add_column(2, "score", pa.array(found.score.numpy()))
    table = table.add_column(3, "probability", pa.array(found.probability.numpy()))
    say(f"{table.num_rows:,} pairs scored; probabilities are for a prior of {prior:g} (--prior)")
    _deliver(table, out, write_table)


def recommend(
    run: RunArgument,
    top: Annotated[int, typer.Option(help="How many links.")] = 20,
    node: Annotated[str | None, typer.Option(help="Only links of this node.")] = None,
    out: OutOption = None,
    prior: Annotated[
        float | None, typer.Option(help=PriorHelp + " By default the share that validation links had.")
    ] = None,
) -> None:
    """Names the likeliest missing links of a graph, or of one node.

    Candidates share a neighbour or have like features; existing links are left out. Examples:

    `llwlc recommend run --top 100 -o top.csv`

    `llwlc recommend run --node Ada --top 5`
    """
    import pyarrow as pa

    from llwlc.predictor import LinkPredictor
    from llwlc.table_io import check_writable, write_table

    if out is not None:
        check_writable(out)
    model = LinkPredictor.load(run)
    found = model.recommend(node=node, top=top, prior=prior)
    stated = model.run.about["candidate_prior"] if prior is None else prior
    say(f"{len(found):,} links; probabilities are for a prior of {stated:.3g} (--prior)")
    if out is None:
        whose = f" of {node}" if node else ""
        if found:
            _show_links(found, f"The {len(found)} likeliest missing links{whose}")
        else:
            say(f"There are no candidates{whose}: nothing unlinked shares a neighbour or has like features")
        return
    # types stated, so that a table without rows has them too
    kinds = {"source": pa.string(), "target": pa.string(), "score": pa.float64(), "probability": pa.float64()}
    kinds |= {"common_neighbors": pa.int64(), "distance": pa.int64()}
    _deliver(pa.table({k: pa.array([getattr(r, k) for r in found], t) for k, t in kinds.items()}), out, write_table)


def evaluate(
    run: RunArgument,
    protocol: Annotated[
        str | None, typer.Option(help=f"Measure anew under {PROTOCOLS}; without it, the run's own split.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="With --protocol: how many splits.")] = 3,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
) -> None:
    """Shows what a run measured, or trains its preset afresh on other splits of its graph and gives mean and spread.

    Examples:

    `llwlc evaluate run`

    `llwlc evaluate run --protocol ncn --seeds 5`
    """
    from llwlc import splits
    from llwlc.fitting import default_cache, fit_split
    from llwlc.predictor import LinkPredictor

    model = LinkPredictor.load(run, device=device)
    if protocol is None:
        _show_result(model)
        return
    if seeds < 1:
        raise InputError(f"--seeds must be at least 1, got {seeds}")
    fitted, graph = model.fitted, replace(model.graph, x=model.fitted.features)
    compact = None if fitted.features is None else (fitted.compactor, fitted.features)
    rows = []
    for seed in range(seeds):
        split = splits.make(graph, protocol=protocol, seed=seed)
        with _epochs(model.preset.train.epochs) as bar:
            one = fit_split(
                graph,
                split,
                model.preset.changed(seed=seed),
                device=device,
                cache=default_cache(),
                compact=compact,
                on_epoch=bar,
            )
        rows.append(one.metrics)
    first = rows[0]
    show(
        f"protocol {protocol}, {seeds} seed{'s' if seeds > 1 else ''}, {first['num_negatives']:,} negatives, {first['parameters']:,} parameters",
        [
            (_label(key, first), _spread([r[key] for r in rows]))
            for key in ("hits@10", "hits@50", "hits@100", "mrr", "auc", "ap")
        ],
    )


def options(pairs: list[str] | None) -> dict[str, Any]:
    """`--set name=value` as a dictionary, each value a number, a truth value or text.

    >>> options(["epochs=10", "constraints=neumann"])
    {'epochs': 10, 'constraints': 'neumann'}
    """
    found: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals:
            raise InputError(f"--set {pair}: write it as name=value")
        if name in ELSEWHERE:
            raise InputError(f"--set {pair}: {name} is no option of a preset; use {ELSEWHERE[name]}")
        found[name] = _value(text.strip())
    return found


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": "none"}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@contextmanager
def _epochs(total: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A bar that moves by epochs and shows loss and validation score."""
    from llwlc.progress import bars

    with bars() as progress:
        task = progress.add_task("training", total=total)

        def move(record: dict[str, Any]) -> None:
            text = f"training, loss {record['loss']:.3f}, AUC {record['valid_auc']:.4f}"
            progress.update(task, completed=record["epoch"] + 1, description=text)

        yield move


def _show_ahead(name: str, graph: Any, split: Any, model: Any) -> None:
    """What the long work will take, before it begins."""
    from llwlc.fitting import forecast

    ahead = forecast(split, model.preset)
    links = " / ".join(f"{len(p):,}" for p in (split.train_pos, split.valid_pos, split.test_pos))
    show(
        f"{name}: {graph.num_nodes:,} nodes, {graph.num_edges:,} links; protocol {split.protocol}, seed {split.seed}",
        [
            ("training, validation, test links", links),
            ("enclosing subgraphs, mean and largest seen", f"{ahead.mean_size:.0f} / {ahead.largest:,} nodes"),
            ("eigenbases to compute", f"{ahead.links:,} links, {ahead.num_bytes / 2**20:,.0f} MB"),
            ("time expected, at most", _duration(ahead.seconds)),
        ],
    )


def _show_result(model: Any) -> None:
    from llwlc.modelcard import COLUMNS, result_notes, result_rows

    table = Table(pad_edge=False)  # with the longest numbers it is 79 wide; a terminal has 80
    for name in COLUMNS:
        table.add_column(name, no_wrap=True, justify="left" if name == "method" else "right")
    for row in result_rows(model.fitted):
        table.add_row(*row)
    OUT.print(table)
    OUT.print(result_notes(model.fitted, model.run.split), markup=False, highlight=False)


def _show_links(found: list[Any], title: str) -> None:
    OUT.print(title, markup=False, highlight=False)
    table = Table("source", "target", "score", "probability", "common neighbours", "distance")
    for r in found:
        far = "> 5" if r.distance is None else str(r.distance)
        table.add_row(r.source, r.target, f"{r.score:.3f}", f"{r.probability:.4f}", str(r.common_neighbors), far)
    OUT.print(table)


def _deliver(table: Any, out: Path | None, write: Any) -> None:
    if out is not None:
        write(out, table)
        say(f"written to {out}")
        return
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(table.column_names)
    rows.writerows(row.values() for row in table.to_pylist())


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} seconds"
        if seconds < 90
        else f"{seconds / 60:.0f} minutes"
        if seconds < 5400
        else f"{seconds / 3600:.1f} hours"
    )


def _label(key: str, first: dict[str, Any]) -> str:
    rate = first.get(f"{key}_fpr")
    return key.replace("hits", "HR").upper() + ("" if rate is None else f" (false-positive rate {100 * rate:.3g} %)")


def _spread(values: list[float]) -> str:
    spread = 100 * statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{100 * statistics.mean(values):.2f} ± {spread:.2f}"
