"""What a user may rely on: every public name stands in `tests/surface.txt`, so that a change of the surface is seen,
and meant.
"""

import importlib
from pathlib import Path

import llwlc

LIST = Path(__file__).with_name("surface.txt")
SOURCE = Path(llwlc.__file__).parent


def surface() -> list[str]:
    """The public names of the package and of each public subpackage, and the classes of `errors` and functions of
    `metrics`.
    """
    packages = sorted(path.parent.name for path in SOURCE.glob("[!_]*/__init__.py"))
    modules = ["llwlc", *(f"llwlc.{name}" for name in (*packages, "metrics"))]
    return sorted(f"{module}.{name}" for module in modules for name in importlib.import_module(module).__all__)


def test_the_public_names_are_those_of_the_list():
    found, listed = surface(), LIST.read_text().split()
    new, gone = sorted(set(found) - set(listed)), sorted(set(listed) - set(found))
    assert found == listed, (
        f"the public names changed (new: {new}, gone: {gone}). If that is meant: "
        'python -c \'import sys; sys.path.insert(0, "tests"); import test_surface as t; '
        't.LIST.write_text("\\n".join(t.surface()) + "\\n")\', and a line in CHANGELOG.md'
    )


def test_every_public_name_can_be_imported():
    for name in surface():
        module, _, last = name.rpartition(".")
        assert getattr(importlib.import_module(module), last) is not None
