"""`llwlc recommend`: the likeliest missing links of a run's graph."""

from __future__ import annotations

from typing import Annotated

import typer

from llwlc.cli.console import say
from llwlc.cli.options import OutOption, PluginOption, PriorHelp, RunArgument, load_plugins
from llwlc.cli.tables import deliver, show_links


def recommend(
    run: RunArgument,
    top: Annotated[int, typer.Option(help="How many links.")] = 20,
    node: Annotated[str | None, typer.Option(help="Only links of this node.")] = None,
    out: OutOption = None,
    prior: Annotated[
        float | None, typer.Option(help=PriorHelp + " By default the share that validation links had.")
    ] = None,
    plugin: PluginOption = None,
) -> None:
    """Names the likeliest missing links of a graph, or of one node.

    Candidates share a neighbour or have like features; existing links are left out. Examples:

    `llwlc recommend run --top 100 -o top.csv`

    `llwlc recommend run --node Ada --top 5`
    """
    load_plugins(plugin)
    import pyarrow as pa

    from llwlc.graph.table_file import check_writable
    from llwlc.predict.predictor import LinkPredictor

    if out is not None:
        check_writable(out)
    model = LinkPredictor.load(run)
    found = model.recommend(node=node, top=top, prior=prior)
    stated = model.run.info.candidate_prior if prior is None else prior
    say(f"{len(found):,} links; probabilities are for a prior of {stated:.3g} (--prior)")
    if out is None:
        whose = f" of {node}" if node else ""
        if found:
            show_links(found, f"The {len(found)} likeliest missing links{whose}")
        else:
            say(f"There are no candidates{whose}: nothing unlinked shares a neighbour or has like features")
        return
    # types stated, so that a table without rows has them too
    kinds = {"source": pa.string(), "target": pa.string(), "score": pa.float64(), "probability": pa.float64()}
    kinds |= {"common_neighbors": pa.int64(), "distance": pa.int64()}
    deliver(pa.table({k: pa.array([getattr(r, k) for r in found], t) for k, t in kinds.items()}), out)
