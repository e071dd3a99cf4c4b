"""How kernels are compiled: a function that Python calls is compiled once, with all functions that it calls.

By default, numba compiles every function separately and optimises it again in every function that calls it, so a
kernel with nested calls is optimised once per level, and every level gets an entry point for Python that is not used.
Here a function that another compiled one calls is a *part*: typed and translated, but neither optimised nor cached by
itself. A kernel that this process compiled and the same kernel loaded from disk are thus the same code.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.typing import make_concrete_template

from llwlc._support.machine_code import KernelCache, lock_compilation
from llwlc._support.unique_symbols import KernelCompiler


class KernelDispatcher(CPUDispatcher):  # type: ignore[misc]
    """numba's function object, with the settings `options`, cached in `cache`."""

    def __init__(self, function: Any, options: dict[str, Any], cache: KernelCache) -> None:
        super().__init__(function, targetoptions=options, pipeline_class=KernelCompiler)
        self._compiler = EntryCompiler(function, self.targetdescr, options, {}, KernelCompiler)
        self._cache = cache
        self._parts: dict[tuple[Any, ...], CompileResult] = {}
        self._part_compiler = PartCompiler(function, self.targetdescr, options, {}, KernelCompiler)

    def compile(self, sig: object) -> object:
        """Machine code for a call from Python. One process compiles at a time; the first lock is numba's own, for
        threads.
        """
        with global_compiler_lock, lock_compilation(self._cache.lock_path), _without_collector():
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """numba calls this where another compiled function calls this one."""
        pysig, args = self._compiler.fold_argument_types(args, kws)
        with global_compiler_lock:
            if tuple(args) not in self._parts:
                self._compile_part(tuple(args))
            signatures = [part.signature for part in self._parts.values()]
        name = self.py_func.__name__
        return make_concrete_template(f"CallTemplate({name})", key=name, signatures=signatures), pysig, args, {}

    def get_overload(self, sig: Any) -> object:
        """The key under which numba finds the code of a call from another compiled function."""
        args, _ = normalize_signature(sig)
        return self._parts[tuple(args)].entry_point

    def _compile_part(self, args: tuple[Any, ...]) -> None:
        with self._compiling_counter:
            # there is no entry point for Python: any object serves as key
            part = self._part_compiler.compile(args, None)._replace(entry_point=object())
        self.targetctx.insert_user_function(part.entry_point, part.fndesc, [part.library])
        self._parts[tuple(part.signature.args)] = part


class EntryCompiler(_FunctionCompiler):  # type: ignore[misc]
    """Compiles a function for calls from Python; none of them is called from C."""

    def _customize_flags(self, flags: Any) -> Any:
        flags.no_cfunc_wrapper = True
        return flags


class PartCompiler(_FunctionCompiler):  # type: ignore[misc]
    """Types a function and translates it to LLVM, without optimising it."""

    def _customize_flags(self, flags: Any) -> Any:
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        return flags


@contextmanager
def _without_collector() -> Iterator[None]:
    """Disables garbage collection: a compiler makes millions of objects and needs most of them until it ends, so that
    collection costs time and frees little.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
