"""Summary of the trials: errors and coverage by model, share and length of list, and a reliability diagram."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from llwlc._support.charts import new_figure
from research.outside.lines import Line
from research.outside.trial import BINS, SHARES, TOPS

Z90 = 1.6449
"""A 90 % interval extends this many standard deviations to either side."""


class Predicted(NamedTuple):
    """One list: predicted share, its 90 % range, observed share; the network, and how many links were hidden."""

    network: str
    top: int
    expected: float
    low: float
    high: float
    observed: float

    @property
    def inside(self) -> bool:
        return self.low - 1e-9 <= self.observed <= self.high + 1e-9

    @property
    def deviation(self) -> float:
        """The error in standard deviations of the range, which is at least one link wide."""
        return (self.expected - self.observed) / (max(self.high - self.low, 1 / self.top) / (2 * Z90))


def collect_lists(lines: Iterable[Line], stated: str, top: int) -> list[Predicted]:
    """The lists of this length, where at least half as many links are hidden."""
    return [
        Predicted(line["network"], top, *line[stated][str(top)])
        for line in lines
        if str(top) in line[stated] and 2 * line["hidden"] >= top
    ]


def mean_by_network(lists: Sequence[Predicted]) -> tuple[np.ndarray, np.ndarray]:
    """The mean predicted and observed shares of each network."""
    names = sorted({each.network for each in lists})
    parts = [[each for each in lists if each.network == name] for name in names]
    return (
        np.array([np.mean([each.expected for each in part]) for part in parts]),
        np.array([np.mean([each.observed for each in part]) for part in parts]),
    )


COLUMNS = (
    "model, share stated, hidden",
    "list",
    "lists, networks",
    "predicted / observed",
    "mean |error|",
    "largest",
    "mean error",
    "in 90 % range",
    "variance of standardised errors",
)


def make_rows(lines: Sequence[Line], stated: str = "stated") -> list[tuple[str, ...]]:
    """A row for each model, share hidden and length of the list, where the share was `stated` or left at its
    "default"; shares in percent, the errors of the mean over a network's hidings.
    """
    rows = []
    models = sorted({(line["model"], line["minutes"]) for line in lines})
    for model, minutes in models:
        mine = [line for line in lines if (line["model"], line["minutes"]) == (model, minutes)]
        shares = sorted({line["share"] for line in mine})
        for share in (*shares, None) if len(shares) > 1 else shares:
            some = [line for line in mine if share is None or line["share"] == share]
            for top in TOPS:
                lists = collect_lists(some, stated, top)
                if lists:
                    name = f"{model}, {'true share' if stated == 'stated' else 'default share'}"
                    rows.append((f"{name}, {'all' if share is None else f'{100 * share:g} %'}", *_row(lists, top)))
    return rows


def _row(lists: Sequence[Predicted], top: int) -> tuple[str, ...]:
    expected, observed = mean_by_network(lists)
    error = 100 * (expected - observed)
    return (
        str(top),
        f"{len(lists)}, {len(error)}",
        f"{100 * expected.mean():.1f} / {100 * observed.mean():.1f}",
        f"{np.abs(error).mean():.1f}",
        f"{np.abs(error).max():.1f}",
        f"{error.mean():+.1f}",
        f"{100 * np.mean([each.inside for each in lists]):.0f}",
        f"{np.mean([each.deviation**2 for each in lists]):.2f}",
    )


def render(lines: Sequence[Line]) -> str:
    """The tables of the true and of the default share as Markdown, with where the lines come from."""
    tables = [[COLUMNS, ("---",) * len(COLUMNS), *make_rows(lines, stated)] for stated in SHARES]
    about = ", ".join(f"{name} {' '.join(sorted({str(line[name]) for line in lines}))}" for name in ("use", "commit"))
    texts = ["\n".join("| " + " | ".join(row) + " |" for row in rows) for rows in tables]
    return "\n\n".join([*texts, f"{len(lines)} trials, {about}"])


def draw(lines: Sequence[Line], path: Path) -> None:
    """Observed against predicted share, of each list, and of the best links in bins of their probability."""
    figure, axes = new_figure()
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1)
    for top in TOPS:
        lists = collect_lists(lines, "stated", top)
        axes.scatter([e.expected for e in lists], [e.observed for e in lists], s=9, alpha=0.5, label=f"best {top:,}")
    count, predicted, hits = np.sum([line["stated"]["bins"] for line in lines], axis=0)
    some = np.flatnonzero(count)
    axes.plot(predicted[some] / count[some], hits[some] / count[some], "k.-", label=f"links in {BINS} bins")
    axes.set(xlabel="predicted share of missing links", ylabel="observed share", xlim=(0, 1), ylim=(0, 1))
    axes.legend()
    figure.savefig(path)
