"""The result table and the model card of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from llwlc._fitting.fit import FitResult
from llwlc._support.charts import new_figure
from llwlc.graph._graph import Graph
from llwlc.metrics import Evaluation
from llwlc.ranking._list_quality import TOPS, RankingReport
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._epoch_record import EpochRecord


def result_keys(split: LinkSplit) -> tuple[str, ...]:
    """The columns of result tables: two hit rates, one of them the protocol's own, and metrics that do not depend on
    the number of negatives.
    """
    own = split.metric if split.metric.startswith("hits@") else "hits@50"
    first = "hits@50" if own == "hits@100" else own
    return (first, "hits@100", "hits@fpr0.01", "mrr", "auc", "ap")


def result_columns(split: LinkSplit) -> tuple[str, ...]:
    names = {"hits@fpr0.01": "HR, FPR 1%"}
    return ("method", *(names.get(key, key.replace("hits", "hr").upper()) for key in result_keys(split)))


def result_rows(fitted: FitResult, split: LinkSplit) -> list[tuple[str, ...]]:
    """One row per method, the run's own first, then the heuristics, all on the same test links."""
    methods = {fitted.title: fitted.metrics.test, **fitted.metrics.heuristics}
    return [(name, *(_cell(evaluation, key) for key in result_keys(split))) for name, evaluation in methods.items()]


def _cell(evaluation: Evaluation, key: str) -> str:
    """A number in percent; a dash for HR@K with at most K negatives, which is 100 or nearly so for any method."""
    k = key.removeprefix("hits@")
    if k.isdigit() and int(k) >= evaluation.num_negatives:
        return "–"
    return f"{100 * evaluation[key]:.2f}"


MIN_LINKS_FOR_CALIBRATION = 20  # with fewer validation links, probabilities are rough: the notes say so


def result_notes(fitted: FitResult, split: LinkSplit) -> str:
    """What the numbers of the table mean: protocol, negatives, false-positive rates, calibration."""
    m = fitted.metrics
    shown = [k for k in map(int, (key[5:] for key in result_keys(split)[:2])) if k < m.test.num_negatives]
    rates = ", ".join(f"HR@{k} at {100 * m[f'hits@{k}_fpr']:.3g} %" for k in shown)
    hard = split.test_neg.ndim == 3
    kind = (
        f"{split.test_neg.shape[1]} hard negatives for each"
        if hard
        else f"{m.test.num_negatives:,} negatives in one pool"
    )
    few = len(split.valid_pos) < MIN_LINKS_FOR_CALIBRATION
    return (
        f"protocol {split.protocol}, seed {split.seed}; {m.test.num_positives:,} test links against {kind}; in percent;"
        f" {f'false-positive rate of {rates}' if rates else 'too few negatives for HR@K'}; calibration error"
        f" {100 * m.calibration_error:.1f} % at a prior of {m.calibration_prior:.2g}; {m.parameters:,} parameters,"
        f" {m.epochs} epochs, {m.seconds:.0f} seconds"
        + (f"; only {len(split.valid_pos)} validation links, so probabilities are rough" if few else "")
    )


USEFUL_AUC = 0.65
"""Where the test links do not exclude an AUC of more than this, they do not show that nothing was learned."""


def first_sentence(fitted: FitResult) -> str:
    """What a reader must know before any number: what a blend chose, that nothing was learned, or that too few links
    say whether anything was; "" if none of these is so.
    """
    test = fitted.metrics.test
    pos, neg = max(test.num_positives, 1), max(test.num_negatives, 1)
    chance = 2 * math.sqrt((pos + neg + 1) / (12 * pos * neg))  # two standard errors of the AUC of a random score
    if chance >= 0.5:
        few = f"Whether anything was learned, {pos:,} test links and {neg:,} negatives cannot tell."
        return f"{few} {fitted.model.remark}".strip()
    if test["auc"] > 0.5 + chance:
        return fitted.model.remark
    unknown = test["auc"] + chance > USEFUL_AUC and not _list_beats_chance(fitted.metrics.ranking)
    if unknown:
        return (
            f"Whether anything was learned, {pos:,} test links and {neg:,} negatives cannot tell: the AUC of"
            f" {fitted.title} is {100 * test['auc']:.1f}, and a random score reaches {100 * (0.5 + chance):.1f}."
            f" {fitted.model.remark}"
        ).strip()
    what = (
        f"{fitted.title} tells test links from other pairs no better than chance does (AUC {100 * test['auc']:.1f},"
        f" chance reaches {100 * (0.5 + chance):.1f})"
    )
    if _list_beats_chance(fitted.metrics.ranking):
        return f"{what}, yet its recommendations find more hidden links than a random list does."
    remark = f" {fitted.model.remark}" if fitted.model.remark else ""
    return f"Nothing could be learned from this graph: {what}.{remark} Its recommendations are worth nothing."


def _list_beats_chance(report: RankingReport | None) -> bool:
    """Whether the average precision is more than two standard errors above that of a random list."""
    if report is None or not report.candidates:
        return False
    found = report.methods[report.title].average_precision
    return found.value - 2 * found.error > report.chance * report.recall


