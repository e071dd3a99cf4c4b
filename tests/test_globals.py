"""What other libraries in the process may rely on: llwlc changes nothing of numba, torch, warnings, logging or signals,
neither when it is imported nor when it is used.
"""

import os
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path

import pytest

import llwlc
from llwlc._support.repeated_warnings import deduplicate_warnings, warn

SOURCE = Path(llwlc.__file__).parent
COMMANDS = ("llwlc._cli", "llwlc.__main__")  # a process of their own


def run(code: str, *arguments: str, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(["", *sys.path])} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def modules() -> list[str]:
    found = (path.relative_to(SOURCE.parent).with_suffix("").parts for path in SOURCE.rglob("*.py"))
    names = {".".join(parts).removesuffix(".__init__") for parts in found}
    return sorted(name for name in names if not name.startswith(COMMANDS))


SNAPSHOT = textwrap.dedent("""
    import importlib, inspect, locale, logging, multiprocessing, os, random, signal, sys, threading, warnings
    import faulthandler, numba, numpy, scipy.sparse.csgraph, torch, torch_geometric.nn
    import numba.core.bytecode, numba.core.caching, numba.core.codegen, numba.core.compiler, numba.core.dispatcher
    # what these change when llwlc imports them is their own doing
    for name in (
        "duckdb", "matplotlib.pyplot", "networkx", "pandas", "polars", "pyarrow", "ray", "rich.progress", "rich.table", "sklearn",
        "triton", "uvicorn",
    ):
        try:
            importlib.import_module(name)
        except ImportError:
            pass  # an optional one
    torch.optim.Adam([torch.zeros(1)])  # torch itself wraps `step` of a class as the first of its optimizers is made

    def attributes(owner):
        return {f"{owner.__module__}.{owner.__qualname__}.{name}": id(value) for name, value in vars(owner).items()}

    def classes(module):
        return [value for value in vars(module).values() if inspect.isclass(value)]

    def snapshot():
        core = numba.core
        state = {f"numba.config.{name}": repr(value) for name, value in vars(numba.config).items() if name.isupper()}
        for module in (core.bytecode, core.caching, core.codegen, core.compiler, core.dispatcher, torch.optim):
            for owner in classes(module):
                state |= attributes(owner)
        for module in (warnings, sys.modules["torch.optim.adam"], sys.modules["torch.optim.optimizer"]):
            state |= {f"{module.__name__}.{name}": id(value) for name, value in vars(module).items() if callable(value)}
        state |= {
            f"logger {name}": (logger.level, logger.handlers[:], logger.filters[:], logger.propagate, logger.disabled)
            for name, logger in logging.root.manager.loggerDict.items()
            if isinstance(logger, logging.Logger)
        }
        if "matplotlib" in sys.modules:  # read as a dictionary: its own look-up chooses a backend
            state |= {f"matplotlib {name}": repr(value) for name, value in dict.items(sys.modules["matplotlib"].rcParams)}
        backends = torch.backends
        return state | {
            "warnings.filters": repr(warnings.filters),
            "torch threads": (torch.get_num_threads(), torch.get_num_interop_threads()),
            "torch dtype, device": (torch.get_default_dtype(), torch.get_default_device()),
            "torch exactness": (
                torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision(), torch.is_grad_enabled(),
                backends.cudnn.enabled, backends.cudnn.benchmark, backends.cudnn.deterministic, backends.cudnn.allow_tf32,
                backends.cuda.matmul.allow_tf32, backends.mkldnn.enabled, torch.is_warn_always_enabled(),
                torch.sparse.check_sparse_tensor_invariants.is_enabled(),
            ),
            "locale": locale.setlocale(locale.LC_ALL),
            "start method": multiprocessing.get_start_method(allow_none=True),
            "random": (random.getstate(), torch.get_rng_state().sum().item(), numpy.random.get_state()[1].sum().item()),
            "numpy": (numpy.geterr(), numpy.get_printoptions()),
            "signals": [signal.getsignal(number) for number in signal.valid_signals()],
            "hooks": (sys.excepthook, sys.unraisablehook, sys.displayhook, threading.excepthook, sys.getrecursionlimit()),
            "root logger": (logging.root.level, logging.root.handlers[:], logging.root.filters[:], logging.root.manager.disable),
            "environment": dict(os.environ),
            "faulthandler": faulthandler.is_enabled(),
        }

    def same(before, when):
        after = snapshot()
        changed = [name for name in before if before[name] != after.get(name)]
        assert not changed, f"changed when {when}: " + ", ".join(f"{n} {before[n]!r} -> {after.get(n)!r}" for n in changed)

    before = snapshot()
""")
IMPORTED = SNAPSHOT + textwrap.dedent("""
    for name in sys.argv[1:]:
        try:
            importlib.import_module(name)
        except ImportError as error:
            assert not error.name.startswith("llwlc"), error  # an optional library that is not here
        same(before, f"{name} was imported")
""")
USED = SNAPSHOT + textwrap.dedent("""
    from people import QUICK, people
    from llwlc._predictor import LinkPredictor
    for model, options in (("llwlc", QUICK), ("common-neighbors", {}), ("gcn", {"epochs": 2})):
        fitted = LinkPredictor(model=model, cache=None, minutes=None, **options).fit(people(features=False), out=model)
        same(before, f"{model} was fitted")
        fitted.score(torch.tensor([[0, 5], [1, 7]]))
        same(before, f"{model} gave scores")
        best = LinkPredictor.load(model, cache=None).recommend(top=2)[0]
        same(before, f"a run of {model} was read and recommended links")
        if model == "llwlc":
            fitted.explain(best.source, best.target).to_html()
            same(before, "a score was explained")
        fitted.plot()
        same(before, f"the history of {model} was plotted")
        fitted.evaluate("random", seed=1)
        same(before, f"{model} was evaluated on another split")
""")


