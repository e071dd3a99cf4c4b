"""The commands of `python -m research`; torch is imported only when a command needs it."""

from __future__ import annotations


def main() -> None:
    """Entry point. Input that cannot be used, and wrong usage, end with code 2; an interrupt with 130."""
    from research.cli.app import app

    app(prog_name="python -m research")
