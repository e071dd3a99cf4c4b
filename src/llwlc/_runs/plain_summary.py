"""What a run found and how far to trust it, in sentences for readers who do not know the field."""

from __future__ import annotations

from llwlc._fitting.fit import FitResult
from llwlc._runs.model_card import first_sentence
from llwlc.ranking._list_quality import RankingReport
from llwlc.ranking._recommendations import Recommendations

FEW_LINKS = 100
"""With fewer hidden links than this, the shares are called rough."""


def describe_trust(fitted: FitResult) -> str:
    """How many hidden links the top of such a list held, how well links are told from other pairs, and what else must
    be known before the list is used.
    """
    report = fitted.metrics.ranking
    sentences = [] if report is None or not report.candidates else [_describe_list(report)]
    sentences += [_describe_pairs(fitted), first_sentence(fitted)]
    return " ".join(filter(None, sentences))


def _describe_list(report: RankingReport) -> str:
    """The share of hidden links among the best 50, or as many as there are, beside the best heuristic's."""
    ours = report.methods[report.title]
    sizes = [k for k in ours.precision if k <= 50] or list(ours.precision)
    if not sizes:
        return f"Only {report.candidates:,} pairs are candidates, too few to measure a list."
    size = max(sizes)
    others = {
        name: quality.precision[size].value for name, quality in report.methods.items() if size in quality.precision
    }
    share = others.pop(report.title)
    best = max(others, key=others.__getitem__, default=None)
    beside = f"{best} finds {100 * others[best]:.0f} %, " if best is not None else ""
    rough = " With so few, this is a rough figure." if report.hidden < FEW_LINKS else ""
    return (
        f"To test the list, {report.hidden:,} known links were hidden: {100 * share:.0f} % of the {size} best"
        f" candidates were hidden links ({beside}a random list {100 * report.chance:.2g} %).{rough}"
    )


def _describe_pairs(fitted: FitResult) -> str:
    """The AUC in words, beside the best heuristic's."""
    test = fitted.metrics.test
    heuristics = fitted.metrics.heuristics.items()
    others = {name: evaluation["auc"] for name, evaluation in heuristics if name != fitted.title}
    best = max(others, key=others.__getitem__, default=None)
    beside = f" ({best}: {100 * others[best]:.0f} times)" if best is not None else ""
    return (
        f"Of a hidden link and a random pair without a link, {fitted.title} gives the hidden link the higher score"
        f" {100 * test['auc']:.0f} times in 100{beside}."
    )


def describe_expected(found: Recommendations) -> str:
    """How many links of a list to expect to be missing ones, and under which assumption."""
    share, low, high = (100 * value for value in found.expected)
    return (
        f"Of these {len(found):,} links, {share:.0f} % are expected to be truly missing ({low:.0f} to {high:.0f} % in"
        f" nine cases of ten), {found.condition}."
    )
