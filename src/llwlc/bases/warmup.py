"""Kernels compiled before they are needed, by another process, once for a machine.

Machine code that was compiled in a process and the same code found on disk differ in how calls are inlined, and so in the last bits of a
sum: a run that compiled would not be equal to the one that resumes it. So whoever begins long work warms up first; nothing on the way of a pair
to its basis starts a process.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from pathlib import Path

from llwlc.bases.config import BasisConfig
from llwlc.bases.kernel_plan import not_fusible
from llwlc.graph.graph import Graph
from llwlc.kernels.backends import without_numba
from llwlc.support.children import run_child
from llwlc.support.progress import notice

COMPILE = """
from llwlc.support.children import watch_parent
watch_parent()
import json, sys, torch
from llwlc.bases.config import BasisConfig
from llwlc.bases.encoded_links import encode
from llwlc.constraints.columns import custom
from llwlc.graph.graph import Graph
options, fused, weight = json.loads(sys.argv[1])
if not fused:  # whatever a user's own constraint computes, the kernels are given columns
    options["constraints"] = lambda subs: custom(subs, torch.ones(subs.num_nodes))
weight = None if weight is None else torch.ones(6, dtype=getattr(torch, weight))
ring = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [0, 5]]), weight=weight)
encode(ring, ring.edges, BasisConfig(**options), about="")
"""


def warm_up(graph: Graph, config: BasisConfig) -> None:
    """Has the kernels for this configuration on this graph compiled and kept, if they are not yet."""
    if without_numba() or graph.indptr.is_cuda:
        return
    fused = not not_fusible(config)
    names = ["hops", "steps", "laplacian", "max_nodes_per_hop", *(("constraints", "count", "start") if fused else ())]
    options = {name: getattr(config, name) for name in names}
    weight = None if graph.weight is None else str(graph.weight.dtype).removeprefix("torch.")
    what = json.dumps([options, fused, weight])
    compile_elsewhere(COMPILE, what, "llwlc.kernels.numba.fused", "bases")


_READY: set[str] = set()  # what this process has looked up already


def compile_elsewhere(code: str, what: str, module: str, about: str) -> None:
    """Has another process run `code` with the argument `what`, by which kernels of a module are compiled and kept, unless one did so before; says so and how long it took.

    Where compiling fails, the call itself will say what is wrong.
    """
    from llwlc.support.compiler import cache_dir
    from llwlc.support.machine_code import code_root

    stamp = Path(cache_dir(module)) / f"ready-{hashlib.sha256(what.encode()).hexdigest()[:16]}"
    if (module + what) in _READY or stamp.exists():
        _READY.add(module + what)
        return
    begin = time.perf_counter()
    notice(f"compiling the kernels for {about}, once for this machine: about a minute")
    # told where: a folder that lasts as long as this process is not found by itself
    if run_child(code, [what], environment={"NUMBA_CACHE_DIR": str(code_root())}) != 0:
        return
    notice(f"the kernels for {about} are compiled, in {time.perf_counter() - begin:.0f} s")
    _READY.add(module + what)
    with contextlib.suppress(OSError):  # a full disk: the next process asks again
        stamp.touch()
