"""FlatParameters: the parameters of a network as one vector, and FlatPacking: from that vector to the arrays of the
kernels and back, each in one step.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from llwlc.nn._net import LLwLCNet
from llwlc.nn._weight_packing import pack_network, transpose_weights

if TYPE_CHECKING:
    from llwlc._kernels.numba.gradients import TransposedWeights
    from llwlc._kernels.numba.network import NetworkWeights

LARGE_LAYERS = ("class_readout.mean", "class_readout.largest", "class_readout.number", "head.hidden", "ends.mix")
"""Weights whose gradients are one product of matrices over the whole batch; see `_kernels.numba.training`."""
NOT_LEARNED = ("ends.table", "sort_readout")


class FlatParameters:
    """Makes the parameters of a network views of one vector, `vector`, in the order of `parameters`: an optimizer then
    needs one call instead of one for each, and a kernel reads all of them at once. For everybody else they stay what
    they were."""

    def __init__(self, parameters: list[Tensor]) -> None:
        self.parameters = parameters
        self.vector = torch.cat([p.detach().reshape(-1) for p in parameters])
        for p, view in zip(parameters, self.cut(self.vector), strict=True):
            p.data = view

    def cut(self, vector: Tensor) -> list[Tensor]:
        """Views of a vector in the shapes of the parameters."""
        sizes = [p.numel() for p in self.parameters]
        return [part.view(p.shape) for part, p in zip(torch.split(vector, sizes), self.parameters, strict=True)]


class FlatPacking:
    """Where every parameter of a network stands in the arrays of the kernels. It is found by packing a copy of the
    network whose parameters are their own numbers, so there is one packing only.
    """

    def __init__(self, net: LLwLCNet, flat: FlatParameters, features: Tensor | None, dtype: Any) -> None:
        numbers = torch.arange(1, len(flat.vector) + 1, dtype=torch.float64)
        numbered = copy.deepcopy(net).double()
        of = {id(p): view for p, view in zip(flat.parameters, flat.cut(numbers), strict=True)}
        for p, own in zip(numbered.parameters(), net.parameters(), strict=True):
            p.data = of[id(own)]
        self.dtype, self.net = dtype, pack_network(net, features, dtype)
        places = pack_network(numbered, None if features is None else features[:1], np.float64)
        turned = transpose_weights(places)
        self._shapes = {name: array.shape for name, array in iterate_arrays(places) if not name.startswith(NOT_LEARNED)}
        order = sorted(self._shapes, key=lambda name: name in LARGE_LAYERS)
        self._begins, end = {}, 0
        for name in order:
            if name in LARGE_LAYERS and "small" not in self.__dict__:
                self.small = end
            self._begins[name] = end
            end += _room(self._shapes[name])
        self.size = end
        index = np.zeros(self.size + sum(_room(x.shape) for x in turned), np.int32)
        arrays = dict(iterate_arrays(places))
        for name, begin in self._begins.items():
            index[begin : begin + arrays[name].size] = arrays[name].ravel()
        self._turned, begin = turned, self.size
        self._turned_begins = []
        for x in turned:
            index[begin : begin + x.size] = x.ravel()
            self._turned_begins.append(begin)
            begin += _room(x.shape)
        self._index = index
        # of the packed weights, without the transposed copies; number 0 is padding
        self._back = np.argsort(index[: self.size], kind="stable")[-len(flat.vector) :].astype(np.int32)
        self._given = np.zeros(len(flat.vector) + 1, dtype)
        self._packed = np.zeros(len(index), dtype)
        self.weights = self.cut(self._packed)
        self.transposed = self._cut_transposed()

    def pack(self, vector: Tensor) -> None:
        """Writes the parameters to the arrays `weights` and `transpose_weights`."""
        from llwlc._kernels.numba.training import gather

        self._given[1:] = vector.numpy()
        gather(self._given, self._index, self._packed)

    def gradient(self, sums: np.ndarray) -> Tensor:
        """The vector of gradients from those of the packed weights, `[size]`."""
        from llwlc._kernels.numba.training import gather

        gradient = np.empty(len(self._back), self.dtype)
        gather(sums, self._back, gradient)
        return torch.from_numpy(gradient)

    def cut(self, flat: np.ndarray) -> NetworkWeights:
        """The network's arrays as views of a flat one; where that has only `small` entries, those of the large layers
        are empty.
        """
        views = {}
        for name, begin in self._begins.items():
            shape = self._shapes[name]
            end = begin + math.prod(shape)
            views[name] = (
                flat[begin:end].reshape(shape) if end <= len(flat) else np.zeros((0,) * len(shape), flat.dtype)
            )
        weights: NetworkWeights = _with(self.net, views)
        return weights

    def _cut_transposed(self) -> TransposedWeights:
        parts = zip(self._turned, self._turned_begins, strict=True)
        return type(self._turned)(*(self._packed[begin : begin + x.size].reshape(x.shape) for x, begin in parts))


def iterate_arrays(record: Any, path: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """The arrays of nested records by their path."""
    for name, value in zip(record._fields, record, strict=True):
        if isinstance(value, np.ndarray):
            yield path + name, value
        elif isinstance(value, tuple):
            yield from iterate_arrays(value, f"{path}{name}.")


def _with(record: Any, arrays: dict[str, np.ndarray], path: str = "") -> Any:
    """The record with some of its arrays replaced, by their path."""
    new = {}
    for name, value in zip(record._fields, record, strict=True):
        if isinstance(value, tuple):
            new[name] = _with(value, arrays, f"{path}{name}.")
        elif path + name in arrays:
            new[name] = arrays[path + name]
    return record._replace(**new)


def _room(shape: tuple[int, ...]) -> int:
    """Entries for an array: kernels write matrices in fours of rows, and begin with a multiple of 16 entries."""
    behind = 3 * shape[-1] if len(shape) > 1 else 0
    return -(-(math.prod(shape) + behind) // 16) * 16
