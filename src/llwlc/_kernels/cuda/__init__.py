"""The contracts of `extract`, `eigenbasis`, `PairInputs` and the network's rows on CUDA: a block of threads for each
link, as CUDA C++ that NVRTC builds.

Arrays in, arrays out, as in `kernels`. `available()` is false where there is no NVIDIA GPU or no NVRTC (torch's CUDA
packages bring it); the reference then runs there. Kernels are compiled at their first call, some seconds each, and kept
in the cache.
"""

from llwlc._kernels.cuda.driver import available

__all__ = ["available"]
