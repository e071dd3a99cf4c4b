"""HeaRT's published split of a dataset, read from the data root where it is: `heart/NAME/` with `{train,valid,test}_pos.txt` and `heart_{valid,test}_samples.npy`, as its
authors have them. (`{valid,test}_neg.txt`, the easy negatives beside them, are not read.)"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.splits.linksplit import LinkSplit
from llwlc.splits.negatives import NonEdges
from llwlc.support.roots import data_root

NAMES = {"cora-planetoid": "cora"}
NOTE = "HeaRT's published split and negatives"
FILES = ("train_pos.txt", "valid_pos.txt", "test_pos.txt", "heart_valid_samples.npy", "heart_test_samples.npy")


def published(graph: Graph, *, protocol: str, seed: int) -> LinkSplit | None:
    """The published split of the dataset that a graph was loaded as, None where its files are not in the data root; `seed` draws training negatives."""
    name = None if graph.origin is None else graph.origin.name
    if name is None:
        return None
    folder = data_root() / "heart" / NAMES.get(name, name)
    if not any((folder / file).exists() for file in FILES):
        return None
    missing = [file for file in FILES if not (folder / file).exists()]
    if missing:
        raise InputError(f"{folder} lacks {missing[0]}: put all files of HeaRT's split there, or remove the folder")
    train, valid, test = (_pairs(folder / f"{part}_pos.txt", graph) for part in ("train", "valid", "test"))
    train = torch.unique(train, dim=0)
    hard = [
        _samples(folder / f"heart_{part}_samples.npy", len(pos), graph)
        for part, pos in (("valid", valid), ("test", test))
    ]
    message = graph.with_edges(train)
    free = NonEdges(graph.num_nodes, torch.cat([train, valid, test]), None)
    negative = free.sample(min(len(train), len(free)), np.random.default_rng([seed, 0]))
    return LinkSplit(
        protocol, seed, train, negative, valid, hard[0], test, hard[1], message, message, message,
        notes=(NOTE,), metric="mrr",
    )  # fmt: skip


def _pairs(path: Path, graph: Graph) -> Tensor:
    """The links of a file, two node numbers a line, in the order of the file, which is also that of the negatives."""
    try:
        found: Tensor = torch.from_numpy(np.loadtxt(path, dtype=np.int64, ndmin=2))
    except (ValueError, OSError) as error:
        raise InputError(f"{path} is no list of pairs of node numbers ({error})") from error
    if found.ndim != 2 or found.shape[1] != 2:
        raise InputError(f"{path} has {found.shape[-1]} columns, a pair of nodes has two")
    _require_nodes(path, found, graph)
    found = found.sort(1).values
    known = graph.has_edges(found)
    if not bool(known.all()):
        u, v = found[~known][0].tolist()
        raise InputError(
            f"{path} names the link {u} {v}, which the graph does not have: is it of another version of the dataset?"
        )
    return found


def _samples(path: Path, links: int, graph: Graph) -> Tensor:
    """Negatives `[links, k, 2]`, a row for each link."""
    try:
        found = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"{path} cannot be read ({error})") from error
    if found.ndim != 3 or found.shape[0] != links or found.shape[2] != 2 or not np.issubdtype(found.dtype, np.integer):
        raise InputError(f"{path} has shape {found.shape} of {found.dtype}, not {links} rows of pairs of node numbers")
    pairs = torch.from_numpy(found.astype(np.int64))
    _require_nodes(path, pairs, graph)
    return pairs


def _require_nodes(path: Path, pairs: Tensor, graph: Graph) -> None:
    if pairs.numel() and not 0 <= int(pairs.min()) <= int(pairs.max()) < graph.num_nodes:
        raise InputError(f"{path} names nodes outside 0 to {graph.num_nodes - 1}: is it of another dataset?")
