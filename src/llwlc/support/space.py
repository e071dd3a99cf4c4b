"""How much memory and disk are free."""

from __future__ import annotations

import shutil
from pathlib import Path


def free_disk(path: Path) -> int:
    """Bytes that may still be written where a path lies or would lie."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return shutil.disk_usage(path).free


def free_memory() -> int | None:
    """Bytes that programs may still take without pushing others out; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = next((line for line in lines if line.startswith("MemAvailable:")), None)
    return None if found is None else int(found.split()[1]) * 1024
