"""The Lanczos stage against a plain C++ loop of the same algorithm, compiled here where there is a compiler."""

from __future__ import annotations

import ctypes
import shutil
import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from llwlc._support.children import run_program
from llwlc.bases._laplacian import laplacian_of
from research.bench.clock import time_in_turns
from research.bench.growth import basis_inputs, random_batch, solve

# what -ffast-math allows, flag by flag: that flag itself would link code that flushes subnormals to zero in the whole
# process
RELAXED = (
    "-fassociative-math",
    "-freciprocal-math",
    "-fno-signed-zeros",
    "-fno-trapping-math",
    "-fno-math-errno",
    "-ffinite-math-only",
)
FLAGS = ("-O3", "-march=native", *RELAXED, "-shared", "-fPIC")


class CppComparison(NamedTuple):
    """Seconds a graph of the compiled kernel and of C++, and by how much their eigenvalues differ at most."""

    ours: float
    plain: float
    difference: float

    @property
    def ratio(self) -> float:
        return self.ours / self.plain


def find_compiler() -> str | None:
    return shutil.which("g++") or shutil.which("clang++")


def compare_with_cpp(
    *, graphs: int = 512, n: int = 128, edges: int = 600, steps: int = 10, k: int = 10, repeats: int = 5
) -> CppComparison | None:
    """Both on the same graphs: n nodes, about `edges` directed edges, k random constraints, one random start. None
    without a compiler.
    """
    command = find_compiler()
    if command is None:
        return None
    subs = random_batch(graphs, n, edges, seed=0)
    task, operator = basis_inputs(subs, k), laplacian_of(subs, "normalized")
    near = (subs.col - subs.ptr[subs.graph[subs.row]]).int().numpy()
    values, vectors = np.zeros((graphs, steps), np.float32), np.zeros((graphs * n, steps), np.float32)
    with tempfile.TemporaryDirectory() as folder, as_file(files("research.bench") / "plain.cpp") as source:
        library = Path(folder) / "plain.so"
        if code := run_program([command, *FLAGS, str(source), "-o", str(library)]):
            raise RuntimeError(f"{command} could not compile {source}: exit code {code}")
        function = ctypes.CDLL(str(library)).lanczos
        arrays = (task.first, near, operator.value.numpy(), operator.diagonal.numpy(), task.columns, task.start)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*arrays, values, vectors)]
        sizes = [ctypes.c_int64(size) for size in (graphs, n, k, steps)]
        times = time_in_turns(
            {"ours": lambda: solve(task, steps), "plain": lambda: function(*sizes, *pointers)}, repeats=repeats
        )
    difference = np.abs(np.sort(values, 1) - solve(task, steps).values).max()
    return CppComparison(times["ours"] / graphs, times["plain"] / graphs, float(difference))
