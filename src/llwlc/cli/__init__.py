"""The command line: thin, every command one call; no torch before it is needed."""

from __future__ import annotations


def main() -> None:
    """Entry point. Input that cannot be used, and wrong usage, end with code 2; an interrupt with 130."""
    from llwlc.cli.app import app

    app()
