"""Reports stored results: tables by domain, differences from a reference, ranks, time; a critical-difference plot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from llwlc._support.charts import new_figure
from llwlc.errors import InputError
from research.corpus.comparison import LEVEL, MeanRanks, ScoreTable, differences, holm, rank_models
from research.corpus.members import list_table
from research.experiments.lines import Line


def make_report(lines: Sequence[Line], models: Sequence[str], groups: Mapping[str, str], reference: str) -> str:
    """All tables of the models; `groups`: the domain of each network."""
    if reference not in models:
        raise InputError(f"--against names {reference!r}, which is not among the models: {', '.join(models)}")
    mine = [line for line in lines if line.cell.data in groups]
    auc, ap = (ScoreTable.of(mine, models, metric) for metric in ("auc", "ap"))
    if not auc.values:
        raise InputError("no network has lines of all these models: measure them first, or name fewer with --models")
    splits = [len(next(iter(by.values()))) for by in auc.values.values()]
    shown = (
        f"{len(auc.values)} networks on which all {len(models)} models have lines, {sum(splits)} splits,"
        f" {min(splits)} to {max(splits)} of a network; protocol random, as many non-links as links"
    )
    parts = [shown, _domains(auc, ap, groups), _against(auc, reference)]
    if len(models) > 1 and len(auc.values) > 1:
        parts.append(_ranks(rank_models(auc)))
    for model in models:
        if any(line.cell.method == model and "list" in line.found for line in mine):
            header, *rows = list_table(mine, model, groups)
            parts.append(f"precision in percent of the lists of {model}, by hidden links\n" + _table(header, rows))
    return "\n\n".join([*parts, _costs([line for line in mine if line.cell.data in auc.values], models)])


def _domains(auc: ScoreTable, ap: ScoreTable, groups: Mapping[str, str]) -> str:
    members = defaultdict(list)
    for network in auc.values:
        members[groups[network]].append(network)
    header = ["mean AUC / AP", "all", *(f"{group} ({len(members[group])})" for group in sorted(members))]
    order = sorted(auc.models, key=lambda model: -auc.mean(model))
    rows = [
        [model, *(_pair(auc, ap, model, chosen) for chosen in (None, *(members[group] for group in sorted(members))))]
        for model in order
    ]
    return _table(header, rows)


def _pair(auc: ScoreTable, ap: ScoreTable, model: str, networks: Sequence[str] | None) -> str:
    return f"{100 * auc.mean(model, networks):.2f} / {100 * ap.mean(model, networks):.2f}"


def _against(auc: ScoreTable, reference: str) -> str:
    """The mean over networks of the difference, with the standard error that the splits give it, and on how many
    networks a difference remains by Holm's rule over all networks and models.
    """
    others = [model for model in auc.models if model != reference]
    found = {model: differences(auc, model, reference) for model in others}
    rejected = iter(holm([one.p for model in others for one in found[model]]))
    rows = []
    for model in others:
        apart = found[model]
        kept = [next(rejected) for _ in apart]
        errors = [one.error for one in apart if one.error is not None]
        whole = len(errors) == len(apart)
        error = f" ± {100 * np.sqrt(np.sum(np.square(errors))) / len(apart):.2f}" if whole else ""
        ahead = sum(keep and one.mean > 0 for keep, one in zip(kept, apart, strict=True))
        behind = sum(keep and one.mean < 0 for keep, one in zip(kept, apart, strict=True))
        better = sum(one.mean > 0 for one in apart)
        mean = 100 * float(np.mean([one.mean for one in apart]))
        rows.append([model, f"{mean:+.2f}{error}", f"{better} of {len(apart)}", str(ahead), str(behind)])
    title = f"AUC minus that of {reference}; standard errors over splits; Holm's rule at {LEVEL} over all rows"
    return f"{title}\n" + _table(["", "mean", "ahead on", "significantly ahead", "behind"], rows)


def _ranks(ranks: MeanRanks) -> str:
    rows = [[model, f"{mean:.2f}"] for model, mean in zip(ranks.models, ranks.mean, strict=True)]
    title = f"mean rank on {ranks.networks} networks; critical difference {ranks.critical:.2f} (Nemenyi, {LEVEL})"
    return f"{title}\n" + _table(["", "rank"], rows)


def _costs(lines: Sequence[Line], models: Sequence[str]) -> str:
    rows = []
    for model in models:
        mine = [line for line in lines if line.cell.method == model]
        seconds = [float(line["seconds"]) / max(len(line.get("folds", {}).get("auc", ())), 1) for line in mine]
        peak = max(float(line.get("peak_mb", 0)) for line in mine)
        rows.append([model, f"{np.median(seconds):.2f}", f"{max(seconds):.1f}", f"{peak:.0f}"])
    return _table(["", "median s of a split", "largest", "peak MB"], rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [header, *rows]
    )


def draw_ranks(ranks: MeanRanks, path: Path) -> None:
    """The critical-difference picture (Demšar 2006): models at their mean ranks, and bars over those that cannot be
    told apart.
    """
    count = len(ranks.models)
    bars = _cliques(ranks)
    figure, axes = new_figure(8.0, 1.2 + 0.28 * ((count + 1) // 2) + 0.12 * len(bars))
    figure.set_layout_engine("none")  # names stand beside the axes; the file is cut to what is drawn
    axes.set_axis_off()
    axes.set_xlim(0.2, count + 0.8)
    axes.invert_yaxis()
    axes.plot([1, count], [0, 0], color="black", linewidth=1)
    for tick in range(1, count + 1):
        axes.plot([tick, tick], [-0.15, 0], color="black", linewidth=1)
        axes.text(tick, -0.3, str(tick), ha="center", va="bottom", fontsize=8)
    below = 0.35 + 0.3 * len(bars)
    for at, (model, mean) in enumerate(zip(ranks.models, ranks.mean, strict=True)):
        left = at < (count + 1) // 2
        depth = below + 0.6 * (at if left else count - 1 - at)
        end = 0.9 if left else count + 0.1
        axes.plot([mean, mean, end], [0, depth, depth], color="black", linewidth=0.7)
        axes.text(end, depth, f"{model} {mean:.1f}", ha="right" if left else "left", va="center", fontsize=8)
    for row, (first, last) in enumerate(bars):
        height = 0.3 + 0.3 * row
        axes.plot([first - 0.05, last + 0.05], [height, height], color="black", linewidth=3)
    axes.plot([1, 1 + ranks.critical], [-1.1, -1.1], color="black", linewidth=2)
    axes.text(1, -1.2, f"critical difference {ranks.critical:.2f}, {ranks.networks} networks", fontsize=8, va="bottom")
    figure.savefig(path, dpi=150, bbox_inches="tight")


def _cliques(ranks: MeanRanks) -> list[tuple[float, float]]:
    """The largest runs of models whose first and last differ by less than the critical difference."""
    runs: list[tuple[int, int]] = []
    for first in range(len(ranks.mean)):
        last = max(i for i in range(len(ranks.mean)) if ranks.mean[i] - ranks.mean[first] < ranks.critical)
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return [(ranks.mean[first], ranks.mean[last]) for first, last in runs]
