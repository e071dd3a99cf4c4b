"""The link-prediction graphs of the Open Graph Benchmark, from its own files on disk, with the splits they come with.

Read here without the `ogb` package, whose `torch.load` fails on current torch (ogb#508): the split files are pickles of
numpy arrays, and torch reads those safely once it is told that numpy arrays are wanted. `ogb` serves only to download.
"""

from __future__ import annotations

import _codecs
import csv
import shutil
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.csv
import torch
from torch import Tensor

from llwlc._support.roots import locate
from llwlc._support.text import describe_error
from llwlc.datasets._small import normalise_coordinates
from llwlc.errors import DatasetError, InputError, MissingDependencyError
from llwlc.graph._graph import Graph
from llwlc.splits._auditing import audit_parts
from llwlc.splits._linksplit import STAGES, LinkSplit
from llwlc.splits._making import fresh_negatives

# name: folder of its split
SPLITS = {"ogbl-ddi": "target", "ogbl-collab": "time", "ogbl-vessel": "spatial"}
_RECONSTRUCT = np.empty(0).__reduce__()[0]
SAFE_GLOBALS: list[Any] = [
    # one function, under its names before and since numpy 2
    (_RECONSTRUCT, "numpy.core.multiarray._reconstruct"),
    (_RECONSTRUCT, "numpy._core.multiarray._reconstruct"),
    np.ndarray,
    np.dtype,
    *(type(np.dtype(kind)) for kind in ("int64", "int32", "float64", "float32")),
    _codecs.encode,
]


@dataclass(frozen=True)
class LinkTable:
    """A list of links as in the file, with its repeated pairs: `pairs [m, 2]`, `weight [m]` and `year [m]` where the
    file has them.
    """

    pairs: Tensor
    weight: Tensor | None = None
    year: Tensor | None = None

    def graph(self, like: Graph) -> Graph:
        return Graph.from_edges(
            self.pairs, num_nodes=like.num_nodes, weight=self.weight, time=self.year, x=like.x, names=like.names
        )

    def where(self, keep: Tensor) -> LinkTable:
        return LinkTable(self.pairs[keep], *(None if v is None else v[keep] for v in (self.weight, self.year)))

    def __add__(self, other: LinkTable) -> LinkTable:
        """The concatenation of both lists."""
        weights, years = (self.weight, other.weight), (self.year, other.year)
        return LinkTable(
            torch.cat([self.pairs, other.pairs]),
            None if weights[0] is None or weights[1] is None else torch.cat([weights[0], weights[1]]),
            None if years[0] is None or years[1] is None else torch.cat([years[0], years[1]]),
        )


def ogb_graph(name: str, *, root: str | Path | None = None) -> Graph:
    """The graph as OGB gives it out: the training links only; repeated pairs merged, weights summed, the latest year
    kept.
    """
    graph, links = _raw(name, _folder(name, root))
    return links.graph(graph)


def ogb_split(
    name: str,
    *,
    root: str | Path | None = None,
    valid_messages: bool = False,
    since: int | None = None,
    repeats: bool = True,
    seed: int = 0,
) -> LinkSplit:
    """The split that OGB fixed, with its own negatives (training negatives are drawn by `seed` where it has none).

    `valid_messages`: validation links carry messages at test time, which ogbl-collab's rules allow. `since`: training
    links of earlier years are left out, of the positives and of the messages (2007 and 2010 are usual on ogbl-collab).
    `repeats`: a pair that the files list several times (once a year on ogbl-collab) stays so in every part, as in OGB's
    own evaluation, and `LinkSplit.repeated` counts it; `False` keeps each training pair once and leaves validation and
    test as they are.
    """
    folder = _folder(name, root)
    graph, raw = _raw(name, folder)
    parts = _read_split(folder / "split" / SPLITS[name])
    train = _links(parts["train"], graph) if "train" in parts else raw
    valid, test = _links(parts["valid"], graph), _links(parts["test"], graph)
    notes = [f"{name}: {SPLITS[name]} split of OGB"]
    if since is not None:
        if train.year is None:
            raise InputError(f"{name} has no years: leave since= out (ogbl-collab has them)")
        train = train.where(train.year >= since)
        if not len(train.pairs):
            raise InputError(f"{name} has no training link since {since}: choose an earlier year")
        notes.append(f"training links since {since}")
    messages = train.graph(graph)
    train_pos = train.pairs if repeats else messages.edges
    if valid_messages:
        notes.append("validation links carry messages at test time")
    split = LinkSplit(
        "ogb",
        seed,
        train_pos=train_pos,
        train_neg=torch.empty(0, 2, dtype=torch.long),
        valid_pos=valid.pairs,
        valid_neg=_pairs(parts["valid"]["edge_neg"], graph),
        test_pos=test.pairs,
        test_neg=_pairs(parts["test"]["edge_neg"], graph),
        train_graph=messages,
        valid_graph=messages,
        test_graph=(train + valid).graph(graph) if valid_messages else messages,
        notes=tuple(notes),
    )
    if train.year is not None:
        split = replace(split, repeated=_by_design(split))
    own = parts.get("train", {}).get("edge_neg")
    return replace(split, train_neg=fresh_negatives(split, epoch=0) if own is None else _pairs(own, graph))


def _by_design(split: LinkSplit) -> dict[str, int]:
    """What an audit finds among the links and messages alone, with counts: on ogbl-collab a pair that publishes again
    occurs again, in the same part or a later one.
    """
    links = {name: getattr(split, name) for name in ("train_pos", "valid_pos", "test_pos")}
    stages = {name: getattr(split, name) for name in STAGES}
    findings = audit_parts(links, stages, num_nodes=split.train_graph.num_nodes).findings
    return {finding.name: finding.count for finding in findings if not finding.name.endswith("itself")}


