"""The attributes of links among the arrays of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from llwlc._runs.format import GRAPH
from llwlc.errors import RunFolderError
from llwlc.graph._link_attributes import LinkAttributes


def attribute_tensors(attributes: LinkAttributes | None) -> dict[str, Tensor]:
    """The arrays by their names in the file."""
    if attributes is None:
        return {}
    names = torch.frombuffer(bytearray(json.dumps(attributes.names).encode()), dtype=torch.uint8)
    return {"attributes.pairs": attributes.pairs, "attributes.values": attributes.values, "attributes.names": names}


def read_attribute_tensors(folder: Path, stored: Mapping[str, Tensor]) -> LinkAttributes | None:
    """What `attribute_tensors` wrote, after a check that every link of the graph has finite attributes."""
    if "attributes.names" not in stored:
        return None
    names = json.loads(bytes(stored["attributes.names"].tolist()))
    pairs, values, n = stored["attributes.pairs"], stored["attributes.values"], len(stored["indptr"]) - 1
    texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    fits = texts and values.dtype == torch.float32 and values.shape == (len(pairs), len(names))
    if not fits or not _are_links(pairs, n) or not bool(values.isfinite().all()):
        raise RunFolderError(f"{folder}/{GRAPH}: its link attributes cannot be right: copy it again, or fit again")
    found = LinkAttributes(tuple(names), pairs, values)
    found.of_entries(stored["indptr"], stored["indices"])  # refuses a graph with other links
    return found


def _are_links(pairs: Tensor, n: int) -> bool:
    """Whether pairs are links between `n` nodes, smaller node first, sorted."""
    if pairs.dtype != torch.int64 or pairs.ndim != 2 or pairs.shape[1] != 2:
        return False
    number = pairs[:, 0] * n + pairs[:, 1]
    inside = not len(pairs) or (int(pairs.min()) >= 0 and int(pairs.max()) < n)
    return bool(inside and (pairs[:, 0] < pairs[:, 1]).all() and (number.diff() > 0).all())
