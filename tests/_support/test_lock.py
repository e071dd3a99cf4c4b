"""One process at a time in a folder; the second is told the first one's number, and the lock of a dead one is no
obstacle.
"""

import os
import signal
import subprocess
import sys
import threading

import pytest

from llwlc._support.lock import LOCK, hold_lock, is_alive
from llwlc.errors import StorageError

HOLD = """
import sys, time
from pathlib import Path
from llwlc._support.lock import hold_lock
with hold_lock(Path(sys.argv[1]), "a fit"):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_lock_is_held_for_the_block_and_then_released(tmp_path):
    with hold_lock(tmp_path, "a fit"):
        assert (tmp_path / LOCK).read_text() == f"{os.getpid()}\n"
    assert not any(tmp_path.iterdir())


def test_a_lock_is_released_after_an_error(tmp_path):
    with pytest.raises(KeyError), hold_lock(tmp_path, "a fit"):
        raise KeyError
    assert not any(tmp_path.iterdir())


def test_a_second_holder_is_refused_and_a_dead_holders_lock_is_taken_over(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "held\n"
        with (
            pytest.raises(StorageError, match=f"a fit is under way in process {first.pid}"),
            hold_lock(tmp_path, "a fit"),
        ):
            pass
        assert (tmp_path / LOCK).read_text() == f"{first.pid}\n"
        first.send_signal(signal.SIGKILL)
    assert (tmp_path / LOCK).exists()
    with hold_lock(tmp_path, "a fit"):
        assert (tmp_path / LOCK).read_text() == f"{os.getpid()}\n"
    assert not any(tmp_path.iterdir())


def test_of_many_that_try_at_once_one_works_at_a_time(tmp_path):
    inside, most, done = [], [], []

    def work() -> None:
        while True:
            try:
                with hold_lock(tmp_path, "a fit"):
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()
                    done.append(1)
                    return
            except StorageError:
                continue

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 8
    assert max(most) == 1


def test_a_link_in_its_place_is_not_followed(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / LOCK).symlink_to(tmp_path / "precious")
    with pytest.raises(StorageError, match="cannot be written"), hold_lock(tmp_path, "a fit"):
        pass
    assert (tmp_path / "precious").read_text() == "mine"


def test_an_ended_process_is_not_alive():
    assert is_alive(os.getpid())
    assert is_alive(1)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert not is_alive(gone.pid)
