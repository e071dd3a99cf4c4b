"""Commands that are no longer part of the package: each answers where it is now."""

from __future__ import annotations

import typer

from llwlc.errors import InputError

MOVED_COMMANDS = ("reproduce", "bench", "expressivity")
ANY_ARGUMENTS = {"ignore_unknown_options": True, "allow_extra_args": True}


def refuse_moved_command(ctx: typer.Context) -> None:
    """Moved to `python -m research`."""
    name = ctx.info_name
    raise InputError(
        f"llwlc {name} is not part of the installed package: call python -m research {name}, with the same options,"
        " from the root of a checkout of the repository"
    )
