"""Compiled kernels come from no shared place, a damaged one is compiled again, and those of several processes go
together.
"""

import os
import subprocess
import sys
import textwrap

import pytest

from llwlc._support import machine_code

ROOT = machine_code.code_root.__wrapped__
ADD = textwrap.dedent("""
    from llwlc._support.compiler import compiled, cache_dir
    @compiled
    def add(a, b):
        return a + b
    print(add(20, 22), sum(add.stats.cache_hits.values()), cache_dir("added"))
""")
# two functions of one name and signature, too long to be inlined, each called by a function of its own
ALIKE = textwrap.dedent("""
    import os, sys
    from llwlc._support.compiler import compiled
    def mixed(by):
        @compiled
        def mix(x):
            {steps}
            return x
        return mix
    three, five = mixed(3), mixed(5)
    @compiled
    def by_three(x):
        return three(x) ^ three(x + 1)
    @compiled
    def by_five(x):
        return five(x) ^ five(x + 1)
    if sys.argv[1] == "forked":
        for function in (by_three, by_five):
            child = os.fork()
            if child == 0:
                print(function(1), end=" ", flush=True)
                os._exit(0)
            os.waitpid(child, 0)
    else:
        print(*(globals()[name](1) for name in sys.argv[1:]))
""").format(steps="; ".join(["x = (x ^ (x >> 7)) * by"] * 60))


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


def test_a_shared_code_folder_is_not_used_and_a_warning_says_so(homeless, tmp_path, monkeypatch):
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


def test_a_second_checkout_of_the_same_source_finds_its_functions_compiled(tmp_path):
    where = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "code")}
    hits = []
    for place in (tmp_path / "first", tmp_path / "second"):
        place.mkdir()
        (place / "added.py").write_text(ADD)
        os.utime(place / "added.py", (len(hits), len(hits)))
        done = subprocess.run([sys.executable, "added.py"], cwd=place, env=where, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        hits.append(done.stdout.split()[:2])
    assert hits == [["42", "0"], ["42", "1"]]


@pytest.mark.parametrize("makers", [["by_three", "by_five"], ["forked"]])
def test_functions_of_one_name_that_two_processes_compiled_stay_apart_in_a_third(tmp_path, makers):
    """`np.sort` in place of `np.argsort` made indices of node numbers: an extraction wrote outside its arrays."""
    (tmp_path / "alike.py").write_text(ALIKE)
    # one order of sets in all processes: numba makes names of the flags too
    where = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "code"), "PYTHONHASHSEED": "0"}

    def run(*names: str) -> list[str]:
        command = [sys.executable, "alike.py", *names]
        return subprocess.run(
            command, cwd=tmp_path, env=where, capture_output=True, text=True, check=True
        ).stdout.split()

    alone = [answer for maker in makers for answer in run(maker)]
    assert alone[0] != alone[1]
    assert run("by_three", "by_five") == alone


AT_ONCE = textwrap.dedent("""
    import sys, time
    from pathlib import Path
    from llwlc._support.compiler import compiled
    @compiled
    def inner(x):
        {steps}
        return x
    @compiled
    def outer(x):
        return inner(x) + inner(x + 1)
    print("ready", flush=True)
    sys.stdin.readline()
    outer(1.5)
    print(*(sum(f.stats.cache_misses.values()) for f in (outer, inner)))
""").format(steps="; ".join(["x = x * 1.5 + 2"] * 200))


@pytest.mark.skipif(sys.platform == "win32", reason="no flock there")
def test_of_processes_that_want_a_function_at_once_one_compiles_it(tmp_path):
    """So all of them run the same code, to the last bit."""
    script = tmp_path / "at_once.py"
    script.write_text(AT_ONCE)
    where = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "code")}
    (tmp_path / "code").mkdir(mode=0o700)
    started = [
        subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=where)
        for _ in range(3)
    ]
    for process in started:
        assert process.stdout.readline() == "ready\n"
    for process in started:
        process.stdin.write("\n")
        process.stdin.flush()
    missed = [process.communicate()[0].split() for process in started]
    # the inner one is a part of the outer one, and not asked for by itself
    assert sorted(missed) == [["0", "0"], ["0", "0"], ["1", "0"]]


NESTED = textwrap.dedent("""
    import sys
    import numpy as np
    from llwlc._support.compiler import compiled
    @compiled
    def total(x):
        result = 0.0
        for i in range(len(x)):
            result += x[i] * x[i]
        return result
    @compiled
    def share(x, i):
        return x[i] / total(x)
    @compiled
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
    x = np.random.default_rng(0).normal(size=1001)
    assert np.isclose(share(x, 3), x[3] / (x @ x))
    assert np.isclose(total(x), x @ x)  # a part of another, then a function of its own
    assert fibonacci(10) == 55
    print(share(x, 3).hex(), total(x).hex(), sum(f.stats.cache_misses.total() for f in (total, share, fibonacci)))
""")


def test_a_kernel_gives_the_same_bits_compiled_here_and_loaded(tmp_path):
    """It holds all that it calls; what is called from Python too is compiled for that once more."""
    (tmp_path / "nested.py").write_text(NESTED)
    where = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "code")}

    def run() -> list[str]:
        done = subprocess.run(
            [sys.executable, "nested.py"], cwd=tmp_path, env=where, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    compiled_here, loaded = run(), run()
    assert compiled_here[:2] == loaded[:2]
    assert (compiled_here[2], loaded[2]) == ("3", "0")
