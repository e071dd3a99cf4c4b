"""The files of a run of typed links."""

from __future__ import annotations

from pathlib import Path

ABOUT, TENSORS, FORMAT = "relations.json", "relations.safetensors", 1


def is_relation_run(folder: Path | str) -> bool:
    """Whether a folder is a run of typed links."""
    return (Path(folder) / ABOUT).is_file()
