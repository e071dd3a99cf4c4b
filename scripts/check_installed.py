"""Whether an installed package is whole, by a fit, a list and a score of the embedded graph Cora; CI runs it in an
environment that holds nothing else.

python scripts/check_installed.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import llwlc
from llwlc._support.version import VERSION


def main() -> None:
    place = Path(llwlc.__file__).parent
    if place.parent.name == "src":
        sys.exit(f"{place} is a checkout: run this where the package is installed from its wheel or sdist")
    with tempfile.TemporaryDirectory() as folder:
        for command in (
            "fit cora --model adamic-adar --out run",
            "recommend run --top 5",
            "--version",
        ):
            subprocess.run([sys.executable, "-m", "llwlc", *command.split()], cwd=folder, check=True)
    print(f"llwlc {VERSION} in {place} works")


if __name__ == "__main__":
    main()
