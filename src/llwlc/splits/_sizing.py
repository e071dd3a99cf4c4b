"""How many links each part has, rounded as each protocol's own code rounds."""

from __future__ import annotations

import math

from llwlc._support.bounds import is_whole
from llwlc.errors import InputError
from llwlc.splits._registry import PROTOCOLS, Sizes


def sizes(protocol: str, num_edges: int, *, val: float | None = None, test: float | None = None) -> Sizes:
    """Sizes of the parts under a protocol.

    Args:
        protocol: one of `PROTOCOLS`.
        num_edges: number of undirected edges.
        val: the share of validation links, for protocols that leave it open.
        test: the share of test links, for protocols that leave it open.

    >>> sizes("ncn", 5278)
    Sizes(train=3696, valid=527, test=1055, valid_neg=1055, test_neg=1055)
    """
    record = PROTOCOLS[protocol]
    if record.from_dataset:
        raise InputError(
            f"protocol {protocol!r} has the parts that its dataset brings: no number of links gives their sizes"
        )
    if not record.free and (val is not None or test is not None):
        raise InputError(f"protocol {protocol!r} fixes its ratios: use protocol='random' to choose val and test")
    result = record.load()(num_edges, val=val, test=test) if record.free else record.load()(num_edges)
    if not isinstance(result, Sizes) or not all(is_whole(size) and size >= 0 for size in result):
        raise InputError(f"protocol {protocol!r} gave {str(result)[:80]}: give Sizes of whole numbers")
    if result.train + result.valid + result.test != num_edges:
        raise InputError(
            f"protocol {protocol!r} gave {result.train} + {result.valid} + {result.test} links, and there are"
            f" {num_edges}: let train be what the others leave"
        )
    return result


def even(num_edges: int, valid: int, test: int) -> Sizes:
    """As many negatives as links in validation and test."""
    return Sizes(num_edges - valid - test, valid, test, valid, test)


def paper(num_edges: int) -> Sizes:
    test = math.floor(0.1 * num_edges)
    return even(num_edges, math.floor(0.1 * (num_edges - test)), test)


def seal(num_edges: int) -> Sizes:
    return even(num_edges, math.floor(0.05 * num_edges), math.floor(0.1 * num_edges))


def ncn(num_edges: int) -> Sizes:
    """NCN holds out 20 % for validation and 20 % for test, then returns half of the validation links to training but
    keeps all validation negatives.
    """
    test = math.floor(0.2 * num_edges)
    valid = int(test * 0.1 / 0.2)
    return Sizes(num_edges - valid - test, valid, test, test, test)


def buddy(num_edges: int) -> Sizes:
    return even(num_edges, math.floor(0.1 * num_edges), math.floor(0.2 * num_edges))


def shares(num_edges: int, *, val: float | None = None, test: float | None = None) -> Sizes:
    low, high = 0.05 if val is None else val, 0.1 if test is None else test
    if not (0 <= low < 1 and 0 <= high < 1 and low + high < 1):
        raise InputError(f"val={low} and test={high} must be shares of the links, at least 0 and below 1 together")
    return even(num_edges, math.floor(low * num_edges), math.floor(high * num_edges))