def _folder(name: str, root: str | Path | None) -> Path:
    need = ["raw/data.npz"] if name == "ogbl-vessel" else ["raw/edge.csv.gz", "raw/num-node-list.csv.gz"]
    return locate(name, f"ogb/{name.replace('-', '_')}", need, root=root, fetch=lambda target: _fetch(name, target))


def _fetch(name: str, target: Path) -> None:
    try:
        from ogb.utils.url import download_url, extract_zip
    except ImportError as error:
        raise MissingDependencyError(
            f"{name} is not in the data root, and downloading it needs ogb: pip install 'llwlc[ogb]', or point"
            " LLWLC_DATA or root= at a folder that has it",
            name="ogb",
        ) from error
    with (files("ogb") / "linkproppred" / "master.csv").open(encoding="utf-8") as file:
        master = {row[""]: row[name] for row in csv.DictReader(file)}
    archive = Path(download_url(master["url"], str(target)))
    extract_zip(str(archive), str(target))
    archive.unlink()
    unpacked = target / master["download_name"]
    for path in unpacked.iterdir():
        shutil.move(path, target / path.name)
    unpacked.rmdir()


def _raw(name: str, folder: Path) -> tuple[Graph, LinkTable]:
    """The nodes, as a graph without edges, and the links of `raw/`."""
    return _binary(folder / "raw" / "data.npz") if name == "ogbl-vessel" else _text(folder / "raw")


def _binary(path: Path) -> tuple[Graph, LinkTable]:
    """OGB's newer form: one npz; ogbl-vessel lists both directions of a training link in it."""
    try:
        with np.load(path) as file:
            pairs, position = torch.from_numpy(file["edge_index"].T.copy()), torch.from_numpy(file["node_feat"])
    except Exception as error:
        raise DatasetError(f"{path} cannot be read ({describe_error(error)}): fetch the dataset again") from error
    nodes = _nodes(len(position), normalise_coordinates(position))
    return nodes, LinkTable(_pairs(pairs, nodes))


def _text(folder: Path) -> tuple[Graph, LinkTable]:
    """OGB's first form: CSV files without headers."""
    optional = [
        column for column in ("node-feat", "edge_weight", "edge_year") if (folder / f"{column}.csv.gz").exists()
    ]
    extra = {column: torch.from_numpy(_csv(folder / f"{column}.csv.gz")) for column in optional}
    n = int(_csv(folder / "num-node-list.csv.gz")[0, 0])
    x = extra["node-feat"].float() if "node-feat" in extra else None
    if x is not None and len(x) != n:
        raise DatasetError(f"{folder}/node-feat.csv.gz has {len(x)} rows for {n} nodes: fetch the dataset again")
    rows = {key[5:]: value for key, value in extra.items() if key.startswith("edge_")}
    nodes = _nodes(n, x)
    return nodes, _links({"edge": _csv(folder / "edge.csv.gz"), **rows}, nodes)


def _nodes(n: int, x: Tensor | None) -> Graph:
    return Graph.from_edges(torch.empty(0, 2, dtype=torch.long), num_nodes=n, x=x)


def _csv(path: Path) -> np.ndarray:
    """A CSV file without a header, all of one type, `[rows, columns]`."""
    try:
        table = pyarrow.csv.read_csv(path, read_options=pyarrow.csv.ReadOptions(autogenerate_column_names=True))
        return np.stack([column.to_numpy() for column in table.columns], 1)
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise DatasetError(f"{path} cannot be read ({describe_error(error)}): fetch it again") from error


def _read_split(folder: Path) -> dict[str, dict[str, Any]]:
    """`split_dict.pt`, or one file per part; ogbl-ddi in the data root has no `train.pt`: its links are those of
    `raw/`.
    """
    if (folder / "split_dict.pt").exists():
        return _torch(folder / "split_dict.pt")
    paths = {part: folder / f"{part}.pt" for part in ("train", "valid", "test") if (folder / f"{part}.pt").exists()}
    if not {"valid", "test"} <= set(paths):
        raise DatasetError(f"{folder} has neither split_dict.pt nor valid.pt and test.pt: fetch the dataset again")
    return {part: _torch(path) for part, path in paths.items()}


def _torch(path: Path) -> dict[str, Any]:
    try:
        with torch.serialization.safe_globals(SAFE_GLOBALS):
            content: dict[str, Any] = torch.load(path, weights_only=True)
            return content
    except Exception as error:
        raise DatasetError(
            f"{path} is not a split file of OGB ({describe_error(error)}): fetch the dataset again"
        ) from error


def _links(part: dict[str, Any], graph: Graph) -> LinkTable:
    """`edge` with `weight` and `year` where there are any."""
    weight, year = (torch.as_tensor(part[key]).view(-1) if key in part else None for key in ("weight", "year"))
    pairs = _pairs(part["edge"], graph)
    if any(values is not None and len(values) != len(pairs) for values in (weight, year)):
        raise DatasetError(
            f"an OGB file has {len(pairs)} links, but not as many weights or years: fetch the dataset again"
        )
    return LinkTable(pairs, None if weight is None else weight.float(), None if year is None else year.long())


def _pairs(pairs: Any, graph: Graph) -> Tensor:
    links = torch.as_tensor(pairs).long()
    if links.ndim != 2 or links.shape[1] != 2:
        raise DatasetError(f"an OGB file has links of shape {tuple(links.shape)}, not [m, 2]: fetch the dataset again")
    if len(links) and not 0 <= int(links.min()) <= int(links.max()) < graph.num_nodes:
        raise DatasetError(
            f"an OGB file names nodes {int(links.min())} to {int(links.max())}, but there are {graph.num_nodes}: "
            "fetch the dataset again"
        )
    return links
