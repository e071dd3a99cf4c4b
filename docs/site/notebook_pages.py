"""The notebooks as pages of the site, executed when it is built, and again where their cells or the package have
changed since.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import Abort
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".notebooks"
"""Executed notebooks, which no commit holds: those of `docs/notebooks` change by `make notebooks` alone."""


def notebook_files(config: Any) -> list[File]:
    """A page for each notebook, the pictures on it, and the notebook itself to keep."""
    found = []
    for path in sorted(executed().glob("*.ipynb")):
        text, pictures = page(path)
        found.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
        found.append(File.generated(config, f"notebooks/{path.name}", content=path.read_bytes()))
        found += [File.generated(config, f"notebooks/{name}", content=data) for name, data in pictures.items()]
    return found


def executed() -> Path:
    """The folder of the executed notebooks."""
    sources = sorted(path for path in (ROOT / "src" / "llwlc").rglob("*") if path.suffix in (".py", ".npz"))
    digest = hashlib.sha256()
    for path in (ROOT / "docs" / "make_notebooks.py", *sources):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    folder = KEPT / digest.hexdigest()[:16]
    if folder.exists():
        return folder
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import nbclient  # noqa: F401
        from make_notebooks import main
    except ImportError as error:
        raise Abort(
            f"the notebooks of the site cannot be executed ({error}): pip install -c constraints.txt '.[docs]'"
        ) from error
    finally:
        sys.path.pop(0)
    shutil.rmtree(KEPT, ignore_errors=True)
    begun = KEPT / "begun"  # a build that is stopped half-way leaves no folder that looks whole
    begun.mkdir(parents=True)
    main(begun)
    return begun.rename(folder)


def page(path: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and its pictures by name."""
    parts, pictures = [], {}
    for at, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            parts.append(source)
            continue
        parts.append(fenced(source, "python"))
        for k, output in enumerate(cell["outputs"]):
            data = output.get("data", {})
            if "image/png" in data:
                name = f"{path.stem}_{at}_{k}.png"
                pictures[name] = base64.b64decode(data["image/png"])
                parts.append(f"![what the cell draws]({name})")
            elif "text/html" in data:
                parts.append(f'<div class="notebook-output">{"".join(data["text/html"])}</div>')
            else:
                parts.append(fenced("".join(output.get("text", data.get("text/plain", ""))), "text"))
    parts.append(f"[This notebook]({path.name}), to run it yourself.")
    return "\n\n".join(parts) + "\n", pictures


def fenced(text: str, language: str) -> str:
    return f"~~~~~~{language}\n{text.rstrip()}\n~~~~~~"