def test_importing_every_module_leaves_the_globals_of_other_libraries_alone(tmp_path):
    assert len(modules()) > 200
    run(IMPORTED, *modules(), cwd=tmp_path)


def test_fits_scores_lists_explanations_and_evaluations_leave_them_as_they_were(tmp_path):
    run(USED, cwd=tmp_path)


MINE = textwrap.dedent("""
    import numpy as np
    from numba import njit

    @njit(cache=True)
    def order(x):
        return np.argsort(x)

    @njit(cache=True)
    def total(x):
        return order(x).sum() + x[order(x)[0]]
""")
OURS = textwrap.dedent("""
    import numpy as np
    from llwlc._support.compiler import compiled

    @compiled
    def lowest(x):
        return np.argsort(x)[0] + np.sort(x)[0]
""")
FOREIGN = textwrap.dedent("""
    import sys
    import numba, numpy as np
    when = sys.argv[1]
    x = np.array([3.0, 1.0, 2.0])
    if when == "before":
        import ours
        assert ours.lowest(x) == 2.0
    import mine
    answers = mine.total(x), *mine.order(x)
    if when == "after":
        import ours
        assert ours.lowest(x) == 2.0
        assert (mine.total(x), *mine.order(x)) == answers

        @numba.njit
        def later(x):
            return mine.total(x + 1)

        assert later(x) == 5.0
        assert all(found.fndesc.uid < 10**6 for found in later.overloads.values()), "a number that is not of numba's count"
    numbers = [found.fndesc.uid for function in (mine.order, mine.total) for found in function.overloads.values()]
    loads = sum(sum(function.stats.cache_hits.values()) for function in (mine.order, mine.total))
    print(*answers, "loads", loads, "small" if max(numbers) < 10**6 else numbers, mine.order.stats.cache_path)
""")


@pytest.mark.parametrize("when", ["before", "after"])
def test_another_user_of_numba_keeps_its_numbers_and_its_cache(tmp_path, when):
    """The same answers, files and numbers as without llwlc, whichever of the two is used first; and later processes,
    with llwlc or without, find its functions there.
    """
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "ours.py").write_text(OURS)
    (tmp_path / "alone").mkdir(mode=0o700)
    (tmp_path / "both").mkdir(mode=0o700)

    def foreign(who: str, cache: str) -> list[str]:
        where = {"NUMBA_CACHE_DIR": str(tmp_path / cache), "PYTHONPATH": os.pathsep.join(["", *sys.path])}
        return run(FOREIGN, who, cwd=tmp_path, **where).split()

    def files(cache: str) -> list[str]:
        folder = tmp_path / cache
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("mine.*"))

    alone, beside = foreign("never", "alone"), foreign(when, "both")
    assert beside[:-1] == alone[:-1]
    assert "loads 0 small" in " ".join(beside)
    assert beside[-1] == alone[-1].replace("alone", "both")
    assert files("both") == files("alone") != []
    for who in ("never", when):
        again = foreign(who, "both")
        assert again[:4] == beside[:4]
        assert int(again[5]) >= 1  # the inner function is in the code of the outer one


# as `np.sort` and `np.argsort`, two functions of another library that have one name, and one number in two processes
CALLEES = textwrap.dedent("""
    import sys
    from numba import njit
    def mixed(by):
        @njit
        def mix(x):
            {steps}
            return x
        return mix
    three, five = mixed(3), mixed(5)
    for name in sys.argv[1:]:
        if len(sys.argv) == 2:
            {{"by_three": three, "by_five": five}}[name](1)  # its owner was first
    from llwlc._support.compiler import compiled
    @compiled
    def by_three(x):
        return three(x) ^ three(x + 1)
    @compiled
    def by_five(x):
        return five(x) ^ five(x + 1)
    print(*(globals()[name](1) for name in sys.argv[1:]))
""").format(steps="; ".join(["x = (x ^ (x >> 7)) * by"] * 60))


