"""A real browser for tests: Debian's Chromium, driven by Playwright; tests skip with a reason where there is none."""

import os
import shutil
import threading
import time
from contextlib import contextmanager

import pytest

from llwlc._serve.app import make_app
from llwlc._serve.server import bind_socket, make_server

CHROMIUM = os.environ.get("LLWLC_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="browser tests need playwright: it is in the extra dev"
    )
    if CHROMIUM is None:
        pytest.skip("browser tests need Chromium: apt-get install chromium, or LLWLC_CHROMIUM=/path/to/it")
    with playwright.sync_playwright() as driver:
        # without its sandbox, which root in a container cannot have
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


def quiet_page(opened, **options):
    """A page, and the list of what it complains about."""
    page = opened.new_context(accept_downloads=True, **options).new_page()
    complaints: list[str] = []
    page.on(
        "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append("dialog"), dialog.dismiss()))
    page.set_default_timeout(120_000)
    return page, complaints


@contextmanager
def serving(model):
    """A running server of a model: its address, and what stops it."""
    listening = bind_socket("127.0.0.1", 0)
    made = make_server(make_app(model))
    thread = threading.Thread(target=lambda: made.run(sockets=[listening]), daemon=True)
    thread.start()
    while not made.started:
        time.sleep(0.02)

    def stop():
        made.should_exit = made.force_exit = True
        thread.join(20)

    yield f"http://127.0.0.1:{listening.getsockname()[1]}/", stop
    stop()
