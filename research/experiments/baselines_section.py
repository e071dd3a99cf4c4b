"""Baselines beside their published numbers, with how far apart the two are, what a fit costs, and its memory."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from research.experiments.accuracy_section import METRICS, AccuracySection
from research.experiments.lines import Line, compute_mean_and_spread
from research.experiments.published import BASELINE_RESULTS
from research.experiments.table import NOTHING, Row, Selection, find_row_lines, format_parameters, format_spread

PUBLISHED_SEEDS = 10


@dataclass(frozen=True)
class BaselinesSection(AccuracySection):
    """Rows without a run are left out."""

    def header(self) -> list[str]:
        return [
            "data",
            "protocol",
            "method",
            "metric",
            "value",
            "published",
            "joint s.e. above",
            "AUC",
            "MRR",
            "negatives",
            "parameters",
            "seconds",
            "MB (GPU)",
            "seeds",
        ]

    def _says(self, row: Row, data: str, lines: Sequence[Line], chosen: Selection) -> bool:
        return bool(find_row_lines("accuracy", row, data, lines, chosen))

    def _row(self, row: Row, data: str, lines: Sequence[Line], chosen: Selection) -> list[str]:
        found = find_row_lines("accuracy", row, data, lines, chosen)
        metric, protocol = METRICS.get(data, "hits@100"), chosen.protocol or row.protocol
        known = (
            BASELINE_RESULTS.get((row.method, data.removesuffix("-planetoid")))
            if protocol == row.published_under
            else None
        )
        if row.options:
            known = None
        published = NOTHING if known is None else f"{known[0]:.2f}" + ("" if known[1] is None else f" ± {known[1]:.2f}")
        # a fit that was interrupted and resumed in another process has no time of its own
        times = [line["seconds"] for line in found if line.get("seconds") is not None]
        seconds = f"{statistics.mean(times):.1f}" if times else NOTHING
        memory = (
            f"{max(line.get('peak_mb', 0) for line in found)} ({max(line.get('gpu_peak_mb', 0) for line in found)})"
        )
        values = [100 * line[metric] for line in found]
        return [
            data,
            protocol,
            row.title,
            metric,
            format_spread(found, metric),
            published,
            count_standard_errors_above(values, known),
            format_spread(found, "auc"),
            format_spread(found, "mrr"),
            str(found[0]["num_negatives"]),
            format_parameters(found),
            seconds,
            memory,
            str(len(found)),
        ]


def count_standard_errors_above(values: list[float], known: tuple[float, float | None] | None) -> str:
    """How many joint standard errors ours lies above the published mean; of ours alone where its spread is unknown.

    >>> count_standard_errors_above([88.0, 90.0], (88.0, None))
    '+1.0'
    """
    mean, deviation = compute_mean_and_spread(values)
    if known is None or deviation is None:
        return NOTHING
    error = math.sqrt(deviation**2 / len(values) + (known[1] or 0) ** 2 / PUBLISHED_SEEDS)
    return f"{(mean - known[0]) / error:+.1f}" if error else NOTHING
