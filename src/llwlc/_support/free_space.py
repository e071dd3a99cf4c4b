"""How much memory and disk are free."""

from __future__ import annotations

import shutil
from pathlib import Path


def free_disk(path: Path) -> int:
    """Free bytes on the disk of a path, which need not exist yet."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return shutil.disk_usage(path).free


def free_memory() -> int | None:
    """Bytes of memory available without swapping; None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    available = next((line for line in lines if line.startswith("MemAvailable:")), None)
    return None if available is None else int(available.split()[1]) * 1024
