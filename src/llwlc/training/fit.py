"""From a split graph to a trained, calibrated, measured network: what `LinkPredictor.fit` and the accuracy tables share."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from llwlc import metrics
from llwlc.bases.config import BasisConfig
from llwlc.bases.encoded_links import EncodedLinks
from llwlc.bases.warmup import warm_up
from llwlc.candidates.kinds import Kinds
from llwlc.errors import InputError
from llwlc.graph.graph import Graph
from llwlc.heuristics.registry import HEURISTICS
from llwlc.metrics import Evaluation
from llwlc.nn.net import LLwLCNet
from llwlc.splits.linksplit import LinkSplit
from llwlc.splits.negatives import pair_number
from llwlc.support.devices import pick_device
from llwlc.support.stopwatch import Stopwatch
from llwlc.support.threads import one_thread
from llwlc.training.adjustment import fit_adjustment
from llwlc.training.calibration import Calibration, fit_calibration
from llwlc.training.candidate_calibration import fit_candidate_calibration
from llwlc.training.checkpoint import Checkpoint
from llwlc.training.encoded_split import ENCODING, EncodedSplit, evaluated
from llwlc.training.features import Compactor, fit_compactor
from llwlc.training.forecast import Forecast, forecast
from llwlc.training.helping import announce
from llwlc.training.limits import Limits
from llwlc.training.list_quality import RankingReport
from llwlc.training.loop import OnEpoch, Trained, Valid, train
from llwlc.training.node_features import NodeFeatures
from llwlc.training.presets import Preset
from llwlc.training.ranking import Prepared, RankingConfig, nodes_to_measure, prepare, rank
from llwlc.training.ranking_report import hide, measure_ranking
from llwlc.training.ranks import Ranks
from llwlc.training.records import EpochRecord, FitMetrics
from llwlc.training.rivals import Population, Rival, better_rival
from llwlc.training.scoring import CANDIDATES, PairScorer, Scorer
from llwlc.training.setting_up import set_up

LOG = logging.getLogger("llwlc")
TRAINING = "training"
BASES_IN_MEMORY, BASES_OF_PACKED = 2 << 30, 1 << 26
"""Bytes of bases that a part of a split keeps in memory, and one of a packed graph, whose user expects a fit to be small."""
OnForecast = Callable[[Forecast], None]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained network with everything that is needed to use and evaluate it."""

    title = "llwlc"
    """Its name in tables."""
    net: LLwLCNet
    preset: Preset
    compactor: Compactor | None
    features: NodeFeatures
    calibration: Calibration
    ranking: RankingConfig | None
    metrics: FitMetrics
    history: list[EpochRecord]
    rival: Rival | None = None
    """The untrained score that did better on validation, if there is one; it is not stored in the run folder."""
    validation: Evaluation | None = None
    """The validation links among their negatives at the chosen epoch, by which experiments are decided; it is not stored either."""

    @property
    def basis(self) -> BasisConfig:
        return self.preset.basis

    @property
    def limits(self) -> Limits:
        return self.preset.limits

    def scorer(self, device: str, features: NodeFeatures | None = None) -> Scorer:
        """The network on a device, with the features of the run's nodes or with others."""
        return Scorer(self.net.to(device), self.features if features is None else features)


