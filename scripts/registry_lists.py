"""Rewrites the lists of docs/architecture.md from the registries: `python scripts/registry_lists.py`."""

from __future__ import annotations

from pathlib import Path

from llwlc._kernels.backends import BACKENDS
from llwlc.bases._starts import STARTS
from llwlc.constraints._registry import FAMILIES
from llwlc.datasets._catalog import DATASETS
from llwlc.heuristics._registry import HEURISTICS, WALK_HEURISTICS
from llwlc.models._registry import MODELS
from llwlc.nn._registry import READOUTS
from llwlc.splits._registry import PROTOCOLS

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
BEGIN, END = "<!-- registries -->\n", "<!-- /registries -->\n"
REGISTRIES = (FAMILIES, STARTS, READOUTS, PROTOCOLS, DATASETS, HEURISTICS, WALK_HEURISTICS, MODELS, BACKENDS)


def lists() -> str:
    """One table a registry."""
    return "\n\n".join(registry.markdown() for registry in REGISTRIES)


def page(text: str) -> str:
    """The page with its lists made anew."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}{lists()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
