"""`llwlc serve`: the page of a run."""

from __future__ import annotations

from typing import Annotated

import typer

from llwlc._cli.console import print_status
from llwlc._cli.options import PluginOption, RunArgument, load_plugins
from llwlc._cli.relations import open_relation_run
from llwlc._cli.runs import open_run
from llwlc.errors import MissingDependencyError
from llwlc.relations._run_folder import is_relation_run


def serve(
    run: RunArgument,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8765,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but this machine's own asks every visitor for a token.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "A host name or address that the server is called by, besides --host and those of loopback; may be"
                " repeated."
            )
        ),
    ] = None,
    require_token: Annotated[
        bool,
        typer.Option(
            "--require-token",
            help="Ask for a token on this machine too, where other users of it must not read the run.",
        ),
    ] = False,
    plugin: PluginOption = None,
) -> None:
    """Serves a page to explore a run, on this machine.

    The page lists the likeliest missing links of the graph, or of a node, with their surroundings and reasons; it also
    scores pairs and exports tables. Behind it is a JSON interface (/score, /recommend, /explain, /health), which
    /openapi.json describes. Needs the extra `serve`. Example:

    `llwlc serve run --port 8765`
    """
    load_plugins(plugin)

    try:
        from llwlc._serve.server import serve_run
    except ImportError as error:
        raise MissingDependencyError(
            "the page needs starlette and uvicorn: pip install 'llwlc[serve]'", name=error.name
        ) from error

    typed = is_relation_run(run)
    serve_run(
        open_relation_run(run) if typed else open_run(run),
        name=str(run) if typed else None,
        host=host,
        port=port,
        names=name or (),
        require_token=require_token,
        say=print_status,
    )
