"""What all tests, of the package and of the study, share: one thread each (they run side by side), and the data
root.
"""

import os
import signal
from pathlib import Path

import pytest
import torch

torch.set_num_threads(1)
collect_ignore = ["research/benchmarks"]  # scripts, which tests/test_docs.py calls
# a shell that runs the suite in the background has it ignore Ctrl-C, and every process that a test starts would too
signal.signal(signal.SIGINT, signal.default_int_handler)
ROOT = Path(__file__).parent
# a checkout with the shared data beside it uses that; anywhere else the user's own root counts
if "LLWLC_DATA" not in os.environ and (ROOT.parent / "shared" / "data").is_dir():
    os.environ["LLWLC_DATA"] = str(ROOT.parent / "shared" / "data")


def pytest_configure(config):
    """Has the kernels that most tests need compiled once, two at a time, before the workers start: each would compile
    all of them by itself.
    """
    if hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None):
        return
    from concurrent.futures import ThreadPoolExecutor

    from llwlc.bases._config import BasisConfig
    from llwlc.bases._kernel_compilation import compile_basis_kernels
    from llwlc.graph._graph import Graph

    plain = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
    weighted = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]), weight=torch.ones(2))
    with ThreadPoolExecutor(2) as pool:
        list(
            pool.map(
                compile_basis_kernels,
                (plain, weighted, plain),
                (BasisConfig(), BasisConfig(), BasisConfig(constraints=_own)),
            )
        )


def _own(subs):
    """A constraint that no kernel makes by itself."""


@pytest.fixture
def data_root():
    """The data root as a function: `data_root("brec/str.npy")` is that file, or skips the test, naming what is
    missing.
    """
    root = Path(os.environ.get("LLWLC_DATA", Path.home() / ".cache" / "llwlc"))

    def need(name: str) -> Path:
        if not (root / name).exists():
            pytest.skip(f"{name} is not in the data root")
        return root / name

    return need
