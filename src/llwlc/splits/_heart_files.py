"""HeaRT's published split of a dataset, read from the data root where it is: `heart/NAME/` with
`{train,valid,test}_pos.txt` and `heart_{valid,test}_samples.npy`, as its authors have them. (`{valid,test}_neg.txt`,
the easy negatives beside them, are not read.)"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from llwlc._support.roots import data_root
from llwlc.errors import DatasetError
from llwlc.graph._graph import Graph
from llwlc.splits._auditing import audit
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._negatives import NonEdges

NAMES = {"cora-planetoid": "cora"}
NOTE = "HeaRT's published split and negatives"
FILES = ("train_pos.txt", "valid_pos.txt", "test_pos.txt", "heart_valid_samples.npy", "heart_test_samples.npy")


def load_published_split(graph: Graph, *, protocol: str, seed: int) -> LinkSplit | None:
    """The published split of the dataset that a graph was loaded as, None where its files are not in the data root;
    `seed` draws training negatives.
    """
    name = None if graph.origin is None else graph.origin.name
    if name is None:
        return None
    folder = data_root() / "heart" / NAMES.get(name, name)
    if not any((folder / file).exists() for file in FILES):
        return None
    missing = [file for file in FILES if not (folder / file).exists()]
    if missing:
        raise DatasetError(f"{folder} lacks {missing[0]}: put all files of HeaRT's split there, or remove the folder")
    notes = [NOTE]
    parts: list[Tensor] = []
    hard: list[Tensor] = []
    for part in ("train", "valid", "test"):
        path = folder / f"{part}_pos.txt"
        pairs = _pairs(path, graph)
        proper = pairs[:, 0] != pairs[:, 1]
        if not bool(proper.all()):
            beside = "" if part == "train" else ", with their negatives"
            notes.append(f"{int((~proper).sum())} self-loops of {path.name} dropped{beside}: a link joins two nodes")
        if part != "train":
            hard.append(_samples(folder / f"heart_{part}_samples.npy", len(pairs), graph)[proper])
        parts.append(_known(path, pairs[proper], graph))
    train, valid, test = torch.unique(parts[0], dim=0), *parts[1:]
    message = graph.with_edges(train)
    free = NonEdges(graph.num_nodes, torch.cat([train, valid, test]), None)
    negative = free.sample(min(len(train), len(free)), np.random.default_rng([seed, 0]))
    split = LinkSplit(
        protocol, seed, train, negative, valid, hard[0], test, hard[1], message, message, message, metric="mrr",
    )  # fmt: skip
    # HeaRT's script fills short lists with random partners, which may repeat
    repeated = {f.name: f.count for f in audit(split).findings if f.name in ("valid_neg repeated", "test_neg repeated")}
    notes += [f"{name}, as published: {count}" for name, count in repeated.items()]
    return replace(split, repeated=repeated, notes=tuple(notes))


def _pairs(path: Path, graph: Graph) -> Tensor:
    """The pairs of a file, two node numbers per line, in the order of the file, which is also that of the negatives."""
    try:
        pairs: Tensor = torch.from_numpy(np.loadtxt(path, dtype=np.int64, ndmin=2))
    except (ValueError, OSError) as error:
        raise DatasetError(f"{path} is not a list of pairs of node numbers ({error})") from error
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise DatasetError(f"{path} has {pairs.shape[-1]} columns, a pair of nodes has two")
    _require_nodes(path, pairs, graph)
    return pairs.sort(1).values


def _known(path: Path, pairs: Tensor, graph: Graph) -> Tensor:
    """The pairs, which must be links of the graph."""
    is_link = graph.has_edges(pairs)
    if not bool(is_link.all()):
        u, v = pairs[~is_link][0].tolist()
        raise DatasetError(
            f"{path} names the link {u} {v}, which the graph does not have: is it of another version of the dataset?"
        )
    return pairs


def _samples(path: Path, links: int, graph: Graph) -> Tensor:
    """Negatives `[links, k, 2]`, a row for each link."""
    try:
        samples = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise DatasetError(f"{path} cannot be read ({error})") from error
    if (
        samples.ndim != 3
        or samples.shape[0] != links
        or samples.shape[2] != 2
        or not np.issubdtype(samples.dtype, np.integer)
    ):
        raise DatasetError(
            f"{path} has shape {samples.shape} of {samples.dtype}, not {links} rows of pairs of node numbers"
        )
    pairs = torch.from_numpy(samples.astype(np.int64))
    _require_nodes(path, pairs, graph)
    return pairs


def _require_nodes(path: Path, pairs: Tensor, graph: Graph) -> None:
    if pairs.numel() and not 0 <= int(pairs.min()) <= int(pairs.max()) < graph.num_nodes:
        raise DatasetError(f"{path} names nodes outside 0 to {graph.num_nodes - 1}: is it of another dataset?")
