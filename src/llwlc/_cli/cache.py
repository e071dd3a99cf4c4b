"""`llwlc cache`: shows and clears the cache of eigenbases."""

from __future__ import annotations

import typer

from llwlc._cli.console import Group, print_rows

cache = typer.Typer(
    cls=Group, no_args_is_help=True, help="Eigenbases that are kept for the next fit of the same graph."
)
GIGABYTE = 2**30


@cache.command("show")
def show_cache() -> None:
    """Shows where the cache is, its size and its limit. Example: `llwlc cache show`"""
    from llwlc._support.free_space import free_disk
    from llwlc.bases._cache import cache_limit, default_cache_folder, list_entries

    folder = default_cache_folder()
    entries = list_entries(folder)
    print_rows(
        f"{folder} (LLWLC_CACHE names another place)",
        [
            (
                "entries",
                f"{len(entries):,}, of which {sum(e.abandoned for e in entries):,} belong to runs that are gone",
            ),
            ("gigabytes", f"{sum(e.size for e in entries) / GIGABYTE:.2f}"),
            ("gigabytes allowed", f"{cache_limit() / GIGABYTE:g} (LLWLC_CACHE_LIMIT)"),
            ("gigabytes free on the disk", f"{free_disk(folder) / GIGABYTE:.1f}"),
        ],
    )


@cache.command("clear")
def clear_cache() -> None:
    """Deletes the cache, except entries that a fit is writing right now. Example: `llwlc cache clear`"""
    from llwlc.bases._cache import default_cache_folder, delete_entries

    typer.echo(f"{delete_entries(default_cache_folder()) / GIGABYTE:.2f} GB became free")
