"""The documentation site builds without a warning, and its reference has every name that the package exports,
documented in full.
"""

import dataclasses
import importlib
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from llwlc._support import options

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "llwlc"
PACKAGES = sorted({path.parent.name for path in SOURCE.glob("[!_]*/__init__.py")} | {"metrics"})


def exported():
    """Every exported name once, as "module.name", with its object."""
    found = {}
    for package in ("", *PACKAGES):
        module = importlib.import_module(f"llwlc.{package}" if package else "llwlc")
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if not inspect.ismodule(value) and not name.startswith("_"):
                found[f"{module.__name__}.{name}"] = value
    return found


NAMES = exported()
CODE = {name: value for name, value in NAMES.items() if inspect.isclass(value) or callable(value)}


def sections(value):
    """The summary of a docstring and its `Args:`, by parameter."""
    text = inspect.getdoc(getattr(value, "py_func", value)) or ""
    block = re.search(r"^Args:\n((?: {4}.*\n?|\n)+)", text, re.MULTILINE)
    named = re.findall(r"^    \**(\w+): \S", block[1], re.MULTILINE) if block else []
    return text, named


def parameters(value):
    return [p for p in inspect.signature(getattr(value, "py_func", value)).parameters.values() if p.name != "self"]


def fields_of(value):
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    return list(getattr(value, "_fields", ()))


def documented_fields(value):
    """Fields with a line of their own behind them, and those that the docstring names."""
    source = inspect.getsource(value)
    own = re.findall(r'^    (\w+): .*\n    """', source, re.MULTILINE)
    declared = options.declared_options(value) if dataclasses.is_dataclass(value) else {}
    helped = [name for name, option in declared.items() if option.help]
    return {*own, *helped, *re.findall(r"[A-Za-z_]\w*", inspect.getdoc(value) or "")}


@pytest.mark.parametrize("name", sorted(CODE))
def test_every_exported_name_is_documented_in_full(name):
    value = CODE[name]
    text, named = sections(value)
    assert ">>> " in text, "no example"
    if fields_of(value):
        assert set(fields_of(value)) <= documented_fields(value)
    elif not (inspect.isclass(value) and (issubclass(value, Exception) or getattr(value, "_is_protocol", False))):
        assert named == [p.name for p in parameters(value)]
    if not (inspect.isclass(value) and issubclass(value, Exception)):
        assert has_shapes(value)


def has_shapes(function):
    """Whether a docstring gives shapes such as `[m, 2]`, if arrays go in or out."""
    signature = inspect.signature(getattr(function, "py_func", function))
    types = [*(p.annotation for p in signature.parameters.values()), signature.return_annotation]
    if not re.search(r"\b(Tensor|ndarray|NDArray|ArrayLike|Real)\b", " ".join(map(str, types))):
        return True
    return re.search(r"`[^`]*\[[^\]`]*\]", sections(function)[0]) is not None


def methods():
    """Public methods and properties that exported classes define, as "module.class.name", with their functions; what a
    base class defines is documented there.
    """
    found = {}
    for value in CODE.values():
        for key, member in vars(value).items() if inspect.isclass(value) else ():
            function = member.fget if isinstance(member, property) else getattr(member, "func", member)
            function = getattr(function, "__func__", function)
            inherited = inspect.isclass(value) and any(hasattr(base, key) for base in value.__mro__[1:])
            if inspect.isfunction(function) and not key.startswith("_") and not inherited:
                found[f"{value.__module__}.{value.__name__}.{key}"] = function
    return found


METHODS = methods()


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_of_an_exported_class_is_documented(name):
    function = METHODS[name]
    text, named = sections(function)
    assert text, "no docstring"
    assert named == [p.name for p in parameters(function) if p.name != "cls"]
    assert has_shapes(function), "no shapes"


@pytest.mark.parametrize("name", sorted(CODE | METHODS))
def test_a_line_of_args_says_what_an_argument_is(name):
    """Not "seed: of the draw" or "epoch: likewise", which have to be completed in the reader's head."""
    lines = re.findall(r"^    \**\w+: (?:of|likewise|any\.).*", sections((CODE | METHODS)[name])[0], re.MULTILINE)
    assert lines == []


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for needed in ("mkdocs", "nbclient"):
        pytest.importorskip(needed, reason="the site is built with the extra docs")
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", ROOT / "mkdocs.yml", "-d", out],
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return out


def test_the_site_builds_strictly_and_its_reference_has_every_exported_name(site):
    pages = "".join(path.read_text() for path in (site / "api").glob("*.html"))
    shown = set(re.findall(r'id="(llwlc[\w.]*)"', pages))
    in_packages = {name.split(".")[-1] for name in NAMES if name.count(".") > 1}
    names = {name for name in NAMES if name.count(".") > 1 or name.split(".")[-1] not in in_packages}
    assert names <= shown


def test_the_notebooks_are_executed_and_their_outputs_stand_on_the_site(site):
    names = {path.stem for path in (ROOT / "docs" / "notebooks").glob("*.ipynb")}
    assert len(names) == 2
    for name in names:
        page = (site / "notebooks" / f"{name}.html").read_text()
        pictures = re.findall(rf'<img[^>]* src="({name}_\d+_\d+\.png)"', page)
        assert pictures
        assert all((site / "notebooks" / picture).read_bytes().startswith(b"\x89PNG") for picture in pictures)
        assert "Traceback" not in page
        assert "compiling the kernels" not in page
        assert (site / "notebooks" / f"{name}.ipynb").exists()
        assert f'href="notebooks/{name}.html"' in (site / "first_list.html").read_text()
    assert 'class="llwlc-graph"' in (site / "notebooks" / "from_csv_to_explained_links.html").read_text()


def test_the_site_loads_nothing_from_the_web(site):
    for path in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|img|link)\b[^>]*?\b(?:src|href)="(https?:[^"]*)"', path.read_text())
        assert loaded == [], path