def fit_split(
    graph: Graph,
    split: LinkSplit,
    preset: Preset,
    *,
    device: str = "auto",
    cache: Path | None = None,
    memory_budget: int | None = None,
    checkpoint: Checkpoint | None = None,
    compact: tuple[Compactor | None, Tensor] | None = None,
    rank_candidates: bool = True,
    kinds: Kinds | None = None,
    on_epoch: OnEpoch | None = None,
    on_forecast: OnForecast | None = None,
    ranks: Ranks | None = None,
    encoded: type[EncodedSplit] = EncodedSplit,
) -> Fitted:
    """Train on the split's training links, choose the epoch and calibrate on validation, measure once on test.

    `memory_budget`: bytes up to which the bases of a part are kept in memory; larger ones are mapped from the cache, as most of those of a packed graph
    are by default. `checkpoint`: the file from which an interrupted run continues; `compact`: compact features, if they were computed already; `rank_candidates`: whether the run will be used to
    `recommend`, so that candidates are calibrated; `kinds`: which nodes a link may join; `on_forecast` is called with the forecast before the long work begins; `ranks`: the
    processes that train together, of which this is the first; `encoded`: a replacement for `EncodedSplit`, for experiments that encode links in another way.
    """
    begin, target, watch = time.perf_counter(), pick_device(device), Stopwatch()
    require_held_out(split)
    if memory_budget is None:
        memory_budget = BASES_IN_MEMORY if split.train_graph.folder is None else BASES_OF_PACKED
    if preset.train.use_validation:
        split = split.with_validation_trained()
        LOG.warning(
            "validation links are trained on too: the last epoch is kept, and probabilities are calibrated on links that were trained on"
        )
    preset = preset.adapted(len(split.train_pos), hard=split.valid_neg.ndim == 3)
    warm_up(split.train_graph, preset.basis)
    compactor, known = compact or (None, None)
    with watch("features"):
        if compact is None and graph.x is not None and preset.features:
            compactor = fit_compactor(graph.x, preset.features)
        features = NodeFeatures.of(graph.x, compactor, known)
    if on_forecast is not None:
        on_forecast(forecast(split, preset, features=features, kinds=kinds, device=target, ranked=rank_candidates))
    prepared = None
    if rank_candidates or preset.net.ranking:
        with watch("candidates"):
            prepared = prepare(
                split,
                features,
                preset.train,
                budget=preset.budget,
                limits=preset.limits,
                kinds=kinds,
                device=str(target),
            )
    asked = evaluated(split, preset.limits.evaluated, preset.train.seed)
    ranked = prepared.links if prepared is not None and preset.net.ranking else None
    if ranks is not None:
        announce(ranks, split, preset, features, ranked, memory_budget)
    links, preset, net = set_up(
        split,
        preset,
        features,
        ranked,
        device=target,
        cache=cache,
        memory_budget=memory_budget,
        owner=None if checkpoint is None else checkpoint.path.parent,
        asked=asked,
        watch=watch,
        ranks=ranks,
        encoded=encoded,
    )
    valid = Valid(
        links.part("valid_pos"), links.part("valid_neg"), links.valid_candidates(), own=split.valid_neg.ndim == 3
    )
    encoding = watch.seconds.get(ENCODING, 0.0)
    with watch(TRAINING):
        done = train(
            net,
            links.training,
            valid,
            preset.train,
            features=features,
            checkpoint=checkpoint,
            on_epoch=on_epoch,
            ranks=ranks,
        )
    watch.seconds[TRAINING] -= (
        watch.seconds.get(ENCODING, 0.0) - encoding
    )  # the links of an epoch are encoded when it asks for them
    calibration = fit_calibration(done.valid_pos, done.valid_neg)
    scorer = Scorer(net, features)
    test, error, share = measure(scorer, links, calibration)
    among, own = valid.candidates, valid.own
    del links, valid  # bases of training links, which ranking needs no more, take more memory than all else
    ranking = report = None
    if rank_candidates and prepared is not None:
        with watch("calibration"):
            ranking = calibrated(split, prepared, features, scorer, preset.basis, size=preset.limits.shortlist, net=net)
            scorer = Scorer(net, features)  # the network's output for candidates has changed
        with watch("ranking"):
            report = measured_ranking(
                split,
                features,
                scorer,
                preset.basis,
                ranking,
                limits=preset.limits,
                kinds=kinds,
                device=str(target),
                seed=preset.train.seed,
            )
    with watch("heuristics"):
        beside = heuristics(asked)
        rival = better_rival(split.valid_graph, _populations(asked, done, scorer, among, prepared))
    seconds = time.perf_counter() - begin
    found = FitMetrics(
        test, error, share, net.num_parameters, len(done.history), seconds, beside, report, watch.seconds
    )
    chosen = metrics.evaluate(
        done.valid_pos, done.valid_neg.reshape(len(done.valid_pos), -1) if own else done.valid_neg
    )
    return Fitted(net.cpu(), preset, compactor, features, calibration, ranking, found, done.history, rival, chosen)


def _populations(
    asked: LinkSplit,
    done: Trained,
    scorer: Scorer,
    among: tuple[EncodedLinks, EncodedLinks] | None,
    prepared: Prepared | None,
) -> list[Population]:
    """Random pairs, and candidates where they have an output of their own (`among`), as the network scores them at its best epoch."""
    found = [Population(asked.valid_pos, asked.valid_neg, done.valid_pos, done.valid_neg)]
    if among is not None and prepared is not None:
        with one_thread():
            ours = [scorer(part, CANDIDATES) for part in among]
        found.append(Population(prepared.links.valid_pos, prepared.links.valid_neg, *ours))
    return found


