"""Whole or not at all, whatever fails; litter of the dead is removed; what the system refuses is one sentence that
names the file.
"""

import errno
import os
import resource
import subprocess
import sys

import pytest

from llwlc._support import files
from llwlc._support.files import (
    PARTIAL,
    open_atomic_file,
    open_atomic_folder,
    open_staging_folder,
    write_bytes,
    write_text,
)
from llwlc.errors import StorageError


def stop(_: object) -> None:
    raise KeyError


def test_an_error_leaves_the_old_file_and_no_litter(tmp_path):
    write_bytes(tmp_path / "a", b"old")
    with pytest.raises(KeyError), open_atomic_file(tmp_path / "a") as partial:
        stop(partial.write_bytes(b"half"))
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("a", b"old")]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EFBIG, errno.EDQUOT])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_system_errors_become_one_sentence(tmp_path, monkeypatch, code, step):
    write_bytes(tmp_path / "a", b"old")

    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(files.os, step, refuse)
    with pytest.raises(StorageError) as caught:
        write_bytes(tmp_path / "a", b"new")
    assert os.strerror(code) in str(caught.value)
    assert str(tmp_path / "a") in str(caught.value)
    assert "\n" not in str(caught.value)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("a", b"old")]


def test_a_file_size_limit(tmp_path):
    write_bytes(tmp_path / "a", b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(StorageError, match="File too large"):
            write_bytes(tmp_path / "a", bytes(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("a", b"old")]


def test_a_staging_folder_adds_its_files_only_when_complete(tmp_path):
    target = tmp_path / "seal"
    (target / "power").mkdir(parents=True)
    (target / "power" / "old").write_bytes(b"old")
    (target / "ns.mat").write_bytes(b"other")
    with pytest.raises(KeyError), open_staging_folder(target) as partial:
        stop((partial / "usair.mat").write_bytes(b"half"))
    assert sorted(p.name for p in target.iterdir()) == ["ns.mat", "power"]
    with open_staging_folder(target) as partial:
        (partial / "power").mkdir()
        (partial / "power" / "new").write_bytes(b"new")
        (partial / "usair.mat").write_bytes(b"whole")
    assert sorted(str(p.relative_to(target)) for p in target.rglob("*")) == [
        "ns.mat",
        "power",
        "power/new",
        "usair.mat",
    ]
    assert [p.name for p in tmp_path.iterdir()] == ["seal"]


def test_litter_of_the_dead_is_removed_and_that_of_the_living_stays(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (tmp_path / f".a.{gone.pid}-1{PARTIAL}").write_bytes(b"half")
    (tmp_path / f".a.1-1{PARTIAL}").write_bytes(b"at it")
    (tmp_path / f".ab.{gone.pid}-1{PARTIAL}").write_bytes(b"of another file")
    write_bytes(tmp_path / "a", b"new")
    assert {p.name for p in tmp_path.iterdir()} == {"a", f".a.1-1{PARTIAL}", f".ab.{gone.pid}-1{PARTIAL}"}


def test_a_name_with_the_signs_of_a_pattern_is_a_name(tmp_path):
    (tmp_path / f".x.{os.getpid()}-1{PARTIAL}").write_bytes(b"of another file")
    write_bytes(tmp_path / "[x]*", b"new")
    assert {p.name for p in tmp_path.iterdir()} == {"[x]*", f".x.{os.getpid()}-1{PARTIAL}"}


def test_a_folder_appears_whole_and_the_first_one_stays(tmp_path):
    with pytest.raises(KeyError), open_atomic_folder(tmp_path / "f") as partial:
        stop((partial / "a").write_bytes(b"half"))
    assert not any(tmp_path.iterdir())
    for content in (b"first", b"second"):
        with open_atomic_folder(tmp_path / "f") as partial:
            (partial / "a").write_bytes(content)
    assert [p.name for p in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f" / "a").read_bytes() == b"first"


def test_text_that_is_none_is_written_as_codes(tmp_path):
    write_text(tmp_path / "a", os.fsdecode(b"caf\xe9") + " é")
    assert (tmp_path / "a").read_text(encoding="utf-8") == r"caf\udce9 é"
