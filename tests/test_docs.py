"""What the documentation shows is true: its snippets run, its figures can be made again, its examples do what they say."""

import doctest
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_every_benchmark_says_what_it_does(path):
    done = subprocess.run([sys.executable, path, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ")


def test_snippets_of_numerics_run():
    result = doctest.testfile(str(ROOT / "docs" / "numerics.md"), module_relative=False, optionflags=FLAGS)
    assert result.attempted > 20
    assert result.failed == 0


def test_numerics_shows_every_figure():
    text = (ROOT / "docs" / "numerics.md").read_text()
    figures = sorted((ROOT / "docs" / "figures").glob("*.png"))
    assert len(figures) >= 4
    for name in ("perturbation", "theorem_1", "greenbaum", "theorem_2"):
        assert f"(figures/{name}.png)" in text
        assert (ROOT / "docs" / "figures" / f"{name}.png").stat().st_size < 80_000


def test_figures_can_be_made(tmp_path):
    pytest.importorskip("matplotlib")
    module(ROOT / "docs" / "make_figures.py").main(tmp_path)
    made = {path.name: path.read_bytes()[:4] for path in tmp_path.iterdir()}
    assert made == {f"{name}.png": b"\x89PNG" for name in ("perturbation", "theorem_1", "greenbaum", "theorem_2")}


def test_learned_constraints_recover_the_hidden_mix(capsys):
    first, last, found, hidden = module(ROOT / "examples" / "learn_constraints.py").main()
    assert last < first / 1000
    assert (found - hidden).abs().max() < 0.01
    assert "found direction" in capsys.readouterr().out


def test_notebooks_stand_with_the_outputs_of_their_cells():
    made = module(ROOT / "docs" / "make_notebooks.py").NOTEBOOKS
    for name, cells in made.items():
        stored = json.loads((ROOT / "docs" / "notebooks" / f"{name}.ipynb").read_text())
        assert ["".join(cell["source"]) for cell in stored["cells"]] == cells
        outputs = [out for cell in stored["cells"] for out in cell.get("outputs", [])]
        assert outputs
        assert all(out["output_type"] != "error" for out in outputs)
        assert any("image/png" in out.get("data", {}) for out in outputs)


@pytest.mark.slow
def test_notebooks_run():
    pytest.importorskip("nbclient", reason="notebooks are executed with the extra docs")
    command = [sys.executable, ROOT / "docs" / "make_notebooks.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
