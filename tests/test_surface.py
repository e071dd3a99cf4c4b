"""What compatibility means from 0.1 on: every public name with its parameters, and every option of a command, stands
in `tests/surface.txt`, so that a change is seen, and meant.
"""

import importlib
import inspect
from pathlib import Path

from typer.main import get_command

import llwlc
from llwlc._cli.app import app

LIST = Path(__file__).with_name("surface.txt")
SOURCE = Path(llwlc.__file__).parent


def public_names() -> list[str]:
    """The names that the package and each public subpackage export, and those of `errors` and `metrics`."""
    packages = sorted(path.parent.name for path in SOURCE.glob("[!_]*/__init__.py"))
    modules = ["llwlc", *(f"llwlc.{name}" for name in (*packages, "metrics"))]
    return sorted(f"{module}.{name}" for module in modules for name in importlib.import_module(module).__all__)


def get_object(name: str):
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def parameters_of(function) -> str:
    signature = inspect.signature(getattr(function, "py_func", function))
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    names, keyword_only = [], False
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            keyword_only = True
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            names.append("*")
            keyword_only = True
        names.append(stars.get(parameter.kind, "") + parameter.name)
    return f"({', '.join(names)})"


def calls() -> list[str]:
    """Each public function, class and method that is defined here, once, with its parameters."""
    found = {}
    for name in public_names():
        value = get_object(name)
        if inspect.ismodule(value) or not callable(value) or not getattr(value, "__module__", "").startswith("llwlc"):
            continue
        if isinstance(value, type) and issubclass(value, Exception):
            continue
        path = name if name.count(".") == 1 or value not in found else found[value]
        found[value] = min(path, found.get(value, path), key=lambda text: (text.count("."), text))
    lines = []
    for value, path in found.items():
        if not (isinstance(value, type) and getattr(value, "_is_protocol", False)):
            lines.append(path + parameters_of(value))
        for key in dir(value) if isinstance(value, type) else ():
            function = getattr(value, key)
            function = getattr(function, "__func__", function)
            if inspect.isfunction(function) and function.__module__.startswith("llwlc") and not key.startswith("_"):
                lines.append(f"{path}.{key}{parameters_of(function)}")
    return sorted(lines)


def options() -> list[str]:
    """Each option of each command, and its arguments by their place."""
    lines = []

    def walk(command, path):
        for name, below in getattr(command, "commands", {}).items():
            walk(below, f"{path} {name}")
        for parameter in command.params:
            given = [*parameter.opts, *parameter.secondary_opts]
            is_option = parameter.param_type_name == "option"
            lines.append(f"{path} {' '.join(given) if is_option else (parameter.name or '').upper()}")

    walk(get_command(app), "llwlc")
    return sorted(lines)


def surface() -> list[str]:
    return [*public_names(), "", *calls(), "", *options()]


def test_the_public_surface_is_that_of_the_list():
    found, listed = surface(), LIST.read_text().splitlines()
    new, gone = sorted(set(found) - set(listed)), sorted(set(listed) - set(found))
    assert found == listed, (
        f"the public surface changed (new: {new}, gone: {gone}). What is gone breaks the code of users: keep it as"
        " CONTRIBUTING.md says. If the change is meant: "
        'python -c \'import sys; sys.path.insert(0, "tests"); import test_surface as t; '
        't.LIST.write_text("\\n".join(t.surface()) + "\\n")\', and a line in CHANGELOG.md'
    )


def test_every_public_name_can_be_imported():
    for name in public_names():
        assert get_object(name) is not None
