"""`llwlc cache`: shows and clears the cache of eigenbases."""

from __future__ import annotations

import typer

from llwlc.cli.console import Group, show

cache = typer.Typer(
    cls=Group, no_args_is_help=True, help="Eigenbases that are kept for the next fit of the same graph."
)
GIGABYTE = 2**30


@cache.command("show")
def show_cache() -> None:
    """Shows where the cache is, its size and its limit. Example: `llwlc cache show`"""
    from llwlc.bases.cache import cache_limit, default_cache, entries
    from llwlc.support.space import free_disk

    folder = default_cache()
    found = entries(folder)
    show(
        f"{folder} (LLWLC_CACHE names another place)",
        [
            ("entries", f"{len(found):,}, of which {sum(e.abandoned for e in found):,} belong to runs that are gone"),
            ("gigabytes", f"{sum(e.size for e in found) / GIGABYTE:.2f}"),
            ("gigabytes allowed", f"{cache_limit() / GIGABYTE:g} (LLWLC_CACHE_LIMIT)"),
            ("gigabytes free on the disk", f"{free_disk(folder) / GIGABYTE:.1f}"),
        ],
    )


@cache.command("clear")
def clear_cache() -> None:
    """Deletes the cache, except entries that a fit is writing right now. Example: `llwlc cache clear`"""
    from llwlc.bases.cache import clear, default_cache

    typer.echo(f"{clear(default_cache()) / GIGABYTE:.2f} GB became free")
