"""A fit that dies at any of its writes, renames and removals, as SQLite is tested: the same command ends in the same
bits.
"""

import builtins
import io
import os
import random
import signal
import time
from pathlib import Path

import pytest

from llwlc._predictor import LinkPredictor
from people import QUICK, people

STEPS = ("replace", "rename", "unlink", "rmdir", "mkdir", "fsync", "ftruncate")
PARTS = 6
COMPARED = ("model.safetensors", "graph.safetensors", "history.jsonl", "config.json")


class Dead(BaseException):
    """What no handler may catch: the process is no more."""


class Faults:
    """Counts every change of a file below `folder` and dies at one of them; a write gets half way. Afterwards the dead
    can change nothing.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.count, self.at = str(folder), 0, None
        for name in STEPS:
            monkeypatch.setattr(os, name, self.counted(getattr(os, name)))
        opened = io.open

        def open_(file, mode="r", *args, **options):
            if "w" in mode and not isinstance(file, int) and str(file).startswith(self.folder):
                self.step()
            return opened(file, mode, *args, **options)

        written = Path.write_bytes

        def write_bytes(path: Path, data: bytes) -> int:
            if str(path).startswith(self.folder) and self.count + 1 == self.at:
                written(path, data[: len(data) // 2])
            return written(path, data)

        monkeypatch.setattr(io, "open", open_)
        monkeypatch.setattr(builtins, "open", open_)
        monkeypatch.setattr(Path, "write_bytes", write_bytes)

    def counted(self, real):
        def step(first, *args, **options):
            # a number is an open file, a bare name is one inside a folder that rmtree holds open
            if isinstance(first, int) or str(first).startswith(self.folder) or "dir_fd" in options:
                self.step()
            return real(first, *args, **options)

        return step

    def step(self) -> None:
        self.count += 1
        if self.at is not None and self.count >= self.at:
            raise Dead


TINY = QUICK | {"ranking": False, "budget": 5, "channels": 8, "filtered_channels": 8, "features": 4}
"""Hundreds of fits: what they write matters, not what they learn."""


def fit(folder: Path, cache: Path | None) -> None:
    LinkPredictor(cache=cache, device="cpu", **TINY).fit(people(), out=folder)


def bits(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in COMPARED}


def dies_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, cached: bool, every: int, first: int = 1
) -> int:
    """At every so many steps from the `first` on. Returns at how many steps the fit died."""
    fit(tmp_path / "whole", tmp_path / "first" if cached else None)
    wanted, files = bits(tmp_path / "whole"), {p.name for p in (tmp_path / "whole").iterdir()}
    here = tmp_path / "tried"
    (here / "count").mkdir(parents=True)
    with monkeypatch.context() as patch:
        faults = Faults(here, patch)
        fit(here / "count" / "run", here / "count" / "cache" if cached else None)
    tried = range(first, faults.count + 1, every)
    for at in tried:
        folder, cache = here / str(at) / "run", here / str(at) / "cache" if cached else None
        folder.parent.mkdir()
        with monkeypatch.context() as patch:
            faults = Faults(here, patch)
            faults.at = at
            with pytest.raises(Dead):
                fit(folder, cache)
        fit(folder, cache)
        assert bits(folder) == wanted, at
        assert {p.name for p in folder.iterdir()} == files, at
        assert not cached or not [p.name for p in cache.rglob("*.partial")], at
    return len(tried)


def test_it_goes_on_from_a_sample_of_its_steps(tmp_path, monkeypatch):
    assert dies_everywhere(tmp_path, monkeypatch, cached=False, every=9) > 5


@pytest.mark.slow
@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("part", range(PARTS))
def test_it_goes_on_from_every_step(tmp_path, monkeypatch, cached, part):
    """In parts, for as many processes."""
    assert dies_everywhere(tmp_path, monkeypatch, cached=cached, every=PARTS, first=part + 1) > 50 // PARTS


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_killed_at_random_times_it_goes_on_to_the_same_bits(tmp_path, kills):
    """By the system, in a process of its own, forked so that it begins with the fit."""
    fit(tmp_path / "compiled", None)
    begin = time.monotonic()
    fit(tmp_path / "whole", tmp_path / "first")
    wanted, seconds, rng = bits(tmp_path / "whole"), time.monotonic() - begin, random.Random(0)
    died = 0
    for i in range(kills):
        folder, cache = tmp_path / str(i), tmp_path / f"cache {i}"
        child = os.fork()
        if not child:
            try:
                fit(folder, cache)
            finally:
                os._exit(0)
        time.sleep(rng.uniform(0, seconds))
        os.kill(child, signal.SIGKILL)
        if os.WIFSIGNALED(os.waitpid(child, 0)[1]):
            died += 1
        else:
            seconds /= 2  # the machine is less busy than when they were counted
        fit(folder, cache)
        assert bits(folder) == wanted, i
        assert {p.name for p in folder.iterdir()} == {p.name for p in (tmp_path / "whole").iterdir()}, i
    assert died
