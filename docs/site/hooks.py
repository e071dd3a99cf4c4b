"""Pages and files of the site that stand outside docs/: the README as its first page, CONTRIBUTING, CHANGELOG, the
notes of `research/notes`, the files that pages link to, and the API reference, made from what the packages export."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from inspect import getdoc, ismodule
from pathlib import Path
from textwrap import dedent
from typing import Any

from mkdocs.structure.files import File

# mkdocs reads this file by its path: the one beside it is found only where its folder is looked into
sys.path.insert(0, str(Path(__file__).parent))
from notebook_pages import notebook_files

ROOT = Path(__file__).parents[2]
PAGES = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
ALONE = ("index.md", "paper.md")
"""Pages that are a tab of their own: a column of links with one entry would only take width from their tables."""
FOLDERS = ("examples", "research/benchmarks", "research/results")
NOTES = ROOT / "research" / "notes"
SOURCE = ROOT / "src" / "llwlc"


def packages() -> dict[str, Any]:
    """The modules that export names, by package: the public ones, and `metrics`."""
    found = [*sorted(path.parent.name for path in SOURCE.glob("[!_]*/__init__.py")), "metrics"]
    modules = {subpackage: import_module(f"llwlc.{subpackage}") for subpackage in sorted(found)}
    return {subpackage: module for subpackage, module in modules.items() if getattr(module, "__all__", None)}


def on_config(config: Any) -> Any:
    reference = ["api/index.md", *({f"llwlc.{subpackage}": f"api/{subpackage}.md"} for subpackage in packages())]
    for section in config.nav:
        if "Reference" in section:
            section["Reference"] += reference
        if "Notes" in section:
            section["Notes"] = ["notes/index.md", *(f"notes/{path.name}" for path in notes())]
    return config


def on_files(files: Any, config: Any) -> Any:
    for page, source in PAGES.items():
        text = re.sub(r"\]\(docs/", "](", (ROOT / source).read_text(encoding="utf-8"))
        text = text.replace("](CONTRIBUTING.md)", "](contributing.md)").replace("](CHANGELOG.md)", "](changelog.md)")
        text = text.replace("](research/notes/", "](notes/")
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "notes/index.md", content=notes_page()))
    for path in notes():
        files.append(File.generated(config, f"notes/{path.name}", content=note(path)))
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".jsonl", ".json"):
                # as .txt, which a browser shows
                name = f"{path.relative_to(ROOT)}.txt"
                files.append(File.generated(config, name, content=path.read_text(encoding="utf-8")))
    for subpackage, module in packages().items():
        files.append(File.generated(config, f"api/{subpackage}.md", content=subpackage_page(subpackage, module)))
    files.append(File.generated(config, "api/index.md", content=package_page()))
    for file in notebook_files(config):
        kept = files.get_file_from_path(file.src_uri)  # the notebook as it stands in docs/notebooks
        if kept is not None:
            files.remove(kept)
        files.append(file)
    return files


def notes() -> list[Path]:
    """The notes, the latest first."""
    return sorted(sorted(NOTES.glob("*.md")), key=lambda path: path.name[:10], reverse=True)


def notes_page() -> str:
    """The list of the notes: date and title of each."""
    titles = {path: path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for path in notes()}
    lines = [f"- {path.name[:10]}: [{title}]({path.name})" for path, title in titles.items()]
    about = "Dated records of measurements, with their commands, and of what was tried and did not help."
    return "\n\n".join(["# Notes", about, "\n".join(lines)])


def note(path: Path) -> str:
    """A note, its links as they are inside the site."""
    text = path.read_text(encoding="utf-8").replace("](../../docs/", "](../")
    text = text.replace("](../../CONTRIBUTING.md)", "](../contributing.md)")
    text = re.sub(r"\]\(\.\./\.\./(examples/[^)]*)\)", r"](../\1.txt)", text)
    return re.sub(r"\]\(\.\./((?:benchmarks|results)/[^)]*)\)", r"](../research/\1.txt)", text)


def subpackage_page(subpackage: str, module: Any) -> str:
    """The reference of a subpackage: what it says of itself, then every name that it exports."""
    shown = [f"::: llwlc.{subpackage}.{name}" for name in module.__all__]
    return "\n\n".join([f"# llwlc.{subpackage}", prose(getdoc(module) or ""), *shown])


def package_page() -> str:
    """The reference of the package: its subpackages, and the names that none of them exports."""
    package, modules = import_module("llwlc"), packages()
    lines = [
        f"- [`llwlc.{subpackage}`]({subpackage}.md): {prose(getdoc(module) or '').splitlines()[0]}"
        for subpackage, module in modules.items()
    ]
    also, own = [], []
    for name in package.__all__:
        home = next((subpackage for subpackage, module in modules.items() if name in module.__all__), None)
        if home is not None:
            also.append(f"[`llwlc.{name}`][llwlc.{home}.{name}]")
        elif not name.startswith("_") and not ismodule(getattr(package, name)):
            own.append(f"::: llwlc.{name}")
    about = "Every name that the package and its subpackages export. The examples run as tests."
    return "\n\n".join(
        ["# Reference", about, "\n".join(lines), f"Also exported by the package itself: {', '.join(also)}.", *own]
    )


def prose(docstring: str) -> str:
    """A module's docstring as Markdown: its indented examples become blocks of Python, and a blank line stands before a
    list.
    """
    docstring = re.sub(r"^((?!- |  ).+\n)(?=- )", r"\1\n", docstring, flags=re.MULTILINE)
    return re.sub(
        r"(?:^ {4}.*\n?(?:^\n(?=^ {4}))?)+",
        lambda m: f"```python\n{dedent(m[0]).rstrip()}\n```\n",
        docstring,
        flags=re.MULTILINE,
    )


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """`../examples/x.py`, as GitHub reads it, becomes the copy inside the site; a notebook becomes its page."""
    if page.file.src_uri in ALONE:
        page.meta["hide"] = ["navigation"]
    if not page.file.src_uri.startswith("notebooks/"):
        markdown = re.sub(r"\]\((notebooks/\w+)\.ipynb\)", r"](\1.md)", markdown)
    depth = page.file.src_uri.count("/")
    outside = "|".join(FOLDERS)
    markdown = re.sub(rf"\]\((?:\.\./){{{depth + 1}}}research/(notes/)", rf"]({'../' * depth}\1", markdown)
    markdown = re.sub(rf"\]\((?:\.\./){{{depth + 1}}}((?:{outside})/[^)]*)\)", rf"]({'../' * depth}\1.txt)", markdown)
    return re.sub(rf"\]\(((?:{outside})/[^)]*)\)", r"](\1.txt)", markdown) if page.file.src_uri in PAGES else markdown
