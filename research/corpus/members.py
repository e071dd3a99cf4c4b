"""What the lines of blends hold beside their own scores: the scores of members and sums, and the quality of lists."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from research.experiments.lines import Line

TOPS = ("10", "50", "200")


def member_lines(lines: Sequence[Line]) -> list[Line]:
    """A line for each member and each sum of the members of a blend, as if it had been measured alone; its method is
    that of the blend and its own name, as in "blend/stack".
    """
    found = []
    for line in lines:
        each = line.get("members", ())
        for name in set.intersection(*(set(one) for one in each)) if each else ():
            values = {metric: [float(one[name][metric]) for one in each] for metric in ("auc", "ap")}
            means = {metric: float(np.mean(some)) for metric, some in values.items()}
            cell = replace(line.cell, method=f"{line.cell.method}/{name}")
            found.append(Line(cell, {**means, "folds": values, "seconds": line["seconds"]}))
    return found


def list_table(lines: Sequence[Line], method: str, groups: Mapping[str, str]) -> list[list[str]]:
    """The rows of a table, its header first: by domain, the share of hidden links that are candidates, and the
    precision of each list at 10, 50 and 200, in the mean over networks of the mean over splits. A network without a
    list of that length is left out there.
    """
    recall: dict[str, list[float]] = defaultdict(list)
    precision: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in (line for line in lines if line.cell.method == method):
        for one in line.get("list", ()):
            recall[line.cell.data].append(one["found"] / one["hidden"])
            for title, by_top in one["precision"].items():
                for top in TOPS:
                    if top in by_top:
                        precision[title, top][line.cell.data].append(by_top[top])
    domains = sorted({groups[network] for network in recall})
    titles = sorted({title for title, _ in precision}, key=lambda title: (title != method, title))
    header = ["list", *(f"{domain} @{top}" for domain in ("all", *domains) for top in TOPS)]
    rows = [header, ["hidden links that are candidates"]]
    for domain in ("all", *domains):
        chosen = [np.mean(some) for network, some in recall.items() if domain in ("all", groups[network])]
        rows[1] += [f"{100 * np.mean(chosen):.1f}", "", ""]
    for title in titles:
        row = [title]
        for domain in ("all", *domains):
            for top in TOPS:
                by = precision[title, top]
                means = [np.mean(some) for network, some in by.items() if domain in ("all", groups[network])]
                row.append(f"{100 * np.mean(means):.1f}" if means else "")
        rows.append(row)
    return rows
