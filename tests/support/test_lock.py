"""One process at a time in a folder; the second is told the first one's number, and the lock of a dead one is no obstacle."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from llwlc.errors import InputError
from llwlc.support.lock import LOCK, alive, locked

HOLD = """
import sys, time
from pathlib import Path
from llwlc.support.lock import locked
with locked(Path(sys.argv[1]), "a fit"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_it_is_there_and_gone(tmp_path):
    with locked(tmp_path, "a fit"):
        assert (tmp_path / LOCK).read_text() == f"{os.getpid()}\n"
    assert not any(tmp_path.iterdir())


def test_it_goes_with_an_error_too(tmp_path):
    with pytest.raises(KeyError), locked(tmp_path, "a fit"):
        raise KeyError
    assert not any(tmp_path.iterdir())


def test_the_second_is_refused_with_the_number_of_the_first_and_the_dead_one_taken_over(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "held\n"
        with pytest.raises(InputError, match=f"a fit is under way in process {first.pid}"), locked(tmp_path, "a fit"):
            pass
        assert (tmp_path / LOCK).read_text() == f"{first.pid}\n"
        first.send_signal(signal.SIGKILL)
    assert (tmp_path / LOCK).exists()
    with locked(tmp_path, "a fit"):
        assert (tmp_path / LOCK).read_text() == f"{os.getpid()}\n"
    assert not any(tmp_path.iterdir())


def test_of_many_that_try_at_once_one_works_at_a_time(tmp_path):
    inside, most, done = [], [], []

    def work() -> None:
        while True:
            try:
                with locked(tmp_path, "a fit"):
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()
                    done.append(1)
                    return
            except InputError:
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
    with pytest.raises(InputError, match="cannot be written"), locked(tmp_path, "a fit"):
        pass
    assert (tmp_path / "precious").read_text() == "mine"


def test_alive():
    assert alive(os.getpid())
    assert alive(1)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert not alive(gone.pid)
