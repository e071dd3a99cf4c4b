"""Tuning: the trials of a search, best first, and the command that fits the best setting."""

from __future__ import annotations

import json
import math
import shlex
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import pyarrow as pa

from llwlc._support.html_table import html_table
from llwlc._tuning.space import Setting
from llwlc.errors import InputError

COLUMNS = {
    "rank": pa.int64(),
    **dict.fromkeys(("model", "preset", "options", "metric"), pa.string()),
    **dict.fromkeys(("mean", "standard_error"), pa.float64()),
    "folds": pa.int64(),
    "seconds": pa.float64(),
    "problem": pa.string(),
}
"""The columns of a table of settings."""


@dataclass(frozen=True)
class Trial:
    """A setting that was tried: its score on each fold, and how long that took.

    >>> trial = Trial(Setting("katz"), scores=(0.9, 0.8), seconds=3.0)
    >>> round(trial.mean, 3), round(trial.standard_error, 3)
    (0.85, 0.05)
    """

    setting: Setting
    """The model and its options."""
    scores: tuple[float, ...]
    """One for each fold that was finished."""
    seconds: float
    """The time of all its folds."""
    problem: str = ""
    """Why it did not finish, "" if it did."""

    @property
    def mean(self) -> float:
        """The mean score, NaN without a fold."""
        return statistics.fmean(self.scores) if self.scores else math.nan

    @property
    def standard_error(self) -> float:
        """Of the mean over folds, NaN for a single one."""
        return statistics.stdev(self.scores) / math.sqrt(len(self.scores)) if len(self.scores) > 1 else math.nan


@dataclass(frozen=True)
class Tuning(Sequence[Trial]):
    """What `LinkPredictor.tune` found: a sequence of trials, best first; unfinished ones come last.

    The best of many scores is biased upwards: fit the best setting to measure it on test links.

    >>> import networkx, llwlc
    >>> graph = llwlc.Graph.from_networkx(networkx.karate_club_graph())
    >>> found = llwlc.LinkPredictor(model="katz").tune(graph, models=["katz", "adamic-adar"], minutes=None, trials=2)
    >>> len(found), found[0].mean >= found[1].mean
    (2, True)
    >>> predictor = llwlc.LinkPredictor(**found.parameters).fit(graph)
    """

    trials: tuple[Trial, ...]
    """All trials, best first."""
    metric: str
    """The metric they are compared by, on hidden links and as many non-links."""
    folds: int
    """How many times links were hidden."""
    links: int
    """How many links were hidden each time."""
    fit_words: tuple[str, ...] = ()
    """Arguments of `llwlc fit` beside the setting."""
    directed: bool = False
    """Whether the fit will predict directions too, which have no setting to compare."""

    @overload
    def __getitem__(self, at: int) -> Trial: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Trial, ...]: ...
    def __getitem__(self, at: int | slice) -> Trial | tuple[Trial, ...]:
        return self.trials[at]

    def __len__(self) -> int:
        return len(self.trials)

    @property
    def best(self) -> Setting:
        """The best setting."""
        if not self.trials or len(self.trials[0].scores) < self.folds:
            problem = next((trial.problem for trial in self.trials if trial.problem), "the time budget was too short")
            raise InputError(f"no setting was fitted on all {self.folds} folds ({problem}): increase minutes")
        return self.trials[0].setting

    @property
    def parameters(self) -> dict[str, Any]:
        """The best setting as parameters of `LinkPredictor`."""
        directed = {"directed": True} if self.directed else {}
        return {"preset": self.best.preset, "model": self.best.model, **directed, **dict(self.best.options)}

    def command(self, graph: str = "GRAPH", *options: str) -> str:
        """The command that fits the best setting.

        Args:
            graph: the file or dataset.
            *options: further arguments of the command, such as those that name columns.
        """
        words = [*options, *(["--directed"] if self.directed else []), *self.best.words, *self.fit_words]
        return shlex.join(["llwlc", "fit", graph, *words, "--out", "run"])

    def to_arrow(self) -> pa.Table:
        """The trials as an arrow table."""
        rows = [
            {
                "rank": place,
                "model": trial.setting.model,
                "preset": trial.setting.preset,
                "options": json.dumps(trial.setting.plain_options),
                "metric": self.metric,
                "mean": trial.mean if trial.scores else None,
                "standard_error": trial.standard_error if len(trial.scores) > 1 else None,
                "folds": len(trial.scores),
                "seconds": trial.seconds,
                "problem": trial.problem or None,
            }
            for place, trial in enumerate(self.trials, 1)
        ]
        return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in COLUMNS.items()})

    def _repr_html_(self) -> str:
        return html_table(self.title, ("setting", self.metric, "± s.e.", "folds", "seconds"), self.rows)

    @property
    def title(self) -> str:
        """A summary of the search in one line."""
        return (
            f"{len(self)} settings, each fitted {self.folds} times on training and validation links and compared"
            f" on {self.links:,} hidden ones ({self.metric}, in percent); test links were not used"
            + ("; the direction of links, which has no settings, was not compared" if self.directed else "")
        )

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The table that is shown: setting, score, its standard error, folds, seconds."""
        return [
            (
                str(trial.setting),
                f"{100 * trial.mean:.2f}" if trial.scores else "–",
                f"{100 * trial.standard_error:.2f}" if len(trial.scores) > 1 else "–",
                str(len(trial.scores)) if not trial.problem else trial.problem,
                f"{trial.seconds:.0f}",
            )
            for trial in self.trials
        ]
