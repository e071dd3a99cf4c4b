"""Writes the translations of the kernels that `llwlc fit` needs (`llwlc._support.translated_kernels`) for this system,
Python and numba, after a change of their source. It runs fits, for some minutes; translations that are in the archive
already stay there as long as their source does.

    python scripts/translate_kernels.py
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numba
from llvmlite.binding import parse_assembly, parse_bitcode
from numba.core.serialize import dumps

from llwlc._support.compiler import translation_folder
from llwlc._support.translated_kernels import FOLDER, RECORD, archive_name

# the two largest members of the default model
FITS = (["--model", "llwlc", "--plan", "full", "--set", "epochs=1"], ["--model", "stack"])
LIBRARIES = str(Path(numba.__file__).parents[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorded", type=Path, help="a folder of translations that are recorded already: no fits")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        target = FOLDER / archive_name()
        recorded = options.recorded or record_fits(Path(folder))
        if target.exists():
            extract_current(target, recorded)
        write_archive(recorded, target)
    print(f"{target.name}: {len(zipfile.ZipFile(target).namelist())} kernels, {target.stat().st_size / 1e6:.1f} MB")


def record_fits(folder: Path) -> Path:
    """Runs fits from an empty code cache; returns the folder with their translations."""
    where = {"NUMBA_CACHE_DIR": str(folder / "code"), "LLWLC_CACHE": str(folder / "cache")}
    environment = os.environ | where | {RECORD: str(folder / "recorded")}
    for number, model in enumerate(FITS):
        command = [sys.executable, "-m", "llwlc", "fit", "cora", *model, "--out", str(folder / f"run{number}")]
        subprocess.run(command, env=environment, check=True)
    return folder / "recorded"


def extract_current(archive: Path, folder: Path) -> None:
    """Extracts those translations whose source is the present one."""
    with zipfile.ZipFile(archive) as opened:
        for name in opened.namelist():
            place = name.split("/")[0]
            if translation_folder("llwlc." + place.rpartition("-")[0]) == place:
                opened.extract(name, folder)


def write_archive(recorded: Path, target: Path) -> None:
    """Packs the recorded translations, in their order by name and without dates: the same content is the same file."""
    with zipfile.ZipFile(target, "w") as archive:
        for file in sorted(path for path in recorded.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(file.relative_to(recorded).as_posix())
            archive.writestr(entry, without_paths(file.read_bytes()), zipfile.ZIP_LZMA)


def without_paths(content: bytes) -> bytes:
    """The translation without the folder that numba is in, which stands in the places of its errors: as many
    characters, since the length of a text is a part of it.
    """
    title, bitcode, *rest = pickle.loads(content)
    text = str(parse_bitcode(bitcode)).replace(LIBRARIES, "." + "/" * (len(LIBRARIES) - 1))
    return dumps((title, parse_assembly(text).as_bitcode(), *rest))


if __name__ == "__main__":
    main()
