"""LinkPredictor: from a graph to scored and recommended links in three calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from llwlc import rundir, splits
from llwlc.baselines.heuristics import common_neighbors
from llwlc.calibration import check_prior
from llwlc.candidates import candidates, count_two_hop, share_of_links
from llwlc.errors import InputError
from llwlc.fitting import Fitted, OnEpoch, default_cache, fingerprint, fit_split, pick_device
from llwlc.graph import Graph
from llwlc.linkdata import encode, messages_on
from llwlc.linksplit import LinkSplit
from llwlc.node_names import find_nodes, suggestion
from llwlc.pipeline import DEFAULT_CAP
from llwlc.presets import preset as find_preset
from llwlc.progress import bars
from llwlc.subgraphs import check_pairs, extract
from llwlc.training import one_thread, read_checkpoint, scores

CHUNK = 4096
Pairs = Tensor | np.ndarray | Sequence[tuple[Any, Any]]


class Scores(NamedTuple):
    """`score [m]`, any real number, larger is likelier; `probability [m]`, calibrated for the prior that was stated."""

    score: Tensor
    probability: Tensor


@dataclass(frozen=True)
class Recommendation:
    """A missing link: its ends by name, how likely it is, and what a reader would look at first.

    `distance` is the number of steps between the ends without the link, None where it is more than 5.
    """

    source: str
    target: str
    score: float
    probability: float
    common_neighbors: int
    distance: int | None


class LinkPredictor:
    """Predicts the missing links of a graph.

    `preset`: "anchored" (ours, the default), "paper" or "lanczosnet"; further options change single settings of it, as in
    `LinkPredictor(epochs=10, constraints="neumann")`. `cache`: where eigenbases are kept, "auto" for the user's cache, None for memory.
    """

    def __init__(
        self, preset: str = "anchored", *, device: str = "auto", cache: Path | str | None = "auto", **options: Any
    ) -> None:
        self.preset_name, self.preset = preset, find_preset(preset, **options)
        self.device = str(pick_device(device))
        self.cache = default_cache() if cache == "auto" else None if cache is None else Path(cache)
        self.data = "graph"
        self._run: rundir.Run | None = None

    def fit(
        self,
        graph: Graph,
        *,
        split: LinkSplit | None = None,
        protocol: str = "random",
        seed: int = 0,
        out: Path | str | None = None,
        on_epoch: OnEpoch | None = None,
    ) -> LinkPredictor:
        """Train, calibrate and measure on a split of the graph's links: this one, or one made by `protocol` and `seed`.

        With `out`, a folder, an interrupted run goes on from its last epoch when the same call is made again, and the finished run is
        saved there; a finished one is read, not repeated. Another run's folder is refused.
        """
        if not isinstance(graph, Graph):
            raise InputError(
                f"fit takes a Graph, got {type(graph).__name__}: llwlc.datasets.load(name) or Graph.read(path) gives one"
            )
        self.preset = self.preset.changed(seed=seed)
        split = splits.make(graph, protocol=protocol, seed=seed) if split is None else split
        mark, folder, checkpoint = fingerprint(graph, split, self.preset), None, None
        if out is not None:
            folder = Path(out)
            if _finished(folder, mark):
                self._run = rundir.load(folder)
                rundir.sweep(folder)
                return self
            checkpoint = folder / rundir.CHECKPOINT
        with nullcontext() if folder is None else _made(folder):
            fitted = fit_split(
                graph,
                split,
                self.preset,
                device=self.device,
                cache=self.cache,
                checkpoint=checkpoint,
                mark=mark,
                on_epoch=on_epoch,
            )
        about = {
            "data": self.data,
            "preset_name": self.preset_name,
            "fingerprint": mark,
            "candidate_prior": share_of_links(split.valid_graph, split.valid_pos),
        }
        self._run = rundir.Run(fitted, replace(graph, x=None), split, about)
        if folder is not None:
            rundir.save(folder, self._run)
            rundir.sweep(folder)
        return self

    def __repr__(self) -> str:
        state = "not fitted" if self._run is None else f"fitted on {self._run.graph}"
        return f"LinkPredictor({self.preset_name!r}, {state})"

    @property
    def run(self) -> rundir.Run:
        if self._run is None:
            raise InputError("this predictor is not fitted yet: call fit(graph) or LinkPredictor.load(folder)")
        return self._run

    @property
    def fitted(self) -> Fitted:
        return self.run.fitted

    @property
    def graph(self) -> Graph:
        return self.run.graph

    @property
    def metrics(self) -> dict[str, Any]:
        """What was measured on the test links."""
        return self.fitted.metrics

    def score(self, pairs: Pairs, *, prior: float = 0.5, graph: Graph | None = None) -> Scores:
        """Scores of pairs, by number `[m, 2]` or by name, on all known links, or on another graph of the same nodes.

        A score depends on the pair and the graph alone: not on the other pairs, their order, nor the order of the two ends.
        """
        check_prior(prior)
        where = self.graph if graph is None else self._weighted_alike(graph)
        features = self._features_for(graph)
        numbers = check_pairs(where, self.numbers(pairs, where))
        found = list(self._logits(where, numbers, features))
        score = torch.cat(found) if found else torch.zeros(0, dtype=torch.float64)
        return Scores(score, self.fitted.calibration.probability(score, prior))

    def recommend(self, *, node: Any = None, top: int = 20, prior: float | None = None) -> list[Recommendation]:
        """The `top` missing links of the whole graph, or of one node, best first.

        Candidates are pairs that share a neighbour and pairs of like features; they are scored as they come and only the best are
        kept. `prior` is the share of candidates that are links; by default the share that validation links had.
        """
        if top < 1:
            raise InputError(f"top must be at least 1, got {top}")
        prior = self.run.about["candidate_prior"] if prior is None else prior
        check_prior(prior)
        graph, features = self.graph, self.fitted.features
        number = None if node is None else int(self.numbers([(node, node)], graph)[0, 0])
        best_pairs, best = torch.zeros(0, 2, dtype=torch.long), torch.zeros(0, dtype=torch.float64)
        for pairs in _watched(candidates(graph, features, node=number), None if number is not None else graph):
            score = torch.cat([best, *self._logits(graph, pairs, features)])
            # ties go to the smaller numbers, so that a block's size cannot decide
            keep = torch.argsort(score, descending=True, stable=True)[:top]
            best_pairs, best = torch.cat([best_pairs, pairs])[keep], score[keep]
        return self._described(best_pairs, best, prior)

    def numbers(self, pairs: Pairs, graph: Graph) -> Tensor:
        """Pairs by name as numbers `[m, 2]`."""
        if isinstance(pairs, Tensor | np.ndarray):
            return torch.as_tensor(pairs)
        odd = next((pair for pair in pairs if isinstance(pair, str) or len(pair) != 2), None)
        if odd is not None:
            raise InputError(f"a pair has two nodes, got {odd!r}: give a list of pairs, as in [('Ada', 'Bob')]")
        flat = [str(name) for pair in pairs for name in pair]
        at = find_nodes(pa.array(flat, pa.string()), graph.names, graph.num_nodes)
        if (at < 0).any():
            unknown = flat[int(np.flatnonzero(at < 0)[0])]
            raise InputError(f"the graph has no node {unknown!r}.{suggestion(unknown, graph.names, graph.num_nodes)}")
        return torch.as_tensor(at).reshape(-1, 2)

    def save(self, folder: Path | str) -> None:
        """Write the run directory."""
        rundir.save(Path(folder), self.run)

    @classmethod
    def load(cls, folder: Path | str, *, device: str = "auto") -> LinkPredictor:
        """Read a run directory, written here or on another machine."""
        run = rundir.load(Path(folder))
        model = cls(run.about["preset_name"], device=device)
        model.preset, model.data, model._run = run.fitted.preset, run.about["data"], run
        return model

    def _logits(self, graph: Graph, pairs: Tensor, features: Tensor | None) -> Iterator[Tensor]:
        net, graph = self.fitted.net.to(self.device), messages_on(graph, self.device)
        for part in torch.split(pairs, CHUNK):
            data = encode(graph, part, self.fitted.preset.basis, about="")
            with one_thread():
                yield scores(net, data, features)

    def _weighted_alike(self, graph: Graph) -> Graph:
        """Another graph with weights where the run's has them: the network has learned from one kind of Laplacian."""
        if self.graph.weight is None:
            return replace(graph, weight=None)
        if graph.weight is None:
            raise InputError(
                "the run's links have weights and the updated graph's have none: name their column (--weight), or fit again"
            )
        return graph

    def _features_for(self, graph: Graph | None) -> Tensor | None:
        """The compact features in the order of another graph's nodes, found by name."""
        features = self.fitted.features
        if graph is None or features is None:
            return features
        if graph.x is not None and self.fitted.compactor is not None:
            return self.fitted.compactor(graph.x)
        names = pa.array([graph.name(i) for i in range(graph.num_nodes)], pa.string())
        at = find_nodes(names, self.graph.names, self.graph.num_nodes)
        if (at < 0).any():
            missing = [graph.name(int(i)) for i in np.flatnonzero(at < 0)[:3]]
            raise InputError(
                f"the updated graph has {int((at < 0).sum())} nodes that the model has no features of, such as "
                f"{', '.join(missing)}: give their features with the graph, or fit again"
            )
        return features[torch.as_tensor(at)]

    def _described(self, pairs: Tensor, score: Tensor, prior: float) -> list[Recommendation]:
        if not len(pairs):
            return []
        probability = self.fitted.calibration.probability(score, prior)
        common = common_neighbors(self.graph, pairs)
        far = _distances(self.graph, pairs)
        return [
            Recommendation(self.graph.name(u), self.graph.name(v), s, p, int(c), d)
            for (u, v), s, p, c, d in zip(
                pairs.tolist(), score.tolist(), probability.tolist(), common.tolist(), far, strict=True
            )
        ]


