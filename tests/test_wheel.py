"""The wheel holds everything that the package needs: its modules, its data files, the sources of its kernels."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


FILES = ("pyproject.toml", "README.md", "LICENSE", "NOTICE", "MANIFEST.in")


def checkout(folder: Path, *, folders: tuple[str, ...]) -> Path:
    """A copy of the files that an archive is made from, without what was compiled or built beside them."""
    folder.mkdir()
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    for name in folders:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return folder


def test_the_wheel_holds_every_file_of_the_package_and_nothing_beside_it(tmp_path):
    copy = checkout(tmp_path / "checkout", folders=("src", "research", "tests", "scripts", "examples"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, "--no-build-isolation", "-w", tmp_path / "wheel", copy], check=True, capture_output=True)
    (wheel,) = (tmp_path / "wheel").glob("llwlc-*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    wanted = {str(p.relative_to(ROOT / "src")) for p in (ROOT / "src" / "llwlc").rglob("*") if p.is_file()}
    wanted = {name for name in wanted if "__pycache__" not in name}
    assert {"llwlc/datasets/files/cora.npz", "llwlc/py.typed", "llwlc/_kernels/cuda/solve.cu"} <= wanted
    assert wanted <= held
    assert {name for name in held - wanted if not name.startswith("llwlc-0")} == set()  # the product alone


def test_the_source_archive_holds_the_product_and_no_half_of_the_tests(tmp_path):
    """setuptools adds `tests/test*.py` by itself, but neither their helpers nor the folders below."""
    copy = checkout(tmp_path / "checkout", folders=("src", "tests"))
    build = "from setuptools import build_meta; build_meta.build_sdist('dist')"
    subprocess.run([sys.executable, "-c", build], cwd=copy, check=True, capture_output=True)
    (archive,) = (copy / "dist").glob("llwlc-*.tar.gz")
    with tarfile.open(archive) as opened:
        held = {member.name.partition("/")[2] for member in opened.getmembers() if member.isfile()}
    package = {p.relative_to(copy).as_posix() for p in (copy / "src" / "llwlc").rglob("*") if p.is_file()}
    made = {name for name in held if name.startswith("src/llwlc.egg-info/")} | {"PKG-INFO", "setup.cfg"}
    assert held - made == package | set(FILES)


def test_the_notice_names_every_file_that_came_from_elsewhere():
    """Data and scripts beside the code: those of this project are listed here, all others stand in NOTICE."""
    own = {"py.typed", "page.css", "page.html", "page.js", "report.css", "report.js", "typed.html", "typed.js"}
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
    assert foreign >= {"src/llwlc/datasets/files/cora.npz", "src/llwlc/_serve/files/cytoscape.min.js"}
    assert [name for name in foreign if name not in notice] == []
