"""A benchmark's report as a table, as JSON and as a plot."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict
from pathlib import Path

from llwlc._support.files import write_text
from llwlc.errors import StorageError
from research.bench.gpu import GpuReport
from research.bench.run import Report
from research.bench.scores import ScoresReport

# targets of the ratios: lower and upper bounds
AT_LEAST = {
    "recipe (a) alone": 30,
    "recipe (a), then (c) lobpcg": 300,
    "recipe (a), then (c) eigsh": 300,
    "two threads, against one": 1.8,
}
AT_MOST = {"plain C++ loop": 2.0, "nodes": 1.1, "edges": 1.1}


def table(report: Report) -> list[tuple[str, str, str]]:
    """What `run` measured, as rows of (what, figure, remark).

    Args:
        report: what `run` returned.

    >>> table(Report("cora", 4, 36.0, 90.0, {"numba": 1e-5}, {}))[1]
    ('numba', '10.0 µs a link', '100,000 links/s')
    """
    rows = [
        (
            "graph",
            report.graph,
            f"{report.links} links, {report.nodes_per_link:.0f} nodes and {report.edges_per_link:.0f} edges each",
        )
    ]
    rows += [
        (name, f"{1e6 * spent:,.1f} µs a link", f"{1 / spent:,.0f} links/s") for name, spent in report.seconds.items()
    ]
    for name, ratio in report.ratios.items():
        rows.append((f"times {name}", f"{ratio:.1f} ×", f"at least {AT_LEAST[name]}" if name in AT_LEAST else ""))
    if report.plain:
        figure = f"{1e6 * report.plain['ours']:.1f} against {1e6 * report.plain['plain']:.1f} µs a graph"
        rows.append(("Lanczos stage, plain C++ loop", f"{report.plain['ratio']:.2f} ×", f"at most 2; {figure}"))
    for name, exponent in report.exponents.items():
        rows.append(
            (f"growth in {name}", f"exponent {exponent:.2f}", f"at most {AT_MOST[name]}" if name in AT_MOST else "")
        )
    if report.model_error is not None:
        model = "κE + κ(κ+k)n + k²n + k³"
        rows.append((f"time against {model}", f"{100 * report.model_error:.0f} % off", "median over the grid"))
    rows += [(f"memory, {name}", f"{size:.2f} GB", "peak") for name, size in report.memory.items()]
    rows += [(name, f"{spent:.2f} s", "one core") for name, spent in report.epoch.items()]
    rows += [(name, str(value), "") for name, value in report.machine.items()]
    return rows


def save(report: Report | GpuReport | ScoresReport, out: str | Path) -> list[Path]:
    """Writes `bench.json`, and `bench.png` where matplotlib is installed and there is something to compare.

    Args:
        report: what `run`, `run_gpu` or `run_scores` returned.
        out: the folder to write to.

    Returns:
        The files.

    >>> import tempfile
    >>> report = GpuReport("cora", 4, 36.0, 90.0, {"bases": 1e-6}, 1e-3, 1e5, 1e12)
    >>> [path.name for path in save(report, tempfile.mkdtemp())]
    ['bench.json']
    """
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / "bench.json"
        write_text(target, json.dumps(asdict(report), indent=1, ensure_ascii=False) + "\n")
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(
            f"{folder}: the report cannot be written there ({error}); give another folder by --out"
        ) from error
    files = [target]
    if not isinstance(report, Report):
        return files
    with contextlib.suppress(ImportError):
        files.append(plot(report, folder / "bench.png"))
    return files


def plot(report: Report, path: Path) -> Path:
    """Time a link of every method as bars, and time a graph against nodes, edges, κ and k on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    names = list(report.seconds)[::-1]
    ours = ["#2a6f97" if "numba" in name else "#89c2d9" if "reference" in name else "#bbbbbb" for name in names]
    left.barh(names, [1e6 * report.seconds[name] for name in names], color=ours)
    left.set(xscale="log", xlabel="µs a link, one core", title=f"{report.graph}, {report.links} links")
    place = {"nodes": 0, "edges": 1, "κ": 2, "k": 3}
    size = len(report.points) // len(place) if report.points else 0
    for name, i in place.items():
        part = report.points[i * size : (i + 1) * size]
        if part:
            exponent = report.exponents[name]
            x, y = [point[i] for point in part], [1e6 * point[4] for point in part]
            right.plot(x, y, "o-", label=f"{name}: {exponent:.2f}")
    if report.points:
        right.legend(title="exponents")
    right.set(xscale="log", yscale="log", xlabel="nodes, edges, κ, k", ylabel="µs a graph", title="growth of the basis")
    figure.savefig(path, dpi=150)
    return path
