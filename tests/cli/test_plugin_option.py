"""`--plugin`: a user's own file is run, what it registered is said and can be used; a bad one ends in a sentence."""

import inspect
import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from llwlc._cli.app import app
from llwlc._support.plugins import load_plugin
from llwlc.bases._starts import STARTS
from llwlc.constraints._registry import FAMILIES
from llwlc.datasets import DATASETS
from llwlc.errors import InputError
from llwlc.nn._registry import READOUTS
from llwlc.splits import PROTOCOLS

MINE = '''
import torch

import llwlc
from llwlc.graph._graph import Graph
from llwlc.splits._registry import Sizes
from llwlc.splits._registry import register as protocol


@llwlc.constraints.register("common")
def common(subs):
    """Common neighbours sum to zero."""
    both = (subs.dist_u == 1) & (subs.dist_v == 1)
    return llwlc.constraints.custom(subs, both.double(), names=["common"])


@llwlc.datasets.register("my-ring", about="a ring with chords", nodes=40, edges=80)
def ring(root=None):
    at = torch.arange(40)
    return Graph.from_edges(torch.cat([torch.stack([at, (at + step) % 40], 1) for step in (1, 2)]))


@protocol("halves", about="half for training")
def halves(num_edges):
    held = num_edges // 4
    return Sizes(num_edges - 2 * held, held, held, held, held)
'''
QUICK = ["--set", "epochs=1", "--set", "copies=0", "--set", "negative_pool=1"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to stand in; what a plugin registers is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLWLC_CACHE", str(tmp_path / "cache"))
    yield tmp_path
    forget()


def forget() -> None:
    for registry in (DATASETS, PROTOCOLS, FAMILIES, STARTS, READOUTS):
        for record in registry.records():
            if not record.builtin:
                registry.remove(record.name)


def llwlc(*arguments: str | Path):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_a_plugin_says_what_it_registered_and_leaves_nothing_beside_it(here):
    (here / "mine.py").write_text(MINE)
    assert load_plugin(Path("mine.py")) == ["constraint common", "dataset my-ring", "protocol halves"]
    assert os.listdir(here) == ["mine.py"]
    code = FAMILIES["common"].load()
    assert inspect.getsourcefile(code) == str(here / "mine.py")
    assert sys.modules[code.__module__].__file__ == str(here / "mine.py")


def test_an_edited_plugin_counts_at_once(here):
    """The same size within the same second: bytecode kept by time and size would be the old one's."""
    seen = []
    for number in (1, 2):
        (here / "mine.py").write_text(
            f"import llwlc\n@llwlc.constraints.register('own')\ndef own(subs):\n    return {number}\n"
        )
        os.utime(here / "mine.py", (1e9, 1e9))
        assert load_plugin(here / "mine.py") == ["constraint own"]
        seen.append((FAMILIES["own"].load()(None), FAMILIES["own"].digest))
    assert [value for value, _ in seen] == [1, 2]
    assert seen[0][1] != seen[1][1]


def test_two_files_of_one_name_are_two_modules(here):
    for folder in ("a", "b"):
        (here / folder).mkdir()
        (here / folder / "mine.py").write_text(
            f"import llwlc\n@llwlc.constraints.register('from_{folder}')\ndef own(subs):\n    return 1\n"
        )
        load_plugin(here / folder / "mine.py")
    assert FAMILIES["from_a"].load().__module__ != FAMILIES["from_b"].load().__module__


BAD = {
    "absent.py": (None, "there is no plugin absent.py"),
    "folder.py": ("folder", "folder.py is a folder"),
    "mine.txt": (MINE, "mine.txt is not a Python file: its name has to end in .py"),
    "nothing.py": ("x = 1\n", "nothing.py registers nothing"),
    "syntax.py": ("x = 1\ndef f(:\n", "plugin syntax.py, line 2: SyntaxError: "),
    "raises.py": (
        "def f():\n    return 1 / 0\n\nf()\n",
        "plugin raises.py, line 2: ZeroDivisionError: division by zero",
    ),
    "leaves.py": ("import sys\nsys.exit(3)\n", "plugin leaves.py, line 2: SystemExit: 3"),
    "lacks.py": ("import no_such_thing\n", "line 1: ModuleNotFoundError: No module named 'no_such_thing'"),
    "latin.py": ("x = 'Zoé'\n".encode("latin-1"), "plugin latin.py"),
    "zeros.py": (b"\0\0", "plugin zeros.py"),
    "taken.py": (
        "import llwlc\n@llwlc.constraints.register('neumann')\ndef own(subs):\n    return 1\n",
        "taken.py, line 2: there is a constraint called 'neumann' already",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_plugin_ends_in_a_sentence(here, name):
    content, message = BAD[name]
    if content == "folder":
        (here / name).mkdir()
    elif content is not None:
        (here / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    before = set(here.rglob("*"))
    with pytest.raises(InputError) as error:
        load_plugin(Path(name))
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    result = llwlc("data", "list", "--plugin", name)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert set(here.rglob("*")) == before


@pytest.mark.parametrize(
    "line", ["fit cora", "score run pairs.csv", "recommend run", "evaluate run", "data list", "data show cora"]
)
def test_every_command_loads_it_before_it_looks_at_anything_else(here, line):
    result = llwlc(*line.split(), "--plugin", "absent.py")
    assert result.exit_code == 2
    assert "there is no plugin absent.py" in result.stderr


def test_a_run_of_ones_own_graph_constraint_and_protocol(here):
    (here / "mine.py").write_text(MINE)
    plugin = ("--plugin", "mine.py")
    listed = llwlc("data", "list", *plugin)
    assert "a ring with chords" in listed.stdout
    assert "mine.py: constraint common, dataset my-ring, protocol halves" in listed.stderr
    assert "80" in llwlc("data", "show", "my-ring", *plugin).stdout
    own = ["--set", "constraints=common+neumann", "--protocol", "halves"]
    done = llwlc("fit", "my-ring", "--out", "run", "--verbose", *plugin, *own, *QUICK)
    assert done.exit_code == 0, done.output
    assert "protocol halves" in done.stdout

    forget()
    refused = llwlc("recommend", "run")
    assert refused.exit_code == 2
    assert "needs the constraint 'common' (from mine.py)" in refused.stderr
    assert "--plugin FILE" in refused.stderr
    assert llwlc("recommend", "run", *plugin).exit_code == 0
    forget()
    (here / "pairs.csv").write_text("source,target\n0,7\n")
    assert llwlc("score", "run", "pairs.csv", *plugin).exit_code == 0
    forget()
    again = llwlc("evaluate", "run", "--protocol", "halves", "--seeds", "1", *plugin)
    assert again.exit_code == 0, again.output
    assert "protocol halves, 1 seed," in again.stdout


@pytest.mark.filterwarnings("default")
def test_a_plugin_that_changed_since_is_warned_of_plainly(here):
    (here / "mine.py").write_text(MINE)
    fit = ["fit", "my-ring", "--out", "run", "--plugin", "mine.py", "--set", "constraints=common", *QUICK]
    assert llwlc(*fit).exit_code == 0
    (here / "mine.py").write_text(MINE.replace("both.double()", "2 * both.double()"))
    told = llwlc("recommend", "run", "--plugin", "mine.py")
    assert told.exit_code == 0
    assert "Warning: the constraint 'common' (from mine.py) has changed since the run run" in told.stderr
    assert "UserWarning" not in told.stderr
