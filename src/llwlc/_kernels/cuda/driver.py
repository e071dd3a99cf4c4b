"""CUDA's run-time compiler and driver, through ctypes: no toolkit, no build step, no package beyond what torch
brings.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import re
import site
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import torch

from llwlc._support.checksum import add_checksum, strip_checksum
from llwlc._support.files import write_bytes
from llwlc._support.private_folders import make_private_folder
from llwlc._support.roots import cache_root
from llwlc.errors import StorageError

SHARED_PER_GROUP = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
DEFAULT_SHARED_BYTES = 48 * 1024  # bytes of fast memory that a kernel gets by default
STATIC_SHARED_BYTES = 10 * 1024  # of fast memory: the kernels' own arrays, at most


class KernelEngine(Protocol):
    """Where kernels run: a GPU, or for tests the same source compiled as C++."""

    shared_bytes: int
    """Bytes of fast memory that one group may have."""

    groups: int
    """How many groups are worth starting: more than run at once, fewer than links."""

    def launch(self, kernel: str, group: int, groups: int, shared: int, task: ctypes.Structure) -> None:
        """Starts `groups` groups of `group` threads; does not wait for them."""


@cache
def available() -> bool:
    """Whether kernels can be compiled and run on a GPU here."""
    if not torch.cuda.is_available() or torch.version.cuda is None:
        return False
    try:
        _compiler()
        _driver()
    except OSError:
        return False
    return True


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


@cache
def _compiler() -> ctypes.CDLL:
    """NVRTC: where the loader finds it, or in the packages that came with torch."""
    major = (torch.version.cuda or "").split(".")[0]
    names = [f"libnvrtc.so.{major}"]
    for root in (*site.getsitepackages(), site.getusersitepackages()):
        names += map(str, sorted(Path(root).glob(f"nvidia/**/libnvrtc.so.{major}*")))
    for name in (*names, "libnvrtc.so"):  # the last may be of any version
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise OSError("NVRTC is not installed")


def source(kernel: str) -> str:
    """The text of a kernel with what it includes."""
    folder = files("llwlc._kernels.cuda")

    def read(name: str) -> str:
        text = (folder / name).read_text(encoding="utf-8")
        return re.sub(r'#include "(.*)"', lambda match: read(match[1]), text)

    return read(f"{kernel}.cu")


def compile_source(text: str, *options: str) -> bytes:
    """The machine code of a source; raises the compiler's message where it does not compile."""
    nvrtc, program = _compiler(), ctypes.c_void_p()
    _check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None), "NVRTC")
    try:
        flags = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        if nvrtc.nvrtcCompileProgram(program, len(options), flags):
            raise RuntimeError(f"a CUDA kernel does not compile: {_read(program, nvrtc, 'ProgramLog').decode()}")
        return _read(program, nvrtc, "CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def load_or_compile(text: str, *options: str) -> bytes:
    """`compile_source`, cached on disk for later processes: the larger kernel takes five seconds for each size of
    group.
    """
    name = hashlib.sha256("\n".join([torch.version.cuda or "", *options, text]).encode()).hexdigest()[:32]
    return load_or_make(cache_root() / "cuda" / f"{name}.cubin", lambda: compile_source(text, *options))


def load_or_make(path: Path, make: Callable[[], bytes]) -> bytes:
    """The bytes of a file where it is intact, else what `make` returns, which is then written there. A folder that
    others can write is not used, since the content of such a file is executed."""
    folder = make_private_folder(path.parent)
    if folder is None:
        return make()
    with contextlib.suppress(OSError):
        found = strip_checksum((folder / path.name).read_bytes())
        if found is not None:
            return found
    binary = make()
    with contextlib.suppress(StorageError):  # a cache that cannot be written does not stop anything
        write_bytes(folder / path.name, add_checksum(binary))
    return binary


def _read(program: ctypes.c_void_p, nvrtc: ctypes.CDLL, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), "NVRTC")
    text = ctypes.create_string_buffer(size.value)
    _check(getattr(nvrtc, f"nvrtcGet{what}")(program, text), "NVRTC")
    return text.raw


def _check(code: int, who: str) -> None:
    if code:
        message = ctypes.c_char_p()
        if who == "CUDA":
            _driver().cuGetErrorString(code, ctypes.byref(message))
        raise RuntimeError(f"{who} error {code} {(message.value or b'').decode()}")


class GpuEngine:
    """One CUDA device as an `KernelEngine`."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        properties: Any = torch.cuda.get_device_properties(device)
        self.architecture = f"sm_{properties.major}{properties.minor}"
        self.shared_bytes = properties.shared_memory_per_block_optin - STATIC_SHARED_BYTES
        self.groups = 32 * properties.multi_processor_count
        self._functions: dict[tuple[str, int], ctypes.c_void_p] = {}

    def launch(self, kernel: str, group: int, groups: int, shared: int, task: ctypes.Structure) -> None:
        with torch.cuda.device(self.device):
            function = self._function(kernel, group)
            if shared > DEFAULT_SHARED_BYTES - STATIC_SHARED_BYTES:
                _check(_driver().cuFuncSetAttribute(function, SHARED_PER_GROUP, shared), "CUDA")
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            arguments = (ctypes.c_void_p * 1)(ctypes.addressof(task))
            grid, block = (groups, 1, 1), (group, 1, 1)
            _check(_driver().cuLaunchKernel(function, *grid, *block, shared, stream, arguments, None), "CUDA")

    def _function(self, kernel: str, group: int) -> ctypes.c_void_p:
        if (kernel, group) not in self._functions:
            binary = load_or_compile(source(kernel), f"-arch={self.architecture}", f"-DGROUP={group}", "-std=c++17")
            torch.cuda.current_stream()  # torch's context is the one to load into
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            _check(_driver().cuModuleLoadData(ctypes.byref(module), binary), "CUDA")
            _check(_driver().cuModuleGetFunction(ctypes.byref(function), module, kernel.encode()), "CUDA")
            self._functions[kernel, group] = function
        return self._functions[kernel, group]


@cache
def get_gpu_engine(index: int) -> GpuEngine:
    """The engine of a device; its compiled kernels stay with it."""
    return GpuEngine(torch.device("cuda", index))


def engine_of(tensor: torch.Tensor) -> GpuEngine:
    return get_gpu_engine(tensor.get_device())
