"""`--engine`: whether a command does its work in this process or by workers on Ray."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llwlc._cli.console import print_status
from llwlc.errors import InputError

if TYPE_CHECKING:
    from llwlc._cli.graph_options import UpdateOptions
    from llwlc.ranking._recommendations import Recommendations

EngineOption = Annotated[
    str, typer.Option(help="local: this process; ray: workers, on this machine or a cluster (extra ray).")
]
AddressOption = Annotated[
    str | None,
    typer.Option(help="With --engine ray: a running cluster, as in auto or HOST:PORT; by default one is started here."),
]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="With --engine ray: maximum number of workers; by default one per processor.")
]


def uses_ray(engine: str, address: str | None, workers: int | None) -> bool:
    if engine not in ("local", "ray"):
        raise InputError(f"--engine is local or ray, got {engine!r}")
    if engine == "local" and (address is not None or workers is not None):
        raise InputError("--address and --workers are for --engine ray: give that too")
    return engine == "ray"


def score_on_ray(
    run: Path,
    pairs: Path,
    out: Path | None,
    address: str | None,
    workers: int | None,
    update: UpdateOptions,
    **options: Any,
) -> None:
    """Scores pairs into a folder of shards, and prints how many."""
    if out is None or str(out) == "-":
        raise InputError("with --engine ray the scores go to a folder: name it with -o")
    _refuse_others(update, "graph")
    options |= {"graph": None if update.graph is None else Path(update.graph)}
    from llwlc._engines.ray_pool import Cluster
    from llwlc._engines.scoring import make_score_task, score_in_shards

    counts = score_in_shards(make_score_task(run, pairs, out, **options), Cluster(address, workers))
    before = counts["pairs"] - counts["scored"]
    earlier = f", {before:,} of them by an earlier call" if before else ""
    print_status(
        f"{counts['pairs']:,} pairs scored{earlier}; probabilities are for a prior of {options['prior']:g} (--prior)"
    )
    print_status(f"written to {out}")


def recommend_on_ray(
    run: Path, out: Path | None, address: str | None, workers: int | None, update: UpdateOptions, **options: Any
) -> Recommendations:
    """Recommends by workers; their shards are kept beside the file that is written at the end."""
    _refuse_others(update)
    if out is None or str(out) == "-":
        raise InputError(
            "with --engine ray, name the file of the links with -o: shards are kept beside it until it is written"
        )
    from llwlc._engines.ray_pool import Cluster
    from llwlc._engines.recommending import recommend_in_shards

    return recommend_in_shards(run, out.with_name(f"{out.name}.shards"), Cluster(address, workers), **options)


def _refuse_others(update: UpdateOptions, *allowed: str) -> None:
    """Refuses options of an updated graph that workers cannot apply."""
    for field in fields(update):
        if field.name not in allowed and getattr(update, field.name) != field.default:
            remedy = ": pack the graph as it is now (llwlc data pack)" if "graph" in allowed else ": leave it out"
            raise InputError(f"--{field.name.replace('_', '-')} has no effect with --engine ray{remedy}")
