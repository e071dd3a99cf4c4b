"""Every named graph: what it is, where it comes from, how it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from llwlc.datasets.embedded import cora
from llwlc.datasets.generated import COAUTHOR, VESSEL, generate
from llwlc.datasets.ogb import SPLITS, ogb_graph, ogb_split
from llwlc.datasets.planetoid import planetoid
from llwlc.datasets.small import coauthor_cs, seal, vessel_sample
from llwlc.errors import InputError
from llwlc.graph import Graph
from llwlc.linksplit import LinkSplit


@dataclass(frozen=True)
class Info:
    """What a dataset is and where its files lie in the data root.

    `nodes`, `edges` and `features` are those of the graph that `load` returns; of ogbl-collab and ogbl-vessel, `edges` is the
    number OGB publishes, over all parts of the split and with repeated pairs.
    """

    name: str
    what: str
    nodes: int
    edges: int
    features: int
    origin: str
    licence: str
    files: str = ""


PLANETOID = ("github.com/kimiyoung/planetoid", "MIT")
SEAL = ("github.com/muhanzhang/SEAL", "MIT")
_INFOS = (
    Info("cora", "citations, words of papers", 2708, 5278, 1433, "PyPI graphdatascience 2.2, see NOTICE", "Apache-2.0"),
    Info("cora-planetoid", "the same in PyG's numbering", 2708, 5278, 1433, *PLANETOID, "planetoid/Cora"),
    Info("citeseer", "citations, words of papers", 3327, 4552, 3703, *PLANETOID, "planetoid/CiteSeer"),
    Info("pubmed", "citations, TF-IDF of abstracts", 19717, 44324, 500, *PLANETOID, "planetoid/PubMed"),
    Info(
        "coauthor-cs",
        "co-authorship in computer science, keywords",
        18333,
        81894,
        6805,
        "github.com/EdisonLeeeee/GraphData",
        "MIT",
        "attributed/coauthor_cs.npz",
    ),
    Info("usair", "US air lines between airports", 332, 2126, 0, *SEAL, "seal/USAir.mat"),
    Info("celegans", "neurons of a worm", 297, 2148, 0, *SEAL, "seal/Celegans.mat"),
    Info("ns", "co-authorship in network science", 1589, 2742, 0, *SEAL, "seal/NS.mat"),
    Info("power", "power grid of the western US", 4941, 6594, 0, *SEAL, "seal/Power.mat"),
    Info(
        "vessel-sample",
        "blood vessels of a piece of brain, coordinates",
        2970,
        3035,
        3,
        "github.com/jocpae/VesselGraph",
        "MIT",
        "vessel_sample",
    ),
    Info(
        "ogbl-ddi", "drugs that interact; training links", 4267, 1067911, 0, "ogb.stanford.edu", "MIT", "ogb/ogbl_ddi"
    ),
    Info(
        "ogbl-collab",
        "co-authorship by year, word embeddings; training links",
        *COAUTHOR,
        128,
        "ogb.stanford.edu",
        "ODC-BY",
        "ogb/ogbl_collab",
    ),
    Info(
        "ogbl-vessel",
        "blood vessels of a mouse brain, coordinates; training links",
        *VESSEL,
        3,
        "ogb.stanford.edu",
        "see ogb.stanford.edu/docs/linkprop",
        "ogb/ogbl_vessel",
    ),
    Info("coauthor-like", "generated, of ogbl-collab's size and shape", *COAUTHOR, 0, "llwlc, seed 0", "MIT"),
    Info("vessel-like", "generated, of ogbl-vessel's size and shape", *VESSEL, 3, "llwlc, seed 0", "MIT"),
)
INFOS = {entry.name: entry for entry in _INFOS}

# each loader takes the data root
LOADERS: dict[str, Callable[[str | Path | None], Graph]] = {
    "cora": lambda root: cora(),
    "cora-planetoid": lambda root: planetoid("Cora", root=root),
    "citeseer": lambda root: planetoid("CiteSeer", root=root),
    "pubmed": lambda root: planetoid("PubMed", root=root),
    "coauthor-cs": lambda root: coauthor_cs(root=root),
    "usair": lambda root: seal("USAir", root=root),
    "celegans": lambda root: seal("Celegans", root=root),
    "ns": lambda root: seal("NS", root=root),
    "power": lambda root: seal("Power", root=root),
    "vessel-sample": lambda root: vessel_sample(root=root),
    "ogbl-ddi": lambda root: ogb_graph("ogbl-ddi", root=root),
    "ogbl-collab": lambda root: ogb_graph("ogbl-collab", root=root),
    "ogbl-vessel": lambda root: ogb_graph("ogbl-vessel", root=root),
    "coauthor-like": lambda root: generate("coauthor-like"),
    "vessel-like": lambda root: generate("vessel-like"),
}


def names() -> tuple[str, ...]:
    """The names that `load` knows."""
    return tuple(LOADERS)


def info(name: str) -> Info:
    """What the dataset is, its size, origin and licence.

    >>> info("cora").licence
    'Apache-2.0'
    """
    return INFOS[_known(name)]


def load(name: str, *, root: str | Path | None = None) -> Graph:
    """The graph of this name.

    Files come from the data root (`root`, else `LLWLC_DATA`, else `~/.cache/llwlc`), which is only read, or else from the cache
    (`LLWLC_CACHE`, else `~/.cache/llwlc/derived`), into which they are fetched where there is a network. An `ogbl-*` graph holds
    its training links alone, as OGB's own does.

    >>> load("cora")
    Graph(num_nodes=2708, num_edges=5278, x)
    """
    return LOADERS[_known(name)](root)


def load_split(
    name: str,
    *,
    root: str | Path | None = None,
    valid_messages: bool = False,
    since: int | None = None,
    repeats: bool = True,
) -> LinkSplit:
    """The split that comes with an `ogbl-*` dataset; see `llwlc.datasets.ogb.ogb_split` for the options."""
    if _known(name) not in SPLITS:
        raise InputError(
            f"{name} comes without a split: make one with llwlc.splits.make (those with one: {', '.join(SPLITS)})"
        )
    return ogb_split(name.lower(), root=root, valid_messages=valid_messages, since=since, repeats=repeats)


def _known(name: str) -> str:
    if name.lower() not in LOADERS:
        raise InputError(f"no dataset is called {name!r}; there are {', '.join(LOADERS)}")
    return name.lower()
