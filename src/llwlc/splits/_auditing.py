"""The audit of a split: it finds pairs that leak from one part or stage into another, or shows that there are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.splits._linksplit import PARTS, STAGES, LinkSplit
from llwlc.splits._negatives import numbered_pair, pair_number


@dataclass(frozen=True)
class Finding:
    """One kind of overlap: its name, the number of pairs (for repeated pairs, of surplus rows), and a few of them."""

    name: str
    count: int
    examples: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        shown = ", ".join(f"{u}–{v}" for u, v in self.examples)
        return f"{self.name}: {self.count} (such as {shown})" if shown else f"{self.name}: {self.count}"


@dataclass(frozen=True)
class Audit:
    """What an audit found: `sizes` of the parts, `findings` are faults, `allowed` is what the protocol or the dataset
    does by design, with its count.

    >>> Audit({"train_pos": 17}, findings=(), allowed=()).ok
    True
    """

    sizes: Mapping[str, int]
    findings: tuple[Finding, ...]
    allowed: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether no fault was found."""
        return not self.findings

    def __str__(self) -> str:
        head = "no leak found" if self.ok else f"{len(self.findings)} kinds of fault"
        lines = [f"audit: {head}", "  " + ", ".join(f"{name} {size}" for name, size in self.sizes.items())]
        lines += [f"  FAULT {finding}" for finding in self.findings]
        lines += [f"  by design: {finding.name}: {finding.count}" for finding in self.allowed]
        return "\n".join(lines)


def audit(split: LinkSplit, graph: Graph | None = None) -> Audit:
    """Check a split against itself and, where there is one, against the whole graph.

    A fault is: a pair in two parts, in either direction; a pair twice in one part (of hard negatives, twice for one
    positive); a negative that is a link; a node paired with itself; a stage's messages holding a pair that is predicted
    at that stage or later; a positive or a message that is not a link of the graph. Training links carry messages by
    design, since each is removed from its own subgraph, and so do validation links at test time under some protocols:
    both are listed as allowed, with what `split.repeated` allows.

    Args:
        split: the split to check.
        graph: the whole graph that the split was made from, or None.

    >>> from llwlc.splits import make
    >>> ring = Graph.from_edges(torch.stack([torch.arange(20), torch.arange(1, 21) % 20], 1))
    >>> print(audit(make(ring, protocol="paper"), ring))
    audit: no leak found
      train_pos 17, train_neg 17, valid_pos 1, valid_neg 1, test_pos 2, test_neg 2
      by design: train_graph holds train_pos: 17
      by design: valid_graph holds train_pos: 17
      by design: test_graph holds train_pos: 17
      by design: test_graph holds valid_pos: 1
    """
    parts = {name: getattr(split, name) for name in PARTS}
    if split.known_neg is not None:  # an epoch draws some of those of training; none may be in another part
        number, n = pair_number(split.known_train_neg, split.train_graph.num_nodes), split.train_graph.num_nodes
        others = split.known_train_neg[~torch.isin(number, pair_number(split.train_neg, n))]
        parts["train_neg"] = torch.cat([split.train_neg, others])
    stages = {name: getattr(split, name) for name in STAGES}
    return audit_parts(parts, stages, num_nodes=split.train_graph.num_nodes, graph=graph, repeated=split.repeated)


def audit_parts(
    parts: Mapping[str, Tensor],
    stages: Mapping[str, Graph] | None = None,
    *,
    num_nodes: int,
    graph: Graph | None = None,
    repeated: Mapping[str, int] | None = None,
) -> Audit:
    """`audit` for plain tensors.

    Args:
        parts: any of the six parts `[m, 2]` by name: `train_pos`, `train_neg`, `valid_pos`, and so on.
        stages: any of the three message graphs by name: `train_graph`, `valid_graph`, `test_graph`.
        num_nodes: number of nodes of the graph.
        graph: the whole graph, or None.
        repeated: what is repeated by design, with its count.

    >>> print(audit_parts({"train_pos": torch.tensor([[0, 1]]), "test_pos": torch.tensor([[1, 0]])}, num_nodes=2))
    audit: 1 kinds of fault
      train_pos 1, test_pos 1
      FAULT train_pos & test_pos: 1 (such as 0–1)
    """
    stages, allow = stages or {}, repeated or {}
    for name in (*parts, *stages):
        if name not in PARTS + STAGES:
            raise InputError(f"unknown part {name!r}: the parts are {', '.join(PARTS)}; the stages {', '.join(STAGES)}")
    for name, pairs in parts.items():
        _require_pairs(name, pairs, num_nodes)
    for name, other in (*stages.items(), *([("graph", graph)] if graph is not None else [])):
        if other.num_nodes != num_nodes:
            raise InputError(f"{name} has {other.num_nodes} nodes, the split {num_nodes}: they do not belong together")
    keys = {name: torch.unique(_numbers(pairs, num_nodes)) for name, pairs in parts.items()}
    messages = {name: pair_number(stage.edges, num_nodes) for name, stage in stages.items()}
    whole = torch.cat([*(keys[p] for p in keys if p.endswith("pos")), *messages.values()])
    if graph is not None:
        whole = torch.cat([whole, pair_number(graph.edges, num_nodes)])

    faults: list[Finding] = []
    allowed: list[Finding] = []
    for name, overlap, surplus in (
        *_inside(parts, num_nodes),
        *_between(keys, whole),
        *_messages(keys, messages),
        *_unknown(keys, messages, graph),
    ):
        count = len(overlap) if surplus is None else surplus
        if not count:
            continue
        examples = overlap[:3] if name.endswith("with itself") else numbered_pair(overlap[:3], num_nodes)
        finding = Finding(name, count, tuple((u, v) for u, v in examples.tolist()))
        by_design = name in BY_DESIGN or count <= allow.get(name, 0)
        (allowed if by_design else faults).append(finding)
    sizes = {name: pairs.shape[:-1].numel() for name, pairs in parts.items()}
    return Audit(sizes, tuple(faults), tuple(allowed))


