"""Node names: from what a file calls its nodes to numbers 0 to n − 1, and back."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from llwlc._io.feature_encoding import MISSING_TEXTS
from llwlc._support.text import quote_text
from llwlc.errors import InputError
from llwlc.graph._packed_names import INTEGER, PackedNames, parse_integers

MOST_COMPARED = 200_000
"""Names among which those that differ only in capitals are looked for."""


def as_names(column: pa.ChunkedArray | pa.Array, *, where: str, gaps: bool = False, what: str = "node") -> pa.Array:
    """A column of ids of nodes, or of `what`, as strings: integers as they are, text without the space around it. A
    missing id is an error, with `gaps` an empty name.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_floating(array.type):
        # a table that once had missing ids keeps its integers as floats
        try:
            array = array.cast(pa.int64())
        except pa.ArrowInvalid:
            raise InputError(f"{where} has fractions or NaN for {what} ids: use integers or text") from None
    if pa.types.is_decimal(array.type):  # a database's numbers of any length
        array = pc.replace_substring_regex(array.cast(pa.string()), r"(\.0+|(^-?0)E-.*)$", r"\2")  # 0E-18 is zero
        if pc.any(pc.invert(pc.match_substring_regex(array, r"^(-?[1-9][0-9]*|0)$"))).as_py():
            raise InputError(f"{where} has fractions for {what} ids: use integers or text")
    if pa.types.is_null(array.type):
        array = array.cast(pa.string())
    texts = (pa.types.is_string(array.type), pa.types.is_large_string(array.type), pa.types.is_string_view(array.type))
    if not (pa.types.is_integer(array.type) or any(texts)):
        raise InputError(f"{where} is of type {array.type}, which names no nodes: use integers or text")
    names = pc.utf8_trim_whitespace(array.cast(pa.string()))
    if gaps:
        return pc.fill_null(names, "")
    empty = pc.fill_null(pc.equal(names, ""), True)
    if pc.any(empty).as_py():
        rest = pc.sum(empty).as_py() - 1
        more = f" (and {rest:,} more {'row' if rest == 1 else 'rows'})" if rest else ""
        fill = "fill them in or drop the rows" if rest else "fill it in or drop the row"
        raise InputError(f"{where} names no {what} in row {pc.index(empty, True).as_py() + 1}{more}: {fill}")
    return names


def number_nodes(names: pa.Array) -> tuple[np.ndarray, list[str] | None]:
    """Numbers for the nodes: `[m]` in 0 .. n − 1, and the n distinct names in that order.

    Names that are all integers are sorted as numbers, any others as text (by code point). Where the integers are just 0
    to n − 1 there is nothing to remember, and the names are None.

    >>> number_nodes(pa.array(["10", "9", "10"]))
    (array([1, 0, 1]), ['9', '10'])
    >>> number_nodes(pa.array(["b", "9", "a"]))
    (array([2, 0, 1]), ['9', 'a', 'b'])
    >>> number_nodes(pa.array(["1", "0"]))
    (array([1, 0]), None)
    """
    encoded = names.dictionary_encode()
    distinct = encoded.dictionary
    integers = _integers(distinct)
    order = pc.sort_indices(distinct if integers is None else integers).to_numpy()
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    codes = rank[encoded.indices.to_numpy()]
    if integers is not None and np.array_equal(integers.to_numpy()[order], np.arange(len(order))):
        return codes, None
    return codes, distinct.take(pa.array(order)).to_pylist()


def find_nodes(wanted: pa.Array, names: Sequence[str] | None, num_nodes: int) -> np.ndarray:
    """The number of each name, −1 where there is no such node."""
    if isinstance(names, PackedNames):
        return names.find(wanted)
    if names is None:  # then they are the numbers themselves
        value, is_integer = parse_integers(wanted)
        return np.where(is_integer & (value >= 0) & (value < num_nodes), value, -1)
    sorted_names = pa.array(names, pa.string())
    numbers: np.ndarray = pc.fill_null(pc.index_in(wanted, value_set=sorted_names), -1).to_numpy()
    return numbers.astype(np.int64)


def all_integers(names: Sequence[str] | None) -> bool:
    """Whether every name is an integer (and so sorted as one)."""
    if isinstance(names, PackedNames):
        return names.value is not None
    return names is None or _integers(pa.array(names, pa.string())) is not None


def format_some_names(names: Sequence[str], limit: int = 5) -> str:
    """A few of many names, for a message.

    >>> format_some_names(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    rest = len(names) - limit
    return ", ".join(quote_text(name) for name in names[:limit]) + (f" and {rest:,} more" if rest > 0 else "")


def describe_odd_names(names: Sequence[str] | None, what: str = "node") -> list[str]:
    """Sentences on names that differ only in capitals or spaces, and on words for a missing value among the names.

    >>> describe_odd_names(["Ada", "NA", "ada"])
    ["'Ada', 'ada' differ only in capitals or spaces: each is a node of its own.", "'NA' is taken for a node."]
    """
    if names is None or isinstance(names, PackedNames) or len(names) > MOST_COMPARED:
        return []
    alike: dict[str, list[str]] = {}
    present = {*names}
    for name in names:
        alike.setdefault(" ".join(name.casefold().split()), []).append(name)
    groups = [group for group in alike.values() if len(group) > 1]
    found = []
    if groups:
        listed = "; ".join(", ".join(map(quote_text, group[:4])) for group in groups[:3])
        more = f"; and {len(groups) - 3:,} more such groups" if len(groups) > 3 else ""
        found.append(f"{listed}{more} differ only in capitals or spaces: each is a {what} of its own.")
    return found + [f"{quote_text(name)} is taken for a {what}." for name in MISSING_TEXTS if name in present]


def suggest_name(name: str, names: Sequence[str] | None, num_nodes: int) -> str:
    """What a misspelt name may have meant, as a sentence, or the range of the numbers, or nothing."""
    if names is None:
        return f" Nodes are called 0 to {num_nodes - 1}."
    # difflib compares with every name, which takes too long in a large graph
    close = difflib.get_close_matches(name, names, n=1) if num_nodes <= 50_000 else []
    return f" Did you mean {quote_text(close[0])}?" if close else ""


def _integers(names: pa.Array) -> pa.Array | None:
    if not pc.all(pc.match_substring_regex(names, INTEGER)).as_py():
        return None
    try:
        return names.cast(pa.int64())
    except pa.ArrowInvalid:  # longer than 64 bits
        return None
