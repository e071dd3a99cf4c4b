"""Tables of the pages that are not written by `research.reproduce_tables`, against the stored lines they are of."""

from __future__ import annotations

import importlib.util
import json
import re
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

from research.experiments.lines import compute_mean_and_spread

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "research" / "results"
BREC = ("brec-basic", "brec-regular", "brec-str", "brec-extension", "brec-cfi", "brec-4vtx", "brec-dr")
ATLAS_PAIRS = 783_126


def table_row(page: str, first: str, width: int) -> list[str]:
    """The row of the page's tables that begins with this cell and has this many cells."""
    text = (ROOT / page).read_text()
    rows = [[c.strip(" `") for c in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    (found,) = (row for row in rows if row[0] == first and len(row) == width)
    return found


def note(name: str) -> Path:
    return ROOT / "research" / "notes" / f"2026-11-19-{name}.md"


def benchmark(name: str) -> ModuleType:
    """A script of research/benchmarks as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "research" / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expressivity() -> dict[tuple[str, str], dict]:
    return {(row["suite"], row["policy"]): row for row in json.loads((RESULTS / "expressivity.json").read_text())}


POLICIES = sorted({policy for _, policy in expressivity()})


@pytest.mark.parametrize("policy", POLICIES)
def test_separated_pairs_of_each_policy(policy):
    found = expressivity()
    name = policy.upper() if policy.endswith("wl") else policy
    brec, others = (table_row("research/notes/2026-11-19-expressivity.md", name, width) for width in (11, 6))
    for suite, cell in zip(BREC, brec[1:], strict=False):
        row = found[suite, policy]
        assert cell == f"{row['separated']}{'+' if row['skipped'] else ''}", suite
    assert brec[8].rstrip("+") == str(sum(found[suite, policy]["separated"] for suite in BREC))
    for suite, cell in zip(("paper", "csl", "sr16622", "sr251256"), others[1:], strict=False):
        assert cell == str(found[suite, policy]["separated"]), suite
    together = ATLAS_PAIRS - found["atlas", policy]["separated"]
    assert others[5] == ("all" if together == 0 else f"all but {together}")


def test_the_page_on_constraints_has_the_totals_of_brec():
    found = expressivity()
    shown = ("1-wl", "3-wl", "none", "enclosing", "neumann", "stacked", "deleted-3", "filter-0", "filter-2", "filter")
    for policy in shown:
        name = policy.upper() if policy.endswith("wl") else policy
        total = sum(found[suite, policy]["separated"] for suite in BREC)
        assert table_row("docs/expressivity.md", name, 3)[2].strip("*") == str(total), policy
    readme = (ROOT / "README.md").read_text()
    totals = [sum(found[suite, policy]["separated"] for suite in BREC) for policy in ("none", "filter-0", "filter")]
    said = "the plain spectrum separates {}, plain filters {}, and filters on constrained bases {}"
    assert said.format(*totals) in readme


def test_speeds_are_those_of_the_stored_runs():
    runs = [json.loads((RESULTS / f"bench_{name}.json").read_text()) for name in ("cora", "pubmed")]
    ours = [1e6 * run["seconds"]["pairs to bases, numba"] for run in runs]
    recipe, lobpcg, eigsh, reference = (
        [run["ratios"][name] for run in runs]
        for name in ("recipe (a) alone", "recipe (a), then (c) lobpcg", "recipe (a), then (c) eigsh", "the reference")
    )
    readme, page = ((ROOT / name).read_text() for name in ("README.md", "docs/speed.md"))
    assert "`llwlc`, µs a link | {:.1f} | {:.1f} |".format(*ours) in readme
    assert "**`llwlc`, µs a link** | **{:.1f}** | **{:.1f}** |".format(*ours) in page
    for text, form in ((readme, "| {:.0f} | {:.0f} |"), (page, "| {:.0f} × | {:.0f} × |")):
        assert form.format(*recipe) in text
        assert form.format(*lobpcg) in text
    assert "| {:.0f} × | {:.0f} × |".format(*eigsh) in page
    assert "| {:.0f} × | {:.0f} × |".format(*reference) in page


def test_learned_separations_and_their_spread():
    """T² above 72.34 separates; a trial of each of BREC's 400 pairs and seeds."""
    separated, pairs = defaultdict(set), defaultdict(int)
    for line in (RESULTS / "expressivity_learned.jsonl").read_text().splitlines():
        trial = json.loads(line)
        pairs[trial["seed"]] += 1
        assert trial["reliability"] < 72.34
        if trial["statistic"] > 72.34:
            separated[trial["seed"]].add(trial["pair"])
    assert set(pairs.values()) == {400}
    counts = [len(separated[seed]) for seed in sorted(separated)]
    mean, spread = compute_mean_and_spread([float(count) for count in counts])
    every, some = set.intersection(*separated.values()), set.union(*separated.values())
    text = re.sub(r"\s+", " ", note("expressivity").read_text())
    assert f"**{mean:.1f} ± {spread:.1f} of 400**" in text
    assert f"({', '.join(map(str, counts))}; {len(every)} by all of them, {len(some)} by any)" in text


@pytest.fixture
def recommendations(capsys) -> list[list[str]]:
    """Rows of `recommend.py --show`."""
    benchmark("recommend").show(RESULTS / "recommend.jsonl")
    lines = capsys.readouterr().out.splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line[:1] == "|"]


def accuracies(rows: list[list[str]], method: str, graphs: tuple[str, ...]) -> list[list[str]]:
    """Of each graph: found, AP, AP of the best heuristic, gain, two precisions beside the best of all, HR@100."""
    found = {row[0]: row[3:] for row in rows if row[1] == method and len(row) == 10}
    return [found[graph] for graph in graphs]


def test_recommendations_are_the_stored_ones(recommendations):
    lines = ["| " + " | ".join([row[0], *row[2:]]) + " |" for row in recommendations if row[1] == "llwlc"]
    page = note("recommendations").read_text()
    assert len(lines) >= 18
    assert [line for line in lines if line not in page] == []


def test_predicted_and_observed_shares_of_the_page_are_the_stored_ones(recommendations):
    page = (ROOT / "docs" / "howto" / "probabilities.md").read_text()
    shares = {row[0]: row[2] for row in recommendations if row[1] == "llwlc" and len(row) == 5}
    assert len(shares) == 9
    assert [graph for graph, cell in shares.items() if f"| {graph} | {cell} |" not in page] == []


def test_the_readmes_recommendations_are_the_stored_ones(recommendations):
    cells = accuracies(recommendations, "llwlc", ("cora", "citeseer", "pubmed"))
    readme = (ROOT / "README.md").read_text()
    precision = []
    for _, ours, best, *_ in cells:
        numbers = [f"{float(x):.1f}" for x in (*ours.split(" ± "), best.split(" ")[0])]
        precision.append(f"{numbers[0]} ± {numbers[1]}, {numbers[2]}")
    assert f"| {' | '.join(precision)} |" in readme
    shares = [" %, ".join(c[4].split(" (")[0].split(", ")) + " %" for c in cells]
    assert f"| {' | '.join(shares)} |" in readme


@pytest.mark.parametrize(
    ("method", "title"),
    [
        ("buddy", "BUDDY"),
        ("lanczosnet", "LanczosNet (3 seeds)"),
        ("mlp", "MLP"),
        ("pagerank", "PageRank"),
        ("katz", "Katz"),
        ("ncnc", "NCNC"),
        ("gcn", "GCN"),
        ("ncn", "NCN"),
        ("gae", "GAE"),
        ("seal", "SEAL (3 seeds)"),
        ("sage", "SAGE"),
    ],
)
def test_recommendations_of_the_baselines_are_the_stored_ones(recommendations, method: str, title: str):
    both = accuracies(recommendations, method, ("cora", "citeseer"))
    cells = [c[1] for c in both] + [c[at].split(",")[0] for at in (4, 5) for c in both]
    cells += [c[6].split(" ")[0] for c in both]
    assert f"| {title} | {' | '.join(cells)} |" in note("baselines").read_text()


def test_fidelity_of_explanations_is_the_stored_one():
    page = note("explanations").read_text()
    for text in (RESULTS / "explanations.jsonl").read_text().splitlines():
        line = json.loads(text)
        pairs = ["fidelity+", "fidelity-", "probability+", "probability-"]
        with_error = [f"{line[name]:.3f} ± {line[f'{name} error']:.3f}" for name in pairs]
        cells = [line["graph"], str(line["size"]), line["method"], *with_error[:2], f"{line['characterization']:.3f}"]
        assert f"| {' | '.join([*cells, *with_error[2:]])} |" in page


def test_budgets_are_the_stored_ones(capsys):
    benchmark("budget").table(RESULTS / "budget.jsonl")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    page = note("time-budgets").read_text()
    assert len(lines) > 50
    assert [line for line in lines if line not in page] == []
