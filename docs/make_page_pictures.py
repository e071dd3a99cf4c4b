"""Pictures of the report and the served page: `python docs/make_page_pictures.py RUN [folder]`. Needs Chromium,
Playwright and the extra `serve`. The run of the documentation: `python examples/own_data.py .`, then
`llwlc fit meetings.csv --weight none --model llwlc --plan full --set epochs=6 --out RUN`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

WIDE, NARROW = {"width": 1200, "height": 900}, {"width": 390, "height": 800}


def main(run: Path, folder: Path) -> None:
    command = [sys.executable, "-m", "llwlc"]
    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        report = Path(place) / "report.html"
        subprocess.run([*command, "report", run, "-o", report, "--top", "20"], check=True)
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport=WIDE)
        page.goto(report.as_uri())
        page.wait_for_selector("#detail svg")
        page.screenshot(path=folder / "report.png")
        server = subprocess.Popen([*command, "serve", run, "--port", "0"], stderr=subprocess.PIPE, text=True)
        try:
            address = next(found[0] for line in server.stderr or () if (found := re.search(r"http://\S+", line)))
            for name, size, scheme in (
                ("page_light", WIDE, "light"),
                ("page_dark", WIDE, "dark"),
                ("page_narrow", NARROW, "light"),
            ):
                page = browser.new_page(viewport=size, color_scheme=scheme)
                page.goto(address)
                show_reasons(page, to_the_top=size is WIDE)
                page.screenshot(path=folder / f"{name}.png")
        finally:
            server.terminate()
        browser.close()
    for name in ("report", "page_light", "page_dark", "page_narrow"):
        picture = folder / f"{name}.png"
        Image.open(picture).convert("RGB").quantize(64).save(picture, optimize=True)  # a third of the size


def show_reasons(page: Any, *, to_the_top: bool) -> None:
    """Chooses the first link, and waits until its reasons and its subgraph are drawn."""
    page.locator("#links tbody tr").first.click()
    page.wait_for_selector("#reasons table")
    page.wait_for_timeout(500)
    if to_the_top:
        page.evaluate("scrollTo(0, 0)")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent / "figures")
