"""Every named graph: what it is, where it comes from, how it is loaded; one record each."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from llwlc._support.registry import Record, Registry, first_line, resolve
from llwlc.errors import InputError

if TYPE_CHECKING:
    from llwlc.graph._graph import Graph
    from llwlc.splits._linksplit import LinkSplit

F = TypeVar("F", bound=Callable[..., "Graph"])


@dataclass(frozen=True)
class DatasetInfo(Record):
    """What a dataset is and where its files are in the data root; `target(*arguments, root=root)` loads it.

    `nodes`, `edges` and `features` are those of the graph that `load` returns; for ogbl-collab and ogbl-vessel, `edges`
    is the number that OGB publishes, over all parts of the split and with repeated pairs.
    `split(name, root=..., **options)` returns the dataset's own split, where it has one, and `metric` is what its
    evaluator measures there. `name` and `about` are shown in lists, `origin` and `licence` say where the data come
    from, `files` is their place in the data root.

    >>> info("cora").nodes, info("cora").about
    (2708, 'citations, words of papers')
    """

    nodes: int = 0
    edges: int = 0
    features: int = 0
    origin: str = ""
    licence: str = ""
    files: str = ""
    arguments: tuple[str, ...] = ()
    split: str = ""
    metric: str = ""

    @property
    def what(self) -> str:
        """The line about the dataset, as lists show it."""
        return self.about


DATASETS: Registry[DatasetInfo] = Registry("dataset")
"""The datasets by name, built in or registered: `DATASETS[name]`, `list(DATASETS)`."""
_PACKAGE = "llwlc.datasets"
_PLANETOID = ("github.com/kimiyoung/planetoid", "MIT")
_SEAL = ("github.com/muhanzhang/SEAL", "MIT")
COAUTHOR_SIZE = (235_868, 1_285_465)
"""Nodes and edges of ogbl-collab, and of the graph generated in its shape."""
VESSEL_SIZE = (3_538_495, 5_345_897)
"""Nodes and edges of ogbl-vessel, and of the graph generated in its shape."""

DATASETS.add(
    DatasetInfo("cora", "citations, words of papers", f"{_PACKAGE}._embedded:cora", 2708, 5278, 1433,
         "PyPI graphdatascience 2.2, see NOTICE", "Apache-2.0")
)  # fmt: skip
DATASETS.add(
    DatasetInfo("cora-planetoid", "the same in PyG's numbering", f"{_PACKAGE}._planetoid:planetoid", 2708, 5278, 1433,
         *_PLANETOID, "planetoid/Cora", ("Cora",))
)  # fmt: skip
DATASETS.add(
    DatasetInfo("citeseer", "citations, words of papers", f"{_PACKAGE}._planetoid:planetoid", 3327, 4552, 3703,
         *_PLANETOID, "planetoid/CiteSeer", ("CiteSeer",))
)  # fmt: skip
DATASETS.add(
    DatasetInfo("pubmed", "citations, TF-IDF of abstracts", f"{_PACKAGE}._planetoid:planetoid", 19717, 44324, 500,
         *_PLANETOID, "planetoid/PubMed", ("PubMed",))
)  # fmt: skip
DATASETS.add(
    DatasetInfo(
        "coauthor-cs",
        "co-authorship in computer science, keywords",
        f"{_PACKAGE}._small:coauthor_cs",
        18333,
        81894,
        6805,
        "github.com/EdisonLeeeee/GraphData",
        "MIT",
        "attributed/coauthor_cs.npz",
    )
)
DATASETS.add(
    DatasetInfo(
        "usair",
        "US air lines between airports",
        f"{_PACKAGE}._small:seal",
        332,
        2126,
        0,
        *_SEAL,
        "seal/USAir.mat",
        ("USAir",),
    )
)
DATASETS.add(
    DatasetInfo(
        "celegans",
        "neurons of a worm",
        f"{_PACKAGE}._small:seal",
        297,
        2148,
        0,
        *_SEAL,
        "seal/Celegans.mat",
        ("Celegans",),
    )
)
DATASETS.add(
    DatasetInfo(
        "ns",
        "co-authorship in network science",
        f"{_PACKAGE}._small:seal",
        1589,
        2742,
        0,
        *_SEAL,
        "seal/NS.mat",
        ("NS",),
    )
)
DATASETS.add(
    DatasetInfo(
        "power",
        "power grid of the western US",
        f"{_PACKAGE}._small:seal",
        4941,
        6594,
        0,
        *_SEAL,
        "seal/Power.mat",
        ("Power",),
    )
)
DATASETS.add(
    DatasetInfo(
        "vessel-sample",
        "blood vessels of a piece of brain, coordinates",
        f"{_PACKAGE}._small:vessel_sample",
        2970,
        3035,
        3,
        "github.com/jocpae/VesselGraph",
        "MIT",
        "vessel_sample",
    )
)
DATASETS.add(
    DatasetInfo("ogbl-ddi", "drugs that interact; training links", f"{_PACKAGE}._ogb:ogb_graph", 4267, 1067911, 0,
         "ogb.stanford.edu", "MIT", "ogb/ogbl_ddi", ("ogbl-ddi",), f"{_PACKAGE}._ogb:ogb_split", "hits@20")
)  # fmt: skip
DATASETS.add(
    DatasetInfo(
        "ogbl-collab",
        "co-authorship by year, word embeddings; training links",
        f"{_PACKAGE}._ogb:ogb_graph",
        *COAUTHOR_SIZE,
        128,
        "ogb.stanford.edu",
        "ODC-BY",
        "ogb/ogbl_collab",
        ("ogbl-collab",),
        f"{_PACKAGE}._ogb:ogb_split",
        "hits@50",
    )
)
DATASETS.add(
    DatasetInfo(
        "ogbl-vessel",
        "blood vessels of a mouse brain, coordinates; training links",
        f"{_PACKAGE}._ogb:ogb_graph",
        *VESSEL_SIZE,
        3,
        "ogb.stanford.edu",
        "see ogb.stanford.edu/docs/linkprop",
        "ogb/ogbl_vessel",
        ("ogbl-vessel",),
        f"{_PACKAGE}._ogb:ogb_split",
        "auc",
    )
)
DATASETS.add(
    DatasetInfo(
        "coauthor-like",
        "generated, of ogbl-collab's size and shape",
        f"{_PACKAGE}._generated:load_generated",
        *COAUTHOR_SIZE,
        0,
        "llwlc, seed 0",
        "MIT",
        "",
        ("coauthor-like",),
    )
)
DATASETS.add(
    DatasetInfo(
        "vessel-like",
        "generated, of ogbl-vessel's size and shape",
        f"{_PACKAGE}._generated:load_generated",
        *VESSEL_SIZE,
        3,
        "llwlc, seed 0",
        "MIT",
        "",
        ("vessel-like",),
    )
)


def register(
    name: str,
    *,
    about: str = "",
    nodes: int = 0,
    edges: int = 0,
    features: int = 0,
    origin: str = "",
    licence: str = "",
) -> Callable[[F], F]:
    """Registers a function that returns a `Graph` as a dataset; the function may take the data root as `root`.

    Args:
        name: the name of the dataset for `load` and the command line.
        about: one line for lists; by default the first line of the function's docstring.
        nodes: number of nodes, shown in lists.
        edges: number of undirected edges, shown in lists.
        features: number of columns of `x`, shown in lists.
        origin: where it comes from.
        licence: the licence of the data.

    >>> import torch, llwlc
    >>> @register("triangle", nodes=3, edges=3)
    ... def triangle():
    ...     return llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 0]]))
    >>> load("triangle")
    Graph(num_nodes=3, num_edges=3)
    >>> DATASETS.remove("triangle")
    """

    def decorate(function: F) -> F:
        what = about or first_line(function) or "a user's own dataset"
        DATASETS.add(DatasetInfo(name, what, function, nodes, edges, features, origin, licence))
        return function

    return decorate


def names() -> tuple[str, ...]:
    """The names that `load` knows.

    >>> names()[:3]
    ('cora', 'cora-planetoid', 'citeseer')
    """
    return tuple(DATASETS)


def info(name: str) -> DatasetInfo:
    """What the dataset is, its size, origin and licence.

    Args:
        name: one of `names()`.

    >>> info("cora").licence
    'Apache-2.0'
    """
    return DATASETS[name if name in DATASETS else str(name).lower()]


def load(name: str, *, root: str | Path | None = None) -> Graph:
    """The graph of this name.

    Files come from the data root, which is only read, or else from the cache (`LLWLC_CACHE`, else
    `~/.cache/llwlc/derived`), into which they are fetched where there is a network. An `ogbl-*` graph holds its
    training links alone, as OGB's own does.

    Args:
        name: one of `names()`.
        root: the data root; by default `LLWLC_DATA`, else `~/.cache/llwlc`.

    >>> load("cora")
    Graph(num_nodes=2708, num_edges=5278, x)
    """
    record = info(name)
    function = record.load()
    options: dict[str, Any] = {"root": root} if "root" in inspect.signature(function).parameters else {}
    from llwlc.graph._graph import Origin

    graph: Graph = DATASETS.run(record, *record.arguments, **options)
    split = partial(load_split, record.name, root=root) if record.split else None
    return replace(graph, origin=Origin(record.name, split))


def load_split(
    name: str,
    *,
    root: str | Path | None = None,
    valid_messages: bool = False,
    since: int | None = None,
    repeats: bool = True,
    seed: int = 0,
) -> LinkSplit:
    """The split that comes with an `ogbl-*` dataset. `splits.make(graph, protocol="ogb")` gives the same split for a
    graph that was loaded by name.

    Args:
        name: name of the dataset.
        root: the data root, as in `load`.
        valid_messages: whether validation links carry messages at test time.
        since: the first year whose training links are trained on (ogbl-collab).
        repeats: keep pairs that the dataset lists several times.
        seed: seed of the random training negatives.

    >>> load_split("cora")
    Traceback (most recent call last):
    llwlc.errors.InputError: cora comes without a split: make one with llwlc.splits.make ...
    """
    record = info(name)
    if not record.split:
        having = ", ".join(r.name for r in DATASETS.records() if r.split)
        raise InputError(f"{name} comes without a split: make one with llwlc.splits.make (those with one: {having})")
    options = {"valid_messages": valid_messages, "since": since, "repeats": repeats, "seed": seed}
    split: LinkSplit = resolve(record.split)(record.name, root=root, **options)
    return replace(split, metric=record.metric)
