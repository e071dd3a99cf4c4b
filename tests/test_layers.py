"""Data flows one way, and imports follow it: a package imports only packages that `docs/architecture.md` lists before
it.
"""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "llwlc"
# Graph has its readers as methods, and they make Graphs: the one cycle, inside one package and inside functions
ALLOWED_CYCLE = "llwlc.graph."


def packages() -> list[str]:
    """The packages in the order of the tree in docs/architecture.md."""
    tree = (ROOT / "docs" / "architecture.md").read_text().split("```text\nsrc/llwlc/", 1)[1].split("```", 1)[0]
    lines = [line.split() for line in tree.splitlines()[1:] if line.startswith("  ") and not line.startswith("   ")]
    # "errors  metrics" are modules, side by side; a package ends in a slash, and "predictor" has a description too
    names = [word for words in lines for word in (words[:1] if words[0].endswith("/") or len(words) > 2 else words)]
    return [name.rstrip("/") for name in names if re.fullmatch(r"[a-z_]+/?", name)]


def modules(source: Path) -> dict[str, Path]:
    """Every module of the package by its full name."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(text: str, known: Iterable[str]) -> list[tuple[str, str, int]]:
    """(module, name, line) of every import of this package in a source, inside functions too; a name may be a module
    itself.
    """
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [(a.name, "", node.lineno) for a in node.names if a.name.split(".")[0] == "llwlc"]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide which package they reach"
            module = node.module or ""
            if module.split(".")[0] == "llwlc":
                for a in node.names:
                    inner = f"{module}.{a.name}"
                    found.append((inner, "", node.lineno) if inner in known else (module, a.name, node.lineno))
    return found


def package_of(module: str) -> str:
    return [*module.split("."), "llwlc"][1]


def faults(source: Path, order: list[str]) -> list[str]:
    """Imports of a later package, and of private names, each with its place."""
    found, known = [], modules(source)
    for module, path in known.items():
        if module in ("llwlc", "llwlc.__main__"):
            continue
        for target, name, line in imports(path.read_text(), known):
            place = f"{path.relative_to(source)}:{line}"
            if target == "llwlc":
                found.append(f"{place} imports from the package itself")
            elif order.index(package_of(target)) > order.index(package_of(module)):
                found.append(f"{place} imports the later package {package_of(target)}")
            if name.startswith("_"):  # a function, class or constant; modules are private to the package as a whole
                found.append(f"{place} imports the private {target}.{name}")
    return found


def cycles(source: Path) -> list[list[str]]:
    """Modules that import each other, directly or not, found by Tarjan's algorithm."""
    known = modules(source)
    edges = {
        module: sorted({t for t, _, _ in imports(path.read_text(), known) if t in known and t != module})
        for module, path in known.items()
        if module != "llwlc"
    }
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for target in edges.get(module, ()):
            if target not in index:
                visit(target)
                low[module] = min(low[module], low[target])
            elif target in stack:
                low[module] = min(low[module], index[target])
        if low[module] == index[module]:
            at = stack.index(module)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for module in edges:
        if module not in index:
            visit(module)
    return found


def test_the_architecture_page_lists_exactly_the_packages():
    there = {package_of(module) for module in modules(SOURCE)} - {"llwlc", "__main__"}
    planned = {"transforms"}  # packages of issues that are still open
    assert there <= set(packages())
    assert set(packages()) - there <= planned


def test_the_root_holds_a_handful_of_files():
    assert {path.name for path in SOURCE.glob("*.py")} == {
        "__init__.py",
        "__main__.py",
        "errors.py",
        "metrics.py",
        "_predictor.py",
    }


def test_no_package_imports_a_later_one_and_no_private_name_crosses_modules():
    assert faults(SOURCE, packages()) == []


def test_no_record_names_code_of_a_later_package():
    """Records name their code by module path, which no import shows."""
    order, found = packages(), []
    for module, path in modules(SOURCE).items():
        if module not in ("llwlc", "llwlc.__main__"):
            named = re.findall(r"""["']llwlc\.([a-z_]+)""", path.read_text())
            found += [
                f"{module} names {package}"
                for package in named
                if order.index(package) > order.index(package_of(module))
            ]
    assert found == []


def test_the_product_never_imports_research():
    found = [
        str(path)
        for path in modules(SOURCE).values()
        if re.search(r"^\s*(from|import) research\b", path.read_text(), re.M)
    ]
    assert found == []


def test_no_module_imports_itself_in_a_circle_but_for_graph_and_its_readers():
    assert [c for c in cycles(SOURCE) if not all(module.startswith(ALLOWED_CYCLE) for module in c)] == []


@pytest.mark.parametrize(
    ("planted", "fault"),
    [
        ("from llwlc._cli.console import print_status\n", "later package _cli"),
        ("def f():\n    from llwlc.training._loop import train\n    return train\n", "later package training"),
        ("import llwlc._predictor\n", "later package _predictor"),
        ("from llwlc._support.registry import _source\n", "private llwlc._support.registry._source"),
        ("from llwlc import LinkPredictor\n", "from the package itself"),
    ],
)
def test_a_planted_import_is_found(tmp_path, planted, fault):
    for module, path in modules(SOURCE).items():
        target = tmp_path / "llwlc" / path.relative_to(SOURCE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(planted if module == "llwlc.linalg._basis" else path.read_text())
    found = faults(tmp_path / "llwlc", packages())
    assert len(found) == 1
    assert found[0].startswith("linalg/_basis.py:")
    assert fault in found[0]


def test_a_planted_circle_is_found(tmp_path):
    package = tmp_path / "llwlc"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("from llwlc.b import f\n")
    (package / "b.py").write_text("def f():\n    from llwlc import c\n    return c\n")
    (package / "c.py").write_text("from llwlc.a import f\n")
    assert cycles(package) == [["llwlc.a", "llwlc.b", "llwlc.c"]]


def test_tests_mirror_the_source():
    """Every folder of tests is a package, or a folder in one, but for underscores; every package with code has its
    tests.
    """
    shown = {"/".join(p.lstrip("_") for p in path.relative_to(SOURCE).parts) for path in SOURCE.rglob("*/")}
    folders = {str(p.parent.relative_to(ROOT / "tests")) for p in (ROOT / "tests").rglob("test_*.py")} - {"."}
    assert {folder.lstrip("_") for folder in folders} <= shown
    modules_of_the_root = {"llwlc", "__main__", "errors", "metrics", "_predictor"}
    assert {package_of(m).lstrip("_") for m in modules(SOURCE) if package_of(m) not in modules_of_the_root} <= {
        folder.split("/")[0].lstrip("_") for folder in folders
    }


def test_a_module_of_a_public_package_is_private_by_name():
    """What a user may rely on has one spelling, that of the package: `llwlc.splits.audit`, made in
    `splits/_auditing.py`.
    """
    public = [path.parent for path in SOURCE.glob("*/__init__.py") if not path.parent.name.startswith("_")]
    shown = {f"{p.parent.name}/{p.name}" for folder in public for p in folder.glob("*") if not p.name.startswith("_")}
    assert shown == {"datasets/files"}
    assert [p.name for p in public if "__all__ = " not in (p / "__init__.py").read_text()] == []


def test_no_two_classes_share_a_name():
    homes: dict[str, list[str]] = {}
    for path in [*SOURCE.rglob("*.py"), *(ROOT / "research").rglob("*.py")]:
        if "tests" not in path.parts:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}
