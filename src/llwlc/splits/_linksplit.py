"""LinkSplit: the links and negatives of training, validation and test, and the graph each stage may see."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from llwlc._support.files import write_tensors
from llwlc._support.text import describe_error
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.splits._negatives import pair_number

PARTS = ("train_pos", "train_neg", "valid_pos", "valid_neg", "test_pos", "test_neg")
STAGES = ("train_graph", "valid_graph", "test_graph")


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """The links and negatives of each part, and the graph that carries messages at each stage.

    Node ids are those of the whole graph under every protocol, `buddy`'s largest component included; `nodes` are then
    the component's nodes, inside which negatives are drawn, or None for all. `protocol` and `seed` say how it was made,
    `notes` what a reader should know. `train_graph`, `valid_graph` and `test_graph` carry messages at each stage.

    Shapes: every part, `train_pos`, `train_neg`, `valid_pos`, `valid_neg`, `test_pos` and `test_neg`, is `[m, 2]`
    int64; `valid_neg` and `test_neg` of `heart` are `[m, 500, 2]`, 500 negatives for each positive. `repeated` names
    what a dataset or a recipe repeats by design, with its count, so that an audit lists it as allowed. `metric` is the
    number that the protocol, or the dataset's own evaluator, compares methods by: `hits@K`, `mrr` or `auc`.
    `known_neg [k, 2]`: pairs that are known to be no links, each in one part, or None (`with_known_negatives`).

    >>> import torch, llwlc
    >>> ring = Graph.from_edges(torch.stack([torch.arange(20), torch.arange(1, 21) % 20], 1))
    >>> split = llwlc.splits.make(ring, protocol="seal")
    >>> split.test_pos.shape, split.train_graph.num_edges
    (torch.Size([2, 2]), 17)
    """

    protocol: str
    seed: int
    train_pos: Tensor
    train_neg: Tensor
    valid_pos: Tensor
    valid_neg: Tensor
    test_pos: Tensor
    test_neg: Tensor
    train_graph: Graph
    valid_graph: Graph
    test_graph: Graph
    nodes: Tensor | None = None
    repeated: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    metric: str = "hits@100"
    known_neg: Tensor | None = None

    @property
    def known_train_neg(self) -> Tensor:
        """The known non-links that are trained on, `[k, 2]`: those that neither validation nor test asks about."""
        if self.known_neg is None:
            return self.train_neg[:0]
        n = self.train_graph.num_nodes
        held_out = torch.cat([self.valid_neg.reshape(-1, 2), self.test_neg.reshape(-1, 2)])
        return self.known_neg[~torch.isin(pair_number(self.known_neg, n), pair_number(held_out, n))]

    def save(self, path: str | Path) -> None:
        """Writes one safetensors file: the parts and the links that carry messages; features and names stay with the
        graph.

        Args:
            path: the file to write.
        """
        tensors = {name: getattr(self, name).contiguous() for name in PARTS}
        for name in ("nodes", "known_neg"):
            if getattr(self, name) is not None:
                tensors[name] = getattr(self, name).contiguous()
        shared: dict[str, str] = {}
        for stage in STAGES:
            graph: Graph = getattr(self, stage)
            # stages often share one graph, which is written once
            first = next(other for other in STAGES if getattr(self, other) is graph)
            if first != stage:
                shared[stage] = first
                continue
            for name in ("indptr", "indices", "weight", "time"):
                if getattr(graph, name) is not None:
                    tensors[f"{stage}.{name}"] = getattr(graph, name)
        about = {"repeated": dict(self.repeated), "notes": list(self.notes), "metric": self.metric, "shared": shared}
        meta = {"protocol": self.protocol, "seed": str(self.seed), "about": json.dumps(about)}
        write_tensors(Path(path), tensors, meta)

    def with_validation_trained(self) -> LinkSplit:
        """The split whose training links are those of training and validation, all of which carry messages while
        training; validation and test stay as they are.
        """
        links = torch.cat([self.train_pos, self.valid_pos])
        whole = self.test_graph if self.test_graph.num_edges > self.train_graph.num_edges else None
        if whole is None:  # validation links carry no messages at test time, so their weights and times are not stored
            if self.train_graph.weight is not None or self.train_graph.time is not None:
                raise InputError(
                    f"protocol {self.protocol!r} leaves validation links out of the messages, so on a graph with"
                    " weights or times they cannot be trained on"
                )
            whole = self.train_graph.with_edges(torch.cat([self.train_graph.edges, self.valid_pos]))
        negatives = torch.cat([self.train_neg, self.valid_neg.reshape(-1, 2)[: len(self.valid_pos)]])
        return replace(self, train_pos=links, train_neg=negatives, train_graph=whole)

    @staticmethod
    def load(path: str | Path, graph: Graph) -> LinkSplit:
        """Reads a split that `save` wrote.

        Args:
            path: the file.
            graph: the graph that was split; features and names come from it.
        """
        try:
            with safe_open(path, "pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
                meta = file.metadata() or {}
        except (OSError, SafetensorError) as error:
            raise InputError(
                f"{path} is not a readable split ({describe_error(error)}): make it again with llwlc.splits.make"
            ) from error
        about = json.loads(meta.get("about", "{}"))
        stored = [stage for stage in STAGES if stage not in about.get("shared", {})]
        missing = {*PARTS, *(f"{stage}.indptr" for stage in stored)} - set(tensors)
        if missing or not about:
            raise InputError(f"{path} is not a split: it lacks {', '.join(sorted(missing)) or 'its description'}")
        graphs = {stage: _stage(tensors, stage, graph) for stage in stored}
        train, valid, test = (graphs[about.get("shared", {}).get(stage, stage)] for stage in STAGES)
        for stage in (train, valid, test):
            if stage.num_nodes != graph.num_nodes:
                raise InputError(
                    f"{path} splits a graph of {stage.num_nodes} nodes, the graph given has {graph.num_nodes}: "
                    "load the graph the split was made of"
                )
        return LinkSplit(
            meta["protocol"],
            int(meta["seed"]),
            tensors["train_pos"],
            tensors["train_neg"],
            tensors["valid_pos"],
            tensors["valid_neg"],
            tensors["test_pos"],
            tensors["test_neg"],
            train,
            valid,
            test,
            nodes=tensors.get("nodes"),
            repeated=about["repeated"],
            notes=tuple(about["notes"]),
            metric=about["metric"],
            known_neg=tensors.get("known_neg"),
        )

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={'×'.join(map(str, getattr(self, name).shape[:-1]))}" for name in PARTS)
        return f"LinkSplit({self.protocol}, seed={self.seed}, {sizes})"


def _stage(tensors: Mapping[str, Tensor], stage: str, graph: Graph) -> Graph:
    return replace(
        graph,
        indptr=tensors[f"{stage}.indptr"],
        indices=tensors[f"{stage}.indices"],
        weight=tensors.get(f"{stage}.weight"),
        time=tensors.get(f"{stage}.time"),
        forward=None,
    )
