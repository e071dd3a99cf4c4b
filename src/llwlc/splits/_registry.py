"""PROTOCOLS: how links are divided, by name, one record each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from llwlc._support.registry import Record, Registry, Target


class Sizes(NamedTuple):
    """How many links each part has, `train` being what the others leave, and how many negatives validation and test
    have, often as many as links. Training negatives are drawn as training needs them.

    >>> Sizes(train=17, valid=1, test=2, valid_neg=1, test_neg=2).test
    2
    """

    train: int
    valid: int
    test: int
    valid_neg: int
    test_neg: int


@dataclass(frozen=True)
class Protocol(Record):
    """A protocol. `target(num_edges)`, with `val` and `test` where `free`, gives its `Sizes`; the other fields state
    how it differs from a plain random split with as many negatives as links.

    `nodes(graph)`: the nodes it is limited to. `order(graph, drawn, sizes)`: another order of the links than the drawn
    one, and notes; training links come first then. `parts(edges, sizes, generator)`: train, valid and test of the
    ordered links. `negatives(split, **options)`: the split with other negatives for validation and test, by the
    `options` that it names; `allow(split)`: the split with what its recipe repeats by design counted. `features`: node
    features are read for it. `valid_messages`: validation links carry messages at test time. `as_pyg`: negatives are
    those that PyG's code draws from the same seed. `published(graph, protocol, seed)`: the split as its authors
    published it, None where its files are not available. `from_dataset`: the split is the one that comes with the
    dataset, and nothing is drawn. `metric`: what methods are compared by, where the dataset does not say.
    """

    free: bool = False
    nodes: Target | None = None
    order: Target | None = None
    parts: Target | None = None
    negatives: Target | None = None
    allow: Target | None = None
    options: tuple[str, ...] = ()
    features: bool = False
    valid_messages: bool = False
    as_pyg: bool = False
    published: Target | None = None
    from_dataset: bool = False
    metric: str = "hits@100"


PROTOCOLS: Registry[Protocol] = Registry("protocol")
"""The protocols by name, built in or registered: `PROTOCOLS[name]`, `list(PROTOCOLS)`."""
_SIZES, _MAKING = "llwlc.splits._sizing", "llwlc.splits._making"
PROTOCOLS.add(
    Protocol("paper", "90/10 as in the paper, a tenth of the 90 for validation", f"{_SIZES}:paper", valid_messages=True)
)
PROTOCOLS.add(Protocol("seal", "85/5/10, drawn as in SEAL's code", f"{_SIZES}:seal", as_pyg=True))
PROTOCOLS.add(
    Protocol(
        "ncn",
        "70/10/20, drawn as in NCN's code",
        f"{_SIZES}:ncn",
        parts="llwlc.splits._making:split_as_ncn",
        as_pyg=True,
    )
)
PROTOCOLS.add(
    Protocol(
        "buddy",
        "70/10/20 in the largest component",
        f"{_SIZES}:buddy",
        nodes=f"{_MAKING}:largest_component",
        valid_messages=True,
    )
)
PROTOCOLS.add(
    Protocol(
        "heart",
        "85/5/10, 500 hard negatives for each link",
        f"{_SIZES}:seal",
        negatives="llwlc.splits._heart:with_hard_negatives",
        allow="llwlc.splits._heart:allow_by_recipe",
        options=("num_hard",),
        published="llwlc.splits._heart_files:load_published_split",
        features=True,
        metric="mrr",
    )
)
PROTOCOLS.add(
    Protocol(
        "ogb",
        "the split that an ogbl dataset brings, with its metric",
        f"{_MAKING}:load_dataset_split",
        from_dataset=True,
    )
)
PROTOCOLS.add(
    Protocol("random", "any shares, drawn at random (val and test)", f"{_SIZES}:shares", free=True, valid_messages=True)
)
PROTOCOLS.add(
    Protocol(
        "temporal",
        "any shares, the latest links held out (val and test)",
        f"{_SIZES}:shares",
        free=True,
        order=f"{_MAKING}:order_by_time",
        valid_messages=True,
    )
)


def register(name: str, *, about: str, **how: Any) -> Callable[[Callable[..., Sizes]], Callable[..., Sizes]]:
    """Registers a function from a number of links to `Sizes` as a protocol.

    Args:
        name: the name of the protocol for `splits.make`, `LinkPredictor.fit` and the command line.
        about: one line for lists.
        **how: the further fields of a protocol's record, as in `valid_messages=True` (validation links carry messages
            at test time).

    >>> import llwlc
    >>> @register("half", about="half of the links to train on, a quarter each to validate and test")
    ... def half(num_edges):
    ...     held_out = num_edges // 4
    ...     return Sizes(num_edges - 2 * held_out, held_out, held_out, valid_neg=held_out, test_neg=held_out)
    >>> llwlc.splits.make(llwlc.datasets.load("cora"), protocol="half", seed=0).test_pos.shape
    torch.Size([1319, 2])
    >>> PROTOCOLS.remove("half")
    """

    def decorate(function: Callable[..., Sizes]) -> Callable[..., Sizes]:
        PROTOCOLS.add(Protocol(name, about, function, **how))
        return function

    return decorate
