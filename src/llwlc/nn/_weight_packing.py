"""The weights of an `LLwLCNet` for the compiled network: plain arrays, rows padded to whole lanes, the parts of a layer
separate.

Float32, but float64 with a sorting readout, where rounding can swap two rows and change the score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from llwlc._kernels.backends import why_not_numba
from llwlc.nn._config import NetConfig
from llwlc.nn._net import LLwLCNet
from llwlc.nn._readouts import ClassReadout, SortReadout

if TYPE_CHECKING:
    from llwlc._kernels.numba import network as kernel
    from llwlc._kernels.numba import readouts
    from llwlc._kernels.numba.blocks import Blocks, Filters
    from llwlc._kernels.numba.gradients import TransposedWeights

FloatType = type[np.floating]


def why_not_packable(net: LLwLCNet) -> str:
    """Why a network cannot be compiled, "" where it can: networks of the presets can, of any size."""
    if missing := why_not_numba():
        return missing
    if type(net) is not LLwLCNet:
        return f"{type(net).__name__} is a user's own network"
    if next(net.parameters()).is_cuda:
        return "it is on a GPU"
    if reason := unsupported_config(net.config):
        return reason
    if type(net.pool) is SortReadout:
        return "sorted rows of several blocks side by side" if net.config.jumping and net.config.blocks > 1 else ""
    return "" if type(net.pool) is ClassReadout else f"readout {net.config.pooling!r} is made in torch"


def unsupported_config(config: NetConfig) -> str:
    """What the compiled network does not support of a shape; "" if it supports all of it."""
    if type(config) is not NetConfig:
        return f"{type(config).__name__} is the shape of a user's own network"
    read = config.node_features and config.feature_channels > 0
    return "features of every node are read in torch" if read else ""


def pack_network(net: LLwLCNet, features: Tensor | None, dtype: FloatType | None = None) -> kernel.NetworkWeights:
    """The arrays of a network for which `why_not_packable` is empty, with the features of all nodes `[n, F]`, in the
    type that its readout asks for unless another is given.
    """
    from llwlc._kernels.numba import network as kernel

    c = net.config
    heads: Any = net.head
    dtype = dtype or (np.float64 if isinstance(net.pool, SortReadout) else np.float32)
    class_weights, sort_weights = _readout(net, dtype)
    hidden, last = heads[0], heads[-1]
    width = hidden.weight.shape[1]
    ranking = np.zeros((0, 0), dtype)
    ranking_bias = np.zeros(0, dtype)
    if net.ranking is not None:
        weight = _array(net.ranking.weight, dtype)
        ranking = np.zeros((2, _whole(c.head) + -(-width // 16) * 16), dtype)
        ranking[:, : c.head] = weight[:, : c.head]
        ranking[:, _whole(c.head) : _whole(c.head) + width] = weight[:, c.head :]
        ranking_bias = _array(net.ranking.bias, dtype)
    head = kernel.HeadWeights(
        hidden=_matrix(hidden.weight.T, width, dtype),
        bias=_row(hidden.bias, dtype),
        last=_row(last.weight[0], dtype),
        last_bias=_array(last.bias, dtype),
        ranking=ranking,
        ranking_bias=ranking_bias,
        pooled=net.pool.out_channels,
        channels=c.channels,
        ends=c.ends,
    )
    return kernel.NetworkWeights(
        blocks=pack_blocks(net, dtype),
        filters=pack_filters(net, dtype),
        by_class=isinstance(net.pool, ClassReadout),
        class_readout=class_weights,
        sort_readout=sort_weights,
        jumping=c.jumping,
        ends=_ends(net, features, dtype),
        head=head,
    )


def pack_blocks(net: Any, dtype: FloatType) -> Blocks:
    from llwlc._kernels.numba.blocks import Blocks

    c, inputs, C = net.config, net.classes + 1, _whole(net.config.channels)
    later = list(net.convs)[1:]
    mix = np.zeros((len(later), c.filters, C, C), dtype)
    skip = np.zeros((len(later) if c.skip else 0, C, C), dtype)
    for i, conv in enumerate(later):
        mix[i, :, : c.channels, : c.channels] = _array(conv.weight, dtype).reshape(c.filters, c.channels, c.channels)
        if c.skip:
            skip[i, : c.channels, : c.channels] = _array(conv.skip.weight, dtype).T
    first = net.convs[0]
    return Blocks(
        classes=net.classes,
        filters=c.filters,
        first=_matrix(first.weight, c.filters * inputs, dtype),
        mix=mix,
        first_skip=_matrix(first.skip.weight.T, inputs, dtype) if c.skip else np.zeros((0, C), dtype),
        skip=skip,
        bias=np.stack([_row(conv.bias, dtype) for conv in net.convs]),
    )


def pack_filters(net: Any, dtype: FloatType) -> Filters:
    from llwlc._kernels.numba.blocks import Filters

    layers = [conv.filter.layers for conv in net.convs]
    if net.filtered is not None:
        layers.append(net.filtered.filter.layers)
    return Filters(
        inner=np.stack([_array(x[0].weight[:, 0], dtype) for x in layers]),
        inner_bias=np.stack([_array(x[0].bias, dtype) for x in layers]),
        outer=np.stack([_array(x[-1].weight, dtype) for x in layers]),
        outer_bias=np.stack([_array(x[-1].bias, dtype) for x in layers]),
    )


def _readout(net: Any, dtype: FloatType) -> tuple[readouts.ClassReadoutWeights, readouts.SortReadoutWeights]:
    """Both readouts, that of the network and an empty one of the other kind."""
    from llwlc._kernels.numba import readouts

    none, C, channels = np.zeros((0, 0), dtype), _whole(net.config.channels), net.config.channels
    if isinstance(net.pool, ClassReadout):
        classes, blocks = net.classes, net.config.blocks if net.config.jumping else 1
        pooled, out = blocks * channels, _whole(net.pool.out_channels)
        weight = _array(net.pool.mix.weight.T, dtype)
        by_class = weight[: classes * (pooled + 1)].reshape(classes, pooled + 1, -1)
        mean, largest = np.zeros((classes, blocks, C, out), dtype), np.zeros((blocks, C, out), dtype)
        mean[:, :, :channels, : weight.shape[1]] = by_class[:, :pooled].reshape(classes, blocks, channels, -1)
        largest[:, :channels, : weight.shape[1]] = weight[classes * (pooled + 1) :].reshape(blocks, channels, -1)
        count = np.zeros((classes, out), dtype)
        count[:, : weight.shape[1]] = by_class[:, pooled]
        by_class_weights = readouts.ClassReadoutWeights(
            mean.reshape(classes, blocks * C, out), count, largest.reshape(-1, out), _row(net.pool.mix.bias, dtype)
        )
        return by_class_weights, readouts.SortReadoutWeights(0, 0, none, none.ravel(), none, none.ravel())
    first, second = net.pool.first, net.pool.second
    sort = readouts.SortReadoutWeights(
        rows=net.pool.rows,
        channels=channels,
        first=_matrix(first.weight[:, 0].T, C, dtype),
        first_bias=_row(first.bias, dtype),
        second=_matrix(second.weight.permute(2, 1, 0).reshape(-1, second.weight.shape[0]), 80, dtype),
        second_bias=_row(second.bias, dtype),
    )
    return readouts.ClassReadoutWeights(none.reshape(0, 0, 0), none, none, none.ravel()), sort


def _ends(net: Any, features: Tensor | None, dtype: FloatType) -> kernel.EndWeights:
    from llwlc._kernels.numba import network as kernel

    if net.filtered is None or features is None:
        none = np.zeros((0, 0), dtype)
        return kernel.EndWeights(none, none, none.ravel(), none.ravel(), none.ravel(), 0, False)
    c, filtered = net.config, net.filtered
    F, D = _whole(c.feature_channels), _whole(c.filtered_channels)
    mix = np.zeros((c.filters + 1, F, D), dtype)
    weight = _array(filtered.mix.weight.T, dtype).reshape(c.filters + 1, c.feature_channels, -1)
    mix[:, : c.feature_channels, : c.filtered_channels] = weight
    return kernel.EndWeights(
        pack_features(features, dtype),
        mix.reshape(-1, D),
        _row(filtered.mix.bias, dtype),
        _row(filtered.norm.weight, dtype),
        _row(filtered.norm.bias, dtype),
        c.filtered_channels,
        filtered.cosines,
    )


def pack_features(features: Tensor, dtype: FloatType) -> np.ndarray:
    """The features of all nodes `[n, F]`, rows in whole lanes."""
    return _matrix(features, len(features), dtype)


def transpose_weights(net: kernel.NetworkWeights) -> TransposedWeights:
    """The transposed weights, for the backward pass."""
    from llwlc._kernels.numba.gradients import TransposedWeights
    from llwlc._kernels.numba.lanes import padded_rows

    blocks, readout, C = net.blocks, net.class_readout, net.blocks.bias.shape[1]
    width, H = net.head.hidden.shape
    return TransposedWeights(
        first=padded_rows(blocks.first.T, C, _whole(len(blocks.first))),
        mix=np.ascontiguousarray(blocks.mix.reshape(-1, blocks.filters * C, C).transpose(0, 2, 1)),
        skip=np.ascontiguousarray(blocks.skip.transpose(0, 2, 1)),
        pooled=np.ascontiguousarray(np.concatenate([readout.mean, readout.largest[None]]).transpose(0, 2, 1)),
        ends=np.ascontiguousarray(net.ends.mix.T),
        hidden=padded_rows(net.head.hidden.T, H, _whole(width)),
    )


def _whole(count: int) -> int:
    from llwlc._kernels.numba.lanes import padded_width

    return padded_width(count)


def _array(x: Tensor, dtype: FloatType) -> np.ndarray:
    array: np.ndarray = np.ascontiguousarray(x.detach().cpu().numpy().astype(dtype))
    return array


def _matrix(x: Tensor, rows: int, dtype: FloatType) -> np.ndarray:
    """The matrix padded with zeros to `rows` rows of whole lanes."""
    from llwlc._kernels.numba.lanes import padded_rows

    return padded_rows(_array(x, dtype), rows, _whole(x.shape[1]))


def _row(x: Tensor, dtype: FloatType) -> np.ndarray:
    row: np.ndarray = _matrix(x[None], 1, dtype)[0]
    return row
