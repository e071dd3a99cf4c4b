"""The command line: every command is one call of the library; torch is imported only when a command needs it."""

from __future__ import annotations


def main() -> None:
    """Entry point. Input that cannot be used, and wrong usage, end with code 2; an interrupt with 130."""
    from llwlc.cli.app import app

    app()