def require_held_out(split: LinkSplit) -> None:
    """Refuses a split without validation or test links: no epoch could be chosen, nothing measured."""
    for part, why in (
        ("valid", "the epoch is chosen and probabilities are calibrated on"),
        ("test", "a fit is measured on"),
    ):
        if not all(len(getattr(split, f"{part}_{side}")) for side in ("pos", "neg")):
            raise InputError(
                f"{why} {'validation' if part == 'valid' else part} links, at least one link and one non-link: hold out some"
            )


def calibrated(
    split: LinkSplit,
    prepared: Prepared,
    features: NodeFeatures,
    scorer: PairScorer,
    basis: BasisConfig,
    *,
    size: int | None = None,
    net: LLwLCNet | None = None,
    log_odds: bool = True,
) -> RankingConfig:
    """The ranking with its candidates' scores calibrated on the validation links among them; `net`: the scorer's network, whose output for candidates is adjusted before; `log_odds`: whether
    scores are log-odds, as those of everything that is trained; else they may have any unit."""
    graph, n = split.valid_graph, split.valid_graph.num_nodes
    found = rank(graph, prepared.valid, features, scorer, basis, prepared.config, size=size)
    hidden = torch.isin(pair_number(found.pairs, n), pair_number(split.valid_pos, n))
    known, score = max(graph.num_edges, 1), found.score
    # test links are among the candidates too; only their number is used, not which candidates they are
    rho, other = max(len(split.valid_pos), 1) / known, len(split.test_pos) / known
    if net is not None and net.ranking is not None:
        inputs = features.pair_inputs(graph, found.pairs)
        adjustment = fit_adjustment(score, inputs, found.sharing, hidden, rho=rho, other=other)
        adjustment.add_to(net)
        score = adjustment.score(score, inputs, found.sharing)
    unit = 1.0 if log_odds or not len(score) else float(score.double().std(correction=0)) or 1.0
    curves = fit_candidate_calibration(score, found.sharing, hidden, rho=rho, other=other, unit=unit)
    return replace(prepared.config, calibration=curves)


def measured_ranking(
    split: LinkSplit,
    features: NodeFeatures,
    scorer: PairScorer,
    basis: BasisConfig,
    ranking: RankingConfig,
    *,
    limits: Limits,
    kinds: Kinds | None,
    device: str,
    seed: int,
    title: str = Fitted.title,
) -> RankingReport:
    """How well the test links are found; measured on a sample of nodes where all nodes would take long."""
    task, graph = hide(split), split.test_graph
    n = graph.num_nodes
    sample, own_lists = nodes_to_measure(n, graph.num_edges, limits, ranking.candidates.budget_for(n))
    return measure_ranking(
        task,
        features,
        scorer,
        basis,
        ranking,
        kinds=kinds,
        size=limits.shortlist,
        sample=sample,
        own_lists=own_lists,
        device=device,
        seed=seed,
        title=title,
    )


def measure(scorer: Scorer, links: EncodedSplit, calibration: Calibration) -> tuple[metrics.Evaluation, float, float]:
    """All metrics of the test links, the calibration error, and the share of links (the prior) that probabilities are computed for."""
    with one_thread():
        pos, neg = (torch.cat([scorer(block) for block in links.blocks(part)]) for part in ("test_pos", "test_neg"))
    label = torch.cat([torch.ones_like(pos), torch.zeros_like(neg)])
    share = len(pos) / len(label)
    probability = calibration.probability(torch.cat([pos, neg]), prior=share)
    found = metrics.evaluate(pos, neg.reshape(links.asked.test_neg.shape[:-1]))
    return found, metrics.calibration_error(probability, label), share


def heuristics(split: LinkSplit) -> dict[str, metrics.Evaluation]:
    """The scores that need no training, on the same test links, by title."""
    found = {}
    for heuristic in HEURISTICS.records():
        if heuristic.features and split.test_graph.x is None:
            continue
        # one call for all pairs: some scores compute on the whole graph first, which takes longer than any number of pairs
        both = torch.cat([split.test_pos, split.test_neg.reshape(-1, 2)])
        score = heuristic.load()(split.test_graph, both)
        pos, neg = score[: len(split.test_pos)], score[len(split.test_pos) :]
        found[heuristic.title] = metrics.evaluate(pos, neg.reshape(split.test_neg.shape[:-1]))
    return found
