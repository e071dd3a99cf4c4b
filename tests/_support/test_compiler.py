"""Compiled code is kept under a digest of all that it is made of: an edit anywhere below runs new machine code."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from llwlc._support import compiler
from llwlc._support.compiler import source_digest

SOURCE = Path(compiler.__file__).parents[1]


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The package's sources, elsewhere, to edit."""
    shutil.copytree(SOURCE, tmp_path / "llwlc", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(compiler, "ROOT", tmp_path / "llwlc")
    return tmp_path / "llwlc"


FUSED, LISTS = "llwlc._kernels.numba.fused_bases", "llwlc._candidates.retriever"


@pytest.mark.parametrize(
    ("edited", "fused", "lists"),
    [
        ("_kernels/numba/vectors.py", True, False),  # inlined three calls down
        ("_kernels/numba/enclosing_subgraph.py", True, False),  # has constants that are frozen into code
        ("_support/compiler.py", True, True),
        ("_candidates/retriever.py", False, True),
        ("_candidates/walks.py", False, True),
        ("models/_llwlc/training.py", False, False),
        ("constraints/_boundary.py", False, False),
    ],
)
def test_an_edit_changes_the_digest_of_what_is_made_of_it(copy, edited, fused, lists):
    before = [source_digest(name) for name in (FUSED, LISTS)]
    with (copy / edited).open("a") as file:
        file.write("# edited\n")
    after = [source_digest(name) for name in (FUSED, LISTS)]
    assert [a != b for a, b in zip(before, after, strict=True)] == [fused, lists]


def test_every_user_of_the_compiler_goes_through_it():
    """No module calls numba by itself: its cache would know nothing of the modules below."""
    own = {
        path.name
        for path in SOURCE.rglob("*.py")
        if "import numba" in path.read_text() or "from numba" in path.read_text()
    }
    # lanes.py and shared_counter.py compile nothing: they teach numba a type and operations, inlined into kernels that
    # go through the compiler
    teaching = {"lanes.py", "shared_counter.py"}
    assert own == {"kernel_dispatcher.py", "machine_code.py", "translated_kernels.py", "unique_symbols.py"} | teaching
    assert all("njit" not in (SOURCE / "_kernels" / "numba" / name).read_text() for name in teaching)


def test_stale_machine_code_is_not_run(tmp_path):
    """In a package of its own name: a function in one module, inlined into another; edited, the caller gives the new
    answer.
    """
    package = tmp_path / "llwlc"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "splits" / "__init__.py").write_text("")
    below, above = package / "splits" / "below.py", package / "splits" / "above.py"
    head = "from llwlc._support.compiler import compiled\n"
    below.write_text(head + "\n@compiled\ndef part(x):\n    return 2.0 * x\n")
    above.write_text(
        head + "from llwlc.splits.below import part\n\n@compiled\ndef whole(x):\n    return part(x) + 1.0\n"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    command = [sys.executable, "-c", "from llwlc.splits.above import whole; print(whole(10.0))"]

    def answer() -> str:
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert answer() == "21.0"
    assert answer() == "21.0"
    below.write_text(below.read_text().replace("2.0", "3.0"))
    assert answer() == "31.0"