def model_card(fitted: FitResult, graph: Graph, split: LinkSplit) -> str:
    """The text of MODEL_CARD.md."""
    rows, columns = result_rows(fitted, split), result_columns(split)
    table = ["| " + " | ".join(columns) + " |", "| " + " | ".join(["---"] * len(columns)) + " |"]
    table += ["| " + " | ".join(row) + " |" for row in rows]
    compact = fitted.features.compact
    features = "no node features" if compact is None else f"{compact.shape[1]} compact node features"
    notes = "".join(f"- {note}\n" for note in split.notes)
    return f"""# Model card

{" ".join(filter(None, [first_sentence(fitted), fitted.model.about]))}

- Graph: {graph.num_nodes:,} nodes, {graph.num_edges:,} links, {features}.
- Trained on {len(split.train_pos):,} links; epoch chosen and probabilities calibrated on \
{len(split.valid_pos):,} validation links;
  measured once on test links. Scores and recommendations afterwards use all known links.
{notes}
## Measured

{result_notes(fitted, split)}.

{chr(10).join(table)}

HR@K is OGB's: the share of test links that score above the K-th best negative, so K means another \
false-positive rate on every
graph and compares only within one protocol.

{_direction_section(fitted)}{_ranking_section(fitted)}## Use

    llwlc score RUN pairs.csv -o scores.csv --prior 0.01
    llwlc recommend RUN --top 100 -o top.csv

`score` gives the chance among random pairs at the stated prior; `recommend` gives the chance among candidates where \
a stated share of all links is missing (`--missing-share`; that of the validation links is assumed if none is stated).
{_about_direction(fitted)}; a node that has no link yet is scored by its features alone.
"""


def _about_direction(fitted: FitResult) -> str:
    if fitted.metrics.direction is None:
        return "Links are undirected"
    return "Links point from source to target: a probability is that of the link and of its direction"


def _direction_section(fitted: FitResult) -> str:
    report = fitted.metrics.direction
    return "" if report is None else f"{report.sentence}\n\n"


RANKING_COLUMNS = ("method", "P@10", "P@50", "P@200", "P@1000", "AP", "node MRR", "node P@10")


def ranking_rows(report: RankingReport) -> list[tuple[str, ...]]:
    """One row per method, ours first: how well its list finds the hidden links, in percent; a dash where there are
    fewer candidates.
    """
    rows = []
    for name, quality in report.methods.items():
        tops = [quality.precision.get(k) for k in TOPS]
        cells = [*tops, quality.average_precision, quality.node_mrr, quality.node_precision]
        rows.append((name, *("–" if cell is None else f"{100 * cell.value:.1f}" for cell in cells)))
    return rows


def ranking_notes(report: RankingReport) -> str:
    """What the numbers of the ranking mean."""
    if not report.candidates:
        return f"None of {report.hidden:,} hidden links could be found: the graph has no candidates for missing links."
    ours, random = report.methods[report.title], report.chance * report.recall
    lift = ours.average_precision.value / random if random else 0.0
    errors = ", ".join(f"P@{k} {100 * m.error:.1f}" for k, m in ours.precision.items())
    sampled = f", pairs of a sample of {report.nodes:,} nodes" if report.sampled else ""
    return (
        f"{report.hidden:,} hidden links ({report.population}{sampled}), {100 * report.recall:.1f} % of them among"
        f" {report.candidates:,} candidates; in percent; a random list has P@K {100 * report.chance:.2f} and AP"
        f" {100 * random:.2f}, and the AP of {report.title} is {lift:.1f} times as high; node MRR and node P@10: on the"
        " candidate list of each node that has hidden links; standard errors of"
        f" {report.title}: {errors}, AP {100 * ours.average_precision.error:.1f}, node MRR"
        f" {100 * ours.node_mrr.error:.1f}; probabilities of the best {100 * len(report.reliability.bins):,} are off by"
        f" {100 * report.reliability.error:.1f} points in the mean. A candidate that is not hidden may still be"
        " missing, so all shares are lower bounds."
    )


def _ranking_section(fitted: FitResult) -> str:
    report = fitted.metrics.ranking
    if report is None:
        return ""
    table = ["| " + " | ".join(RANKING_COLUMNS) + " |", "| " + " | ".join(["---"] * len(RANKING_COLUMNS)) + " |"]
    table += ["| " + " | ".join(row) + " |" for row in ranking_rows(report)]
    bins = ", ".join(f"{100 * predicted:.0f} / {100 * true:.0f}" for predicted, true in report.reliability.bins)
    return f"""## Recommendations, measured

{ranking_notes(report)}

{chr(10).join(table)}

The best candidates by hundreds, predicted probability / share of hidden links, in percent: {bins}. \
![reliability](reliability.svg)

"""


def plot_history(history: Sequence[EpochRecord]) -> Any:
    """Validation AUC by epoch, as a matplotlib figure."""
    figure, axes = new_figure()
    axes.plot([r.epoch for r in history], [r.valid_auc for r in history], label="random pairs")
    if history and history[0].valid_candidates is not None:
        axes.plot([r.epoch for r in history], [r.valid_candidates for r in history], label="candidates")
    axes.set(xlabel="epoch", ylabel="validation AUC")
    axes.legend()
    return figure