def test_kernels_that_contain_functions_compiled_by_their_owner_stay_apart(tmp_path):
    """numba numbers them by the count of the process; in the cache of kernels they must not be taken for each other."""
    (tmp_path / "callees.py").write_text(CALLEES)
    where = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "code"), "PYTHONHASHSEED": "0"}

    def answers(*names: str) -> list[str]:
        command = [sys.executable, "callees.py", *names]
        done = subprocess.run(command, cwd=tmp_path, env=where, capture_output=True, text=True, check=True)
        return done.stdout.split()

    alone = [*answers("by_three"), *answers("by_five")]
    assert alone[0] != alone[1]
    assert answers("by_three", "by_five") == alone


PRINTS = textwrap.dedent("""
    import numpy as np
    from numba import njit
    @njit
    def show(x):
        for i in range(2):
            print(x)
            for j in range(len(x)):
                x[j] = 2 * x[j] + i
        return len(x)
    show(np.zeros(1))
    from llwlc._support.compiler import compiled
    @compiled
    def kernel(x):
        return show(x) + show(x[1:])
    print(kernel(np.arange(3.0)), sum(kernel.stats.cache_hits.values()))
""")


def test_a_function_of_another_library_in_a_kernel_has_its_python_objects(tmp_path):
    """numba's `print` needs the array's type as an object of Python: in the process that compiles the kernel, and in
    one that finds it.
    """
    (tmp_path / "prints.py").write_text(PRINTS)
    where = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "code")}
    said = [
        subprocess.run(
            [sys.executable, "prints.py"], cwd=tmp_path, env=where, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    lines = ["[0.]", "[0.]", "[0. 1. 2.]", "[0. 2. 4.]", "[5. 9.]", "[10. 18.]"]
    assert [text.splitlines() for text in said] == [[*lines, "5 0"], [*lines, "5 1"]]


AT_ONCE = textwrap.dedent("""
    import threading
    import numba, numpy as np
    from numba import njit
    from numba.core.bytecode import FunctionIdentity
    from llwlc._support.compiler import compiled

    def ours(k):
        @compiled
        def kernel(x):
            return np.sort(x)[0] * k + np.argsort(x)[0]
        return kernel

    def theirs(k):
        @njit(cache=True)
        def function(x):
            return np.sort(x)[-1] * k + np.argsort(x)[-1]
        return function

    def settings():
        return numba.config.CACHE_DIR, numba.config.SLP_VECTORIZE, FunctionIdentity._unique_ids

    x, before, wrong, numbers = np.array([3.0, 1.0, 2.0]), settings(), [], []

    def compile_ours(k, start):
        start.wait()
        function = ours(k)
        if function(x) != k + 1:
            wrong.append(("ours", k))

    def compile_theirs(k, start):
        start.wait()
        function = theirs(k)
        if function(x) != 3 * k:
            wrong.append(("theirs", k))
        numbers.extend(found.fndesc.uid for found in function.overloads.values())

    for k in range(10):
        start = threading.Barrier(2)
        threads = [threading.Thread(target=work, args=(k, start)) for work in (compile_ours, compile_theirs)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            now = settings()
            if now != before:
                wrong.append(now)
                before = now
    assert not wrong, wrong
    assert len(numbers) == 10 and max(numbers) < 10**6, numbers
""")


def test_two_threads_compile_at_once_and_neither_sees_the_other(tmp_path):
    """One compiles kernels, one another library's functions; a third that looks at numba's settings sees no change."""
    (tmp_path / "at_once.py").write_text(AT_ONCE)
    where = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "code")}
    done = subprocess.run([sys.executable, "at_once.py"], cwd=tmp_path, env=where, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_two_threads_that_fit_at_once_show_a_warning_each_and_leave_python_s_display():
    shown_by_python, start, found = warnings.showwarning, threading.Barrier(2), []

    def fit() -> None:
        with deduplicate_warnings():
            start.wait()
            for i in range(3):
                warn(f"{i} of 3 pairs reach 10,000 nodes")
            found.append(warnings.showwarning)
            start.wait()

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        displays = warnings.showwarning
        threads = [threading.Thread(target=fit) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [str(warning.message) for warning in seen] == ["0 of 3 pairs reach 10,000 nodes"] * 2
    assert found == [displays] * 2
    assert warnings.showwarning is shown_by_python