def _watched(blocks: Iterator[Tensor], graph: Graph | None) -> Iterator[Tensor]:
    """The blocks in chunks, under a bar that counts pairs; how many a whole graph will have is estimated."""
    with bars() as progress:
        total = None if graph is None or progress.disable else round(count_two_hop(graph))
        task = progress.add_task("scoring candidates", total=total)
        for block in blocks:
            for pairs in torch.split(block, CHUNK):
                yield pairs
                progress.advance(task, len(pairs))
        progress.update(task, total=progress.tasks[-1].completed)


def _distances(graph: Graph, pairs: Tensor) -> list[int | None]:
    """Steps between the ends: one more than the nearest of v's neighbours is from u."""
    found: list[int | None] = []
    for part in torch.split(pairs, CHUNK):
        subs = extract(graph, part, 2, max_nodes_per_hop=DEFAULT_CAP)
        beyond = 2 * subs.hops + 1
        at_v = torch.isin(subs.row, subs.v)
        reach = torch.full((len(part),), beyond).scatter_reduce(
            0, subs.graph[subs.row[at_v]], subs.dist_u[subs.col[at_v]], "amin", include_self=True
        )
        found += [int(d) + 1 if d < beyond else None for d in reach.tolist()]
    return found


def _finished(folder: Path, mark: str) -> bool:
    """Whether the folder holds this very run; another one, or anything else, is refused."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    if not folder.is_dir():
        raise InputError(f"{folder} is a file; --out names a folder for the run")
    if (folder / "config.json").exists():
        if rundir.read_config(folder).get("fingerprint") != mark:
            raise InputError(
                f"{folder} holds another run (other graph, split or options): choose another --out or delete it"
            )
        return True
    if (folder / rundir.CHECKPOINT).exists():
        read_checkpoint(folder / rundir.CHECKPOINT, mark)  # refused now, not after the long work
    elif any(p not in rundir.leftovers(folder) for p in folder.iterdir()):
        raise InputError(f"{folder} holds files that are no run of llwlc: choose another --out")
    return False


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """The folder of a run, made if need be, and gone again where the input lets no run begin."""
    new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made ({error.strerror}): choose another --out") from error
    try:
        yield
    except InputError:
        if new and not any(folder.iterdir()):
            folder.rmdir()
        raise
