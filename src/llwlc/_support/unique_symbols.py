"""Symbols of compiled kernels: names in machine code that no other process gives to another function.

numba tells functions of one name and signature apart by a number that every process counts from one, and machine code
contains copies of all functions that are called from there. So files of two processes may hold different functions
under one symbol, of which a third process takes the first for both (numba's issue 10486); `np.sort` and `np.argsort`,
for one, are made of functions of the same names. Here a kernel has a number drawn at random, and so has its copy of
every function that somebody else numbered: numba's own, or a user's, compiled for this kernel or long before. Numbers
from `FIRST` on are random ones; numba's count never gets there.

Nothing of numba is replaced: the compiler and the library of code are subclasses that only our functions are given, and
other users of numba in this process keep its count. The callees' numbers are changed in copies of their code.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from typing import Any, NamedTuple

from llvmlite.binding import Linkage, Target, get_process_triple, parse_bitcode
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler
from numba.core.environment import Environment, lookup_environment

FIRST = 1 << 63
NUMBER = re.compile(r"B(\d+)v(\d+)")
"""The number of a function in its symbols, with the number of characters that follow: `B3v17`
(`numba.core.itanium_mangler.mangle_abi_tag`).
"""
ENVIRONMENT = "_ZN08NumbaEnv"

_numbers: dict[int, int] = {}
"""Random number of each function by numba's, drawn when the first kernel links it, so that kernels of this process
agree. A forked process has those of functions that its parent had too, and draws others for those that it compiles
itself. Read and written under numba's lock."""


def draw_number() -> int:
    """A number of 64 bits that no function has, here or in another process, forked ones included."""
    return FIRST | secrets.randbits(63)


def unique_symbol(name: str) -> str:
    """The name of a symbol with a random number in place of numba's.

    >>> unique_symbol("NRT_incref")
    'NRT_incref'
    >>> unique_symbol("_ZN4mine4sortB3v17Ex") == unique_symbol("_ZN4mine4sortB3v17Ex") != "_ZN4mine4sortB3v17Ex"
    True
    """

    def renumbered(found: re.Match[str]) -> str:
        length, number = int(found[1]), int(found[2])
        if length != 1 + len(found[2]) or number >= FIRST:
            return found[0]
        if number not in _numbers:
            _numbers[number] = draw_number()
        return f"B{1 + len(str(_numbers[number]))}v{_numbers[number]}"

    return NUMBER.sub(renumbered, name)


class KernelCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler, for functions with a number of their own and a `KernelLibrary`."""

    def define_pipelines(self) -> Any:
        """numba's own, for the renumbered function."""
        identity, codegen = self.state.func_id, self.state.targetctx.codegen()
        identity.unique_id = draw_number()
        identity.unique_name = f"{identity.func_qualname}${identity.unique_id}"
        self.state.library = KernelLibrary(PairsCodegen(codegen), identity.func_qualname)
        self.state.library.enable_object_caching()
        return super().define_pipelines()


class PairsCodegen(JITCPUCodegen):  # type: ignore[misc]
    """numba's code generator, and its engine, with SLP vectorisation on, which joins neighbouring scalar operations to
    short vectors. Kernels read rows in fours and vectors in pairs for it. numba's own setting is one for all its
    users."""

    def __init__(self, shared: JITCPUCodegen) -> None:
        self.__dict__ = shared.__dict__

    def _pass_builder(self, **options: Any) -> Any:
        return super()._pass_builder(**{"slp_vectorize": True} | options)


class PortableCodegen(JITCPUCodegen):  # type: ignore[misc]
    """numba's code generator, for one processor of this architecture, whichever runs it: early passes ask what it has,
    although they write nothing that others could not run.
    """

    def __init__(self, shared: JITCPUCodegen) -> None:
        triple = get_process_triple()
        # wide vectors stay whole until the passes for the processor at hand
        cpu = "x86-64-v4" if triple.startswith("x86_64") else ""
        self.__dict__ = shared.__dict__ | {"_tm": Target.from_triple(triple).create_target_machine(cpu=cpu, opt=3)}


class KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel, all symbols of which are unique: its callees are renamed before they are linked, so they
    are shared and inlined as ever.

    Callees that are kernels are linked as they were written, not optimised and without machine code: all of it is
    optimised once, together.
    """

    def __init__(self, codegen: JITCPUCodegen, name: str) -> None:
        super().__init__(codegen, name)
        self.translation: bytes = b""
        self._renamed: dict[str, str] = {}
        self._parts: list[KernelLibrary] = []
        self._environments: list[Environment] = []

    def add_llvm_module(self, ll_module: Any) -> None:
        """Adds code that numba made of the kernel itself, which calls others by their symbols."""
        self._renamed |= _rename(ll_module)
        super().add_llvm_module(ll_module)

    def add_linking_library(self, library: Any) -> None:
        """Adds a callee."""
        if isinstance(library, KernelLibrary):
            self._parts.append(library)
        else:
            super().add_linking_library(_Linked(library, self))

    def finalize(self) -> None:
        """Links all that is called from here, optimises it and makes machine code of it."""
        parts = self._all_parts()
        for part in parts:
            for linked in part._linking_libraries:
                super().add_linking_library(_Linked(linked.library, self))
        names = [name for part in parts for name in part.link_into(self._final_module)]
        # only now: a function that is marked so is not linked where nobody calls it yet
        for name in names:
            self._final_module.get_function(name).linkage = Linkage.linkonce_odr
        for part in parts:
            self._renamed |= part._renamed
        super().finalize()

    @classmethod
    def from_translation(cls, codegen: JITCPUCodegen, name: str, translation: bytes) -> KernelLibrary:
        """The library of which `translation` was made, with machine code. The environments of its functions are loaded
        already.
        """
        library = cls(PairsCodegen(codegen), name)
        library.enable_object_caching()
        library._final_module = parse_bitcode(translation)
        library._optimize_final_module()
        library._final_module.verify()
        library._finalize_final_module()
        return library

    def environments(self) -> Iterator[Environment]:
        """The constants of all functions in the translation."""
        originals = {new: old for old, new in self._renamed.items()}
        for value in parse_bitcode(self.translation).global_variables:
            if value.name.startswith(ENVIRONMENT):
                own, original = (lookup_environment(name) for name in (value.name, originals.get(value.name)))
                if original is not None and own is None:
                    own = _copied(original, value.name)
                if own is not None and own.can_cache():
                    yield own

    def _optimize_final_module(self) -> None:
        """As numba does, from bitcode in any case: code that was stored as such is optimised to the same."""
        self.translation = self._final_module.as_bitcode()
        self._final_module: Any = parse_bitcode(self.translation)
        super()._optimize_final_module()

    def link_into(self, module: Any) -> list[str]:
        """Adds this code to that of a caller; returns the names of its functions."""
        defined = [function for function in self._final_module.functions if not function.is_declaration]
        module.link_in(self._final_module, preserve=True)
        return [function.name for function in defined if function.linkage == Linkage.external]

    def _optimize_functions(self, ll_module: Any) -> None:
        """As numba does, but for functions that are only declared here, to which no pass does anything, and alike for
        all processors of a kind: the translation depends on none.
        """
        ll_module.data_layout = self._codegen._data_layout
        portable = PortableCodegen(self._codegen)
        for function in ll_module.functions:
            if not function.is_declaration:
                passes, builder = portable._function_pass_manager()
                passes.run(function, builder)

    def _all_parts(self) -> list[KernelLibrary]:
        found: dict[KernelLibrary, None] = {}
        waiting = list(self._parts)
        while waiting:
            part = waiting.pop()
            if part not in found:
                found[part] = None
                waiting += part._parts
        return list(found)

    def linkable(self, library: Any) -> Any:
        """The code of a callee, a copy where it was renamed."""
        module = library._get_module_for_linking()
        if not any(unique_symbol(value.name) != value.name for value in _symbols(module)):
            return module
        module = module.clone()
        self._renamed |= _rename(module)
        return module

    def _finalize_specific(self) -> None:
        """Gives the callees' copies the constants that the originals have."""
        super()._finalize_specific()
        originals = {new: old for old, new in self._renamed.items() if old.startswith(ENVIRONMENT)}
        for value in self._final_module.global_variables:
            if not value.name.startswith(ENVIRONMENT):
                continue
            own = lookup_environment(value.name)
            original = lookup_environment(originals.get(value.name))
            if own is not None:
                self._codegen.set_env(value.name, own)
            elif original is not None:
                self._environments.append(_copied(original, value.name))
                self._codegen.set_env(value.name, self._environments[-1])


class _Linked(NamedTuple):
    """A callee as numba's linker sees it."""

    library: Any
    caller: KernelLibrary

    @property
    def _reload_init(self) -> Any:
        return self.library._reload_init

    def _ensure_finalized(self) -> None:
        self.library._ensure_finalized()

    def _get_module_for_linking(self) -> Any:
        return self.caller.linkable(self.library)


def _symbols(module: Any) -> list[Any]:
    return [*module.functions, *module.global_variables]


def _rename(module: Any) -> dict[str, str]:
    """Makes all symbols of a module unique; returns the new name of each that was not."""
    renamed = {}
    for value in _symbols(module):
        old, new = value.name, unique_symbol(value.name)
        if new != old:
            value.name = renamed[old] = new
    return renamed


def _copied(original: Environment, name: str) -> Environment:
    """The constants of a function under the name of its copy, where numba finds them as it stores and loads the
    copy.
    """
    copy = lookup_environment(name)
    if copy is None:
        copy = Environment(original.globals)
        copy.consts[:] = original.consts
        copy.env_name = name
        Environment._memo[name] = copy
    return copy
