"""`llwlc serve`: the page of a run."""

from __future__ import annotations

from typing import Annotated

import typer

from llwlc.cli.console import say
from llwlc.cli.options import PluginOption, RunArgument, load_plugins


def serve(
    run: RunArgument,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8765,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but this machine's own asks every visitor for a token.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option(help="A host name that the server is called by, beside its address; may be repeated."),
    ] = None,
    plugin: PluginOption = None,
) -> None:
    """Serves a page to explore a run, on this machine.

    On the page one searches a node, sees its likeliest missing links with their surroundings and reasons, scores pairs and exports tables.
    The page uses a JSON interface (/score, /recommend, /explain, /health), which /openapi.json describes. Needs the extra `serve`. Example:

    `llwlc serve run --port 8765`
    """
    load_plugins(plugin)
    from llwlc.predict.predictor import LinkPredictor
    from llwlc.serve.server import serve_run

    serve_run(LinkPredictor.load(run), host=host, port=port, names=name or (), say=say)
