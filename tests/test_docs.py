"""What the documentation shows is true: its snippets run, its figures can be made again, its examples do what they
say.
"""

import doctest
import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from llwlc._cli.app import app
from research.cli.app import app as study

ROOT = Path(__file__).parents[1]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def note(name):
    return ROOT / "research" / "notes" / f"2026-11-19-{name}.md"


@pytest.mark.parametrize("path", sorted((ROOT / "research" / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_every_benchmark_says_what_it_does(path):
    done = subprocess.run([sys.executable, path, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ")


def test_the_table_of_new_nodes_is_that_of_the_stored_lines():
    benchmark = module(ROOT / "research" / "benchmarks" / "cold_start.py")
    assert benchmark.table(benchmark.read(benchmark.RESULTS)) in note("new-nodes").read_text()


def test_the_seconds_of_a_first_fit_are_those_of_the_stored_lines():
    benchmark = module(ROOT / "research" / "benchmarks" / "first_fit.py")
    assert benchmark.sentence(benchmark.read(benchmark.RESULTS)) in (ROOT / "docs" / "speed.md").read_text()


def test_the_table_of_directions_is_that_of_the_stored_lines():
    benchmark = module(ROOT / "research" / "benchmarks" / "directions.py")
    assert benchmark.table(benchmark.read(benchmark.RESULTS), range(5)) in note("direction").read_text()


def test_the_table_of_typed_links_is_that_of_the_stored_lines():
    benchmark = module(ROOT / "research" / "benchmarks" / "typed_links.py")
    table = benchmark.table(benchmark.read(benchmark.RESULTS))
    assert table in (ROOT / "docs/howto/relations.md").read_text()
    assert table in (ROOT / "research/notes/2026-11-19-typed-links.md").read_text()


GUIDES = {
    "own_data": 8,
    "databases": 4,
    "control": 8,
    "directed": 4,
    "new_nodes": 6,
    "users_and_items": 4,
    "relations": 8,
}
"""Pages whose commands are run as well, and how many these are."""
NOTES = sorted((ROOT / "research" / "notes").glob("*.md"))
PAGES = [path for path in [*sorted((ROOT / "docs").rglob("*.md")), *NOTES] if ">>> " in path.read_text()]


@pytest.mark.parametrize("path", [p for p in PAGES if p.stem not in GUIDES], ids=lambda path: path.stem)
def test_snippets_run(path):
    run_snippets(path)


def run_snippets(path):
    result = doctest.testfile(str(path), module_relative=False, optionflags=FLAGS)
    assert result.attempted > 2
    assert result.failed == 0


@pytest.mark.filterwarnings("ignore::llwlc.graph.GraphWarning")
@pytest.mark.parametrize("name", GUIDES)
def test_commands_and_snippets_of_the_guide_run(tmp_path, monkeypatch, name):
    """Blocks of ```console: a command behind "$ ", then what it prints, where "..." stands for anything."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    guide = next((ROOT / "docs").rglob(f"{name}.md"))
    blocks = re.findall(r"^```console\n(\$ .*?)^```", guide.read_text(), re.MULTILINE | re.DOTALL)
    steps = [step for block in blocks for step in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)]
    assert len(steps) > GUIDES[name]
    for command, wanted in steps:
        printed = output_of(command)
        assert doctest.OutputChecker().check_output(wanted, printed, FLAGS), f"{command}\n{printed}"
    run_snippets(guide)


def output_of(command):
    words = shlex.split(command)
    if words[0] == "llwlc":
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code == (2 if "Error: " in done.output else 0), done.output
        return done.output
    if words[0] == "python":
        words[:2] = [sys.executable, str(ROOT / words[1])]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_the_note_on_convergence_shows_every_figure():
    text = note("convergence-bounds").read_text()
    figures = sorted((ROOT / "docs" / "figures").glob("*.png"))
    assert len(figures) >= 4
    for name in ("perturbation", "theorem_1", "greenbaum", "theorem_2"):
        assert f"(../../docs/figures/{name}.png)" in text
        assert (ROOT / "docs" / "figures" / f"{name}.png").stat().st_size < 80_000


def test_figures_can_be_made(tmp_path):
    pytest.importorskip("matplotlib")
    module(ROOT / "docs" / "make_figures.py").main(tmp_path)
    made = {path.name: path.read_bytes()[:4] for path in tmp_path.iterdir()}
    assert made == {f"{name}.png": b"\x89PNG" for name in ("perturbation", "theorem_1", "greenbaum", "theorem_2")}


def test_the_pictures_of_graphs_can_be_made_and_are_shown(tmp_path):
    pytest.importorskip("matplotlib")
    module(ROOT / "docs" / "make_graph_pictures.py").main(tmp_path)
    made = {path.name: path.read_bytes()[:4] for path in tmp_path.iterdir()}
    assert made == {"pipeline.png": b"\x89PNG", "six_ring.png": b"\x89PNG"}
    text = (ROOT / "docs" / "expressivity.md").read_text()
    assert all(f"(figures/{name})" in text and (ROOT / "docs" / "figures" / name).is_file() for name in made)


def test_the_picture_of_a_list_can_be_made_and_is_shown(tmp_path):
    pytest.importorskip("matplotlib")
    module(ROOT / "docs" / "make_list_picture.py").main(tmp_path, model="adamic-adar")
    assert (tmp_path / "first_list.png").read_bytes()[:4] == b"\x89PNG"
    assert "(docs/figures/first_list.png)" in (ROOT / "README.md").read_text()
    assert "(figures/first_list.png)" in (ROOT / "docs" / "first_list.md").read_text()


def test_learned_constraints_recover_the_hidden_mix(capsys):
    first, last, found, hidden = module(ROOT / "examples" / "learn_constraints.py").main()
    assert last < first / 1000
    assert (found - hidden).abs().max() < 0.01
    assert "found direction" in capsys.readouterr().out


def test_pyg_models_see_what_message_passing_does_not():
    """At most 60 lines each; a GIN explains nothing of triangles in regular graphs, the model with the basis most."""
    for name in ("pyg_graphs", "pyg_nodes", "pyg_links"):
        assert len((ROOT / "examples" / f"{name}.py").read_text().splitlines()) <= 60, name
    blind, seeing = module(ROOT / "examples" / "pyg_graphs.py").main()
    assert blind < 0.2
    assert seeing > 0.6
    blind, seeing = module(ROOT / "examples" / "pyg_nodes.py").main()
    assert blind < 0.8
    assert seeing > 0.95
    assert module(ROOT / "examples" / "pyg_links.py").main(links=400, epochs=25) > 0.75


def test_notebooks_stand_with_the_outputs_of_their_cells():
    made = module(ROOT / "docs" / "make_notebooks.py").NOTEBOOKS
    for name, cells in made.items():
        stored = json.loads((ROOT / "docs" / "notebooks" / f"{name}.ipynb").read_text())
        assert ["".join(cell["source"]) for cell in stored["cells"]] == cells
        outputs = [out for cell in stored["cells"] for out in cell.get("outputs", [])]
        assert outputs
        assert all(out["output_type"] != "error" for out in outputs)
        assert any("image/png" in out.get("data", {}) for out in outputs)


EVERY_PAGE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")), *NOTES]


def test_the_pages_stay_short():
    """Words with a letter, outside blocks of code: what was measured and tried belongs to research/notes."""
    pages = [page for page in EVERY_PAGE if page not in NOTES and page.stem != "CONTRIBUTING"]
    texts = [re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL) for page in pages]
    assert sum(len(re.findall(r"(?<!\S)\S*[A-Za-z]\S*", text)) for text in texts) <= 20_000


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.stem)
def test_every_command_that_a_page_names_exists(page):
    text = page.read_text()
    ours = {command.name or command.callback.__name__ for command in app.registered_commands if not command.hidden}
    ours |= {group.name for group in app.registered_groups}
    theirs = {command.name or command.callback.__name__ for command in study.registered_commands}
    named = re.findall(r"(?:^|`|\$ )llwlc ([a-z_]+)", text, re.MULTILINE)
    assert set(named) <= ours
    assert set(re.findall(r"python -m research ([a-z]+)", text)) <= theirs
    scripts = re.findall(r"(?:python|pytest) ((?:[a-z_]+/)+[a-z_]+\.py)", text)
    assert [script for script in scripts if not (ROOT / script).exists()] == []
