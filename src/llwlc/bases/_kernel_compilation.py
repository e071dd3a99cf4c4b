"""Compiles kernels before they are needed, in other processes, beside each other and once for a machine.

Long work begins with such a warm-up; the computation of bases itself never starts a process.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from llwlc import _kernels as kernels
from llwlc._kernels.backends import why_not_numba
from llwlc._support.children import run_child
from llwlc._support.progress import print_notice
from llwlc.bases._config import BasisConfig
from llwlc.bases._kernel_options import why_not_fusible
from llwlc.graph._graph import Graph
from llwlc.subgraphs._extraction import why_not_numba_extraction

COMPILE = """
from llwlc._support.children import watch_parent
watch_parent()
import json, sys, torch
from llwlc.bases._config import BasisConfig
from llwlc.bases._encoded_links import encode_pairs
from llwlc.constraints._columns import custom
from llwlc.graph._graph import Graph
fused, weight = json.loads(sys.argv[1])
# any constraint of a user's own reaches the kernels as columns
config = BasisConfig() if fused else BasisConfig(constraints=lambda subs: custom(subs, torch.ones(subs.num_nodes)))
weight = None if weight is None else torch.ones(6, dtype=getattr(torch, weight))
ring = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [0, 5]]), weight=weight)
encode_pairs(ring, ring.edges, config, about="")
"""


COMPILE_TRANSLATED = """
from llwlc._support.children import watch_parent
watch_parent()
import sys
from llwlc._support.compiler import compile_translated
for module in sys.argv[1:]:
    compile_translated(module)
"""
NUMBA = "llwlc._kernels.numba."
MODULES = tuple(NUMBA + name for name in ("fused_bases", "extraction", "enclosing_subgraph", "vectors"))
"""The modules whose kernels compute bases in one pass."""

COMPILE_TIMEOUT = 600
"""Seconds that compiling may take; it takes seconds where kernels come translated, else about half a minute. After that
the process compiles the kernels itself.
"""


def compile_basis_kernels(graph: Graph, config: BasisConfig) -> None:
    """Compiles and caches the kernels for this kind of configuration and graph, if they are not cached yet."""
    if why_not_numba() or graph.indptr.is_cuda:
        return
    # machine code depends on types, not on values: hops, steps, constraints and starts are plain numbers
    fused = not why_not_fusible(config) and not why_not_numba_extraction(graph, config.hops)
    weight = None if graph.weight is None else str(graph.weight.dtype).removeprefix("torch.")
    translated = MODULES if fused and weight is None else ()
    kernel = KernelCompilation(COMPILE, json.dumps([fused, weight]), MODULES[0], "bases", translated)
    if not kernel.ready:
        kernel.compile_in_subprocess()


_READY: set[str] = set()  # kernels that this process has found in the cache
_started, _finished = list[str](), list[str]()  # compilations of this process, for messages


@dataclass(frozen=True)
class KernelCompilation:
    """Kernels of a module: another process compiles and caches them by running `code` with the argument `what`;
    `about`: their purpose, for messages. Where the kernels of the modules `translated` came with the package, no more
    than these is needed, and `code` does not run.
    """

    code: str
    what: str
    module: str
    about: str
    translated: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether they are in the cache."""
        known = self.module + self.what
        if known not in _READY and self.stamp.exists():
            _READY.add(known)
        return known in _READY

    @cached_property
    def stamp(self) -> Path:
        """The file that marks them as compiled. (Its name is a digest of sources, which two threads must not compute at
        once in Python 3.11.)
        """
        from llwlc._support.compiler import cache_dir

        # numba finds machine code by the path and age of its source: each copy of this package has its own
        sources = sorted(Path(kernels.__path__[0]).rglob("*.py"))
        copy = [self.what, *((str(source), source.stat().st_mtime_ns) for source in sources)]
        return Path(cache_dir(self.module)) / f"ready-{hashlib.sha256(json.dumps(copy).encode()).hexdigest()[:16]}"

    def compile_in_subprocess(self) -> None:
        """Compiles in another process, with a message before and after. Where compiling fails, the later call itself
        raises the error.
        """
        from llwlc._support.compiler import is_translated
        from llwlc._support.machine_code import code_root

        begin, stamp = time.perf_counter(), self.stamp
        _started.append(self.about)
        translated = bool(self.translated) and all(map(is_translated, self.translated))
        code, arguments = (COMPILE_TRANSLATED, self.translated) if translated else (self.code, (self.what,))
        expected = "some seconds" if translated else "up to a minute"
        print_notice(f"compiling the kernels for {self.about}, once for this machine: {expected}")
        # passed on, since a temporary folder of this process would not be found
        where = {"NUMBA_CACHE_DIR": str(code_root())}
        if run_child(code, arguments, environment=where, seconds=COMPILE_TIMEOUT) != 0:
            return
        _finished.append(self.about)
        progress = f"in {time.perf_counter() - begin:.0f} s ({len(_finished)} of {len(_started)})"
        print_notice(f"the kernels for {self.about} are compiled, {progress}")
        _READY.add(self.module + self.what)
        with contextlib.suppress(OSError):  # on a full disk the next process compiles again
            stamp.touch()
