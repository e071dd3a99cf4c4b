"""Compiled kernels come from no shared place, and a damaged one is compiled again."""

import os
import subprocess
import sys
import textwrap

import pytest

from llwlc.support import machine_code

ROOT = machine_code.code_root.__wrapped__
ADD = textwrap.dedent("""
    from llwlc.support.compiler import compiled, cache_dir
    @compiled
    def add(a, b):
        return a + b
    print(add(20, 22), sum(add.stats.cache_hits.values()), cache_dir("added"))
""")


@pytest.fixture
def homeless(tmp_path, monkeypatch):
    """A home that cannot be written, and a temporary directory that everybody can, as on a shared machine."""
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", "/proc/nobody")
    monkeypatch.setattr(machine_code.tempfile, "tempdir", str(shared))
    return shared


def test_without_a_home_it_is_a_folder_of_this_user_alone(homeless):
    folder = ROOT()
    assert folder == homeless / f"llwlc-numba-{os.getuid()}"
    assert folder.stat().st_mode & 0o077 == 0
    assert ROOT() == folder


def test_a_folder_that_waits_there_for_this_user_is_not_used(homeless):
    trap = homeless / f"llwlc-numba-{os.getuid()}"
    trap.mkdir()
    trap.chmod(0o777)
    folder = ROOT()
    assert folder != trap
    assert folder.parent == homeless
    assert folder.stat().st_mode & 0o077 == 0
    assert not any(trap.iterdir())


def test_a_shared_folder_that_the_user_names_is_not_used_and_said(homeless, tmp_path, monkeypatch):
    (tmp_path / "team").mkdir()
    (tmp_path / "team").chmod(0o777)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "team"))
    with pytest.warns(UserWarning, match="NUMBA_CACHE_DIR=.* is not used"):
        assert ROOT().parent == homeless


def test_a_damaged_compiled_file_is_compiled_again(tmp_path):
    (tmp_path / "added.py").write_text(ADD)
    where = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "code")}

    def add() -> list[str]:
        done = subprocess.run([sys.executable, "added.py"], cwd=tmp_path, env=where, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert add()[:2] == ["42", "0"]
    assert add()[:2] == ["42", "1"]
    index, code = (next((tmp_path / "code").rglob(f"*.{kind}")) for kind in ("nbi", "nbc"))
    index.write_bytes(index.read_bytes()[:50])
    assert add()[:2] == ["42", "0"]
    whole = code.read_bytes()
    code.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    assert add()[:2] == ["42", "0"]
