"""What is said twice about the project agrees: dependencies, Pythons, the version, the files of hosted CI."""

import re
import tomllib
from pathlib import Path

import pytest

from llwlc._support.version import VERSION

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read_yaml(path: Path):
    return pytest.importorskip("yaml").safe_load(path.read_text())


def pinned(name: str) -> dict[str, str]:
    rows = [row for row in (ROOT / name).read_text().splitlines() if row and not row.startswith("#")]
    return {distribution.replace("_", "-"): version for distribution, version in (row.split("==") for row in rows)}


def lower_bounds() -> dict[str, str]:
    """Of what the package and its extras need; the tools of development are always the newest."""
    extras = PROJECT["optional-dependencies"]
    needed = PROJECT["dependencies"] + [
        row for name in extras.keys() - {"dev", "docs", "notebook"} for row in extras[name] if "llwlc" not in row
    ]
    bounds = (re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", row).groups() for row in needed)
    return {distribution.replace("_", "-"): version for distribution, version in bounds}


def test_the_oldest_constraints_are_the_lower_bounds():
    oldest = {name: re.sub(r"(\.0)+$", "", version) for name, version in pinned("constraints-oldest.txt").items()}
    assert oldest.pop("click")  # of typer, which allows every release of it
    assert oldest == {name: re.sub(r"(\.0)+$", "", version) for name, version in lower_bounds().items()}


def test_the_constraints_pin_every_dependency():
    assert {name.lower() for name in lower_bounds()} <= {name.lower() for name in pinned("constraints.txt")}


def test_hosted_ci_runs_every_python_that_is_declared():
    jobs = read_yaml(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    declared = [row.rpartition(" ")[2] for row in PROJECT["classifiers"] if "Python :: 3." in row]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == declared
    assert PROJECT["requires-python"] == f">={declared[0]}"


def test_the_files_that_hosted_ci_names_exist():
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        steps = [step for job in read_yaml(workflow)["jobs"].values() for step in job.get("steps", [])]
        said = " ".join(step.get("run", "") for step in steps)
        named = re.findall(r"(?:src|scripts|tests|docs)/[\w/.]*\w|constraints[\w-]*\.txt|CHANGELOG\.md", said)
        assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_citation_has_the_version_of_the_package():
    assert read_yaml(ROOT / "CITATION.cff")["version"] == VERSION