# a training link carries messages because extraction removes it from its own subgraph
BY_DESIGN = (*(f"{stage} holds train_pos" for stage in STAGES), "test_graph holds valid_pos")

Check = tuple[str, Tensor, int | None]


def _inside(parts: Mapping[str, Tensor], num_nodes: int) -> Iterator[Check]:
    """Repeats and self-pairs inside one part."""
    for name, pairs in parts.items():
        flat = pairs.reshape(-1, 2)
        yield f"{name} pairs a node with itself", flat[flat[:, 0] == flat[:, 1]], None
        if pairs.ndim == 3:
            # hard negatives: one pair may serve two positives, but not one positive twice
            ordered = pair_number(pairs, num_nodes).sort(1).values
            twice = ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]]
            yield f"{name} repeated", torch.unique(twice), len(twice)
        else:
            key, count = torch.unique(_numbers(pairs, num_nodes), return_counts=True)
            yield f"{name} repeated", key[count > 1], int((count - 1).sum())


def _between(keys: Mapping[str, Tensor], whole: Tensor) -> Iterator[Check]:
    """Pairs in two parts, and negatives that are links."""
    for one, two in combinations(keys, 2):
        yield f"{one} & {two}", keys[one][torch.isin(keys[one], keys[two])], None
    for name, key in keys.items():
        if name.endswith("neg"):
            yield f"{name} are links", key[torch.isin(key, whole)], None


def _messages(keys: Mapping[str, Tensor], messages: Mapping[str, Tensor]) -> Iterator[Check]:
    """Positives that a stage's messages hold."""
    for stage, links in messages.items():
        for name in ("train_pos", "valid_pos", "test_pos"):
            if name in keys:
                yield f"{stage} holds {name}", keys[name][torch.isin(keys[name], links)], None


def _unknown(keys: Mapping[str, Tensor], messages: Mapping[str, Tensor], graph: Graph | None) -> Iterator[Check]:
    """Positives and messages that are not links of the graph."""
    if graph is None:
        return
    links = pair_number(graph.edges, graph.num_nodes)
    for name, key in (*keys.items(), *messages.items()):
        if not name.endswith("neg"):
            yield f"{name} not in the graph", key[~torch.isin(key, links)], None


def _numbers(pairs: Tensor, num_nodes: int) -> Tensor:
    flat = pairs.reshape(-1, 2)
    return pair_number(flat[flat[:, 0] != flat[:, 1]], num_nodes)


def _require_pairs(name: str, pairs: Tensor, num_nodes: int) -> None:
    if pairs.ndim not in (2, 3) or pairs.shape[-1] != 2 or pairs.is_floating_point():
        raise InputError(f"{name} must be integer pairs [m, 2] or [m, k, 2], got {tuple(pairs.shape)} of {pairs.dtype}")
    if pairs.numel() and (int(pairs.min()) < 0 or int(pairs.max()) >= num_nodes):
        raise InputError(
            f"{name} names node {int(pairs.max())} (or a negative one), but there are {num_nodes} nodes: 0 to"
            f" {num_nodes - 1}"
        )


def from_pyg(train: Any, val: Any, test: Any) -> LinkSplit:
    """The three `Data` objects of PyG's `RandomLinkSplit` as a `LinkSplit`, so that they can be audited and used here.

    Args:
        train: the training part.
        val: the validation part.
        test: the test part.

    >>> from torch_geometric.transforms import RandomLinkSplit
    >>> ring = Graph.from_edges(torch.stack([torch.arange(20), torch.arange(1, 21) % 20], 1))
    >>> parts = RandomLinkSplit(is_undirected=True)(ring.to_pyg())
    >>> from_pyg(*parts).test_pos.shape
    torch.Size([4, 2])
    """
    parts: dict[str, Tensor] = {}
    stages = {}
    for name, data in (("train", train), ("valid", val), ("test", test)):
        if "pos_edge_label_index" in data:
            positive = data.pos_edge_label_index.t()
            negative = data.neg_edge_label_index.t() if "neg_edge_label_index" in data else positive[:0]
        elif "edge_label_index" in data:
            pairs, label = data.edge_label_index.t(), data.edge_label
            positive, negative = pairs[label > 0], pairs[label == 0]
        else:
            raise InputError(f"the {name} part has no edge_label_index: give the Data objects of RandomLinkSplit")
        parts[f"{name}_pos"], parts[f"{name}_neg"] = positive.contiguous(), negative.contiguous()
        features = data.x if "x" in data else None
        stages[name] = Graph.from_edges(data.edge_index.t(), num_nodes=data.num_nodes, x=features)
    return LinkSplit(
        "pyg",
        0,
        parts["train_pos"],
        parts["train_neg"],
        parts["valid_pos"],
        parts["valid_neg"],
        parts["test_pos"],
        parts["test_neg"],
        stages["train"],
        stages["valid"],
        stages["test"],
        notes=("from PyG Data objects",),
    )
