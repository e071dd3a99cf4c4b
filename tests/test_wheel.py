"""The wheel holds everything that the package needs: its modules, its data files, the sources of its kernels."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_file_of_the_package_is_in_the_wheel(tmp_path):
    copy = tmp_path / "checkout"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, copy / name)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, "--no-build-isolation", "-w", tmp_path / "wheel", copy], check=True, capture_output=True)
    (wheel,) = (tmp_path / "wheel").glob("llwlc-*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    wanted = {str(p.relative_to(ROOT / "src")) for p in (ROOT / "src" / "llwlc").rglob("*") if p.is_file()}
    wanted = {name for name in wanted if "__pycache__" not in name}
    assert {"llwlc/datasets/files/cora.npz", "llwlc/py.typed", "llwlc/kernels/cuda/solve.cu"} <= wanted
    assert wanted <= held
