"""The page's figures on the final networks, recomputed from the stored lines."""

from pathlib import Path

import numpy as np
import pytest

from research.corpus.comparison import ScoreTable, differences, holm
from research.corpus.members import TOPS, list_table, member_lines
from research.corpus.networks import corpus_folder, select_networks
from research.experiments.lines import read_lines

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
COLUMNS = ("blend", "blend/llwlc", "blend/stack", "three-paths", "spectral", "katz", "adamic-adar")

pytestmark = pytest.mark.skipif(not corpus_folder().exists(), reason="the table of the corpus is not at hand")


@pytest.fixture(scope="module")
def lines():
    final = {network.name for network in select_networks("final")}
    found = [line for line in read_lines(ROOT / "research" / "results" / "corpus.jsonl") if line.cell.data in final]
    return found + member_lines([line for line in found if line.cell.method == "blend"])


@pytest.fixture(scope="module")
def groups():
    return {network.name: network.group for network in select_networks("final")}


@pytest.fixture(scope="module")
def auc(lines):
    return ScoreTable.of(lines, COLUMNS, "auc")


def test_mean_auc_by_domain(auc, groups):
    domains = [None, *sorted(set(groups.values()))]
    for domain in domains:
        chosen = [name for name in auc.values if domain in (None, groups[name])]
        if len(chosen) > 1:
            values = " | ".join(f"{100 * auc.mean(model, chosen):.1f}" for model in COLUMNS)
            assert f"| {domain or 'all'} ({len(chosen)}) | {values} |" in PAGE


@pytest.mark.parametrize("model", ["blend/llwlc", "blend/stack"])
def test_differences_from_the_members(auc, model):
    apart = differences(auc, "blend", model)
    mean = 100 * np.mean([one.mean for one in apart])
    error = 100 * np.sqrt(np.sum([one.error**2 for one in apart if one.error is not None])) / len(apart)
    assert f"{mean:.2f} ± {error:.2f}".replace("-", "−") in PAGE
    assert not any(cut and one.mean < 0 for cut, one in zip(holm([one.p for one in apart]), apart, strict=True))


def test_precision_of_lists(lines, groups):
    blends = [line for line in lines if line.cell.method == "blend"]
    header, *rows = list_table(blends, "blend", groups)
    for name in ("blend", "paths of length 3", "Adamic–Adar"):
        row = next(row for row in rows if row[0] == name)
        values = [row[header.index(f"all @{top}")] for top in TOPS]
        assert f"| {name if name != 'blend' else 'the default'} | {' | '.join(values)} |" in PAGE
