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


def test_the_notice_names_every_file_that_came_from_elsewhere():
    """Data and scripts beside the code: those of this project are listed here, all others stand in NOTICE."""
    own = {"py.typed", "page.css", "page.html", "page.js", "report.css", "report.js"}
    notice = (ROOT / "NOTICE").read_text()
    source = ROOT / "src" / "llwlc"
    files = [
        path
        for path in source.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc", ".cu", ".cuh", ".cpp")
    ]
    foreign = {path.relative_to(ROOT).as_posix() for path in files} - {
        path.relative_to(ROOT).as_posix() for path in files if path.name in own
    }
    assert foreign >= {"src/llwlc/datasets/files/cora.npz", "src/llwlc/serve/files/cytoscape.min.js"}
    assert [name for name in foreign if name not in notice] == []
