"""What Windows lacks is taken away, and what it forbids is forbidden: the same calls still do their work. No test has
run on Windows itself (research/notes/2026-11-19-windows.md).
"""

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from llwlc._support import file_lock, files, lock
from llwlc.errors import StorageError

WITHOUT = """
import os, sys
import networkx, numba, pyarrow, scipy.sparse, torch, torch_geometric.nn  # theirs is the choice on each system
# what a Python on Windows does not have
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[name] = None
lacking = "getuid", "geteuid", "killpg", "fork", "posix_fallocate", "sched_getaffinity", "O_DIRECTORY", "O_NOFOLLOW"
for name in lacking:
    if hasattr(os, name):
        delattr(os, name)
import importlib, pkgutil, llwlc
for found in pkgutil.walk_packages(llwlc.__path__, "llwlc."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
from llwlc._support import file_lock
assert file_lock.FCNTL is None and file_lock.MSVCRT is None
graph = llwlc.Graph.from_networkx(networkx.karate_club_graph())
model = llwlc.LinkPredictor(model="adamic-adar", cache=sys.argv[2]).fit(graph, out=sys.argv[1])
again = llwlc.LinkPredictor.load(sys.argv[1])
assert again.score([("0", "33")]).score.tolist() == model.score([("0", "33")]).score.tolist()
again.save(sys.argv[1])
print(sorted(os.listdir(sys.argv[1])))
"""


def test_a_fit_without_what_windows_lacks(tmp_path):
    command = [sys.executable, "-c", WITHOUT, tmp_path / "run", tmp_path / "cache"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "manifest.json" in done.stdout
    assert ".lock" not in done.stdout


@pytest.fixture
def msvcrt(monkeypatch):
    """The locks of Windows' C library: on bytes of a file from its place on, refused at once where another has them."""
    taken = {}

    def locking(handle, mode, count):
        key = os.fstat(handle).st_ino, os.lseek(handle, 0, os.SEEK_CUR)
        if mode == 0:
            taken.pop(key)
        elif taken.get(key, handle) != handle:
            raise PermissionError(errno.EACCES, "Permission denied")
        else:
            taken[key] = handle

    closing = os.close

    def close(handle):  # a lock ends with its file
        for key in [key for key, held in taken.items() if held == handle]:
            del taken[key]
        closing(handle)

    monkeypatch.setattr(os, "close", close)
    found = SimpleNamespace(locking=locking, LK_NBLCK=2, LK_UNLCK=0)
    for module in (file_lock, lock):
        monkeypatch.setattr(module, "MSVCRT", found)
    monkeypatch.setattr(file_lock, "FCNTL", None)
    return taken


def test_the_locks_of_windows(msvcrt, tmp_path, monkeypatch):
    real = Path.unlink

    def unlink(path, missing_ok=False):
        if msvcrt and path.name == lock.LOCK:  # open files stay
            raise PermissionError(errno.EACCES, "Permission denied")
        real(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    with lock.hold_lock(tmp_path, "a fit"):
        assert (tmp_path / lock.LOCK).read_text() == f"{os.getpid()}\n"  # the locked byte is far behind the text
        assert [at for _, at in msvcrt] == [file_lock.FAR]
        with (
            pytest.raises(StorageError, match=f"under way in process {os.getpid()}"),
            lock.hold_lock(tmp_path, "a fit"),
        ):
            pass
    assert not any(tmp_path.iterdir())
    with lock.hold_lock(tmp_path, "a fit"):
        pass


def test_a_wait_for_a_lock_of_windows_ends(msvcrt, tmp_path, monkeypatch):
    first, second = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert file_lock.lock_file(first, wait=True)
    assert not file_lock.lock_file(second, wait=False)
    monkeypatch.setattr(file_lock.time, "sleep", lambda _: file_lock.unlock_file(first))
    assert file_lock.lock_file(second, wait=True)
    for handle in (first, second):
        os.close(handle)


def test_files_are_synced_as_windows_does_it(tmp_path, monkeypatch):
    opening, syncing = os.open, os.fsync

    def open_file(path, flags, *mode):
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, "Permission denied")
        return opening(path, flags, *mode)

    def fsync(handle):
        if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "Bad file descriptor")
        syncing(handle)

    monkeypatch.setattr(files, "WINDOWS", True)
    monkeypatch.setattr(os, "open", open_file)
    monkeypatch.setattr(os, "fsync", fsync)
    files.write_text(tmp_path / "a.txt", "κ")
    with files.open_atomic_folder(tmp_path / "folder") as folder:
        (folder / "b.txt").write_text("b")
    with files.open_staging_folder(tmp_path / "folder") as staged:
        (staged / "inner").mkdir()
        (staged / "inner" / "c.txt").write_text("c")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "κ"
    assert (tmp_path / "folder" / "inner" / "c.txt").read_text() == "c"


def test_a_file_that_another_program_has_open(tmp_path, monkeypatch):
    replacing, refused = os.replace, []

    def replace(source, target):
        if len(refused) < 2:
            refused.append(target)
            raise PermissionError(errno.EACCES, "Access is denied")
        replacing(source, target)

    monkeypatch.setattr(files, "WINDOWS", True)
    monkeypatch.setattr(os, "replace", replace)
    files.write_text(tmp_path / "a.txt", "new")
    assert (len(refused), (tmp_path / "a.txt").read_text()) == (2, "new")
    monkeypatch.setattr(files, "PATIENCE", 0.1)

    def refuse(source, target):
        raise PermissionError(errno.EACCES, "Access is denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(StorageError, match="a program has it open: close it"):
        files.write_text(tmp_path / "a.txt", "newer")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.txt", "new")]


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "ascii"])
def test_a_console_of_few_letters(tmp_path, encoding):
    edges = tmp_path / "дружба.csv"
    edges.write_text("a,b\nκ,雪\n雪,Ada\nAda,κ\n", encoding="utf-8")
    command = [sys.executable, "-m", "llwlc", "data", "show", edges]
    environment = os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert b"nodes" in done.stdout
    assert b"\\u0434" in done.stdout
    assert done.stdout.decode(encoding)
