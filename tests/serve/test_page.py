"""The page in a real browser: search, sort, filter, click, paste, drop, export, hostile names, a server that stops."""

import csv
import io
from pathlib import Path

import pytest

from browsing import browser, quiet_page, serving
from hostile_names import HOSTILE, hostile_model, model_named


@pytest.fixture
def server():
    """A running server: its address, and what stops it."""
    with serving(hostile_model()) as made:
        yield made


def column(page, table: str, at: int) -> list[str]:
    return page.locator(f"#{table} tbody tr td:nth-child({at})").all_inner_texts()


def search(page, word: str) -> None:
    page.keyboard.press("/")
    page.keyboard.type(word)
    page.wait_for_selector("#names li")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#links tbody tr")


def search_long(page) -> None:
    page.evaluate("document.activeElement.blur(); document.getElementById('search').value = ''")
    search(page, "LLLL")
    page.wait_for_function("() => document.querySelector('#links tbody td').textContent.startsWith('LLL')")
    assert len(column(page, "links", 1)[0]) < 60  # by its beginning and its end
    assert page.locator("#links tbody td").first.get_attribute("title") == HOSTILE[7]
    page.locator("#links tbody tr").first.click()
    page.wait_for_function("name => document.getElementById('why').textContent.includes(name)", arg=HOSTILE[7])


def exported(page, button: str) -> list[dict[str, str]]:
    with page.expect_download() as saved:
        page.click(button)
    return list(csv.DictReader(io.StringIO(Path(saved.value.path()).read_text())))


def test_the_page_opens_on_the_list_of_the_whole_graph(server):
    address, _ = server
    with browser() as opened:
        page, complaints = quiet_page(opened)
        page.goto(address)
        page.wait_for_selector("#links tbody tr")
        best = hostile_model().recommend(top=20)
        assert list(map(float, column(page, "links", 3))) == pytest.approx([b.probability for b in best], abs=1e-3)
        assert "Of the whole graph" in page.inner_text("#links-about")
        page.click("text=How far to trust this")
        assert "known links were hidden" in page.inner_text("#trust")
        assert complaints == []


def test_the_export_equals_the_table_and_its_length_reloads_it(server):
    address, _ = server
    with browser() as opened:
        page, complaints = quiet_page(opened)
        page.goto(address)
        search(page, "person 20")
        chance = list(map(float, column(page, "links", 3)))
        page.fill("#least", str(chance[4]))
        page.click("#links button[data-key=target]")
        shown = page.locator("#links tbody tr td:nth-child(2)").evaluate_all("found => found.map((cell) => cell.title)")
        shown = ["'" + name if name.startswith("=") else name for name in shown]
        assert [row["target"] for row in exported(page, "#export-links")] == shown
        assert f"{len(shown)} of 20 links have that probability" in page.inner_text("#links-about")
        page.fill("#least", "1")
        assert "0 of 20 links" in page.inner_text("#links-about")
        assert page.is_disabled("#export-links")
        page.fill("#least", "0")
        page.fill("#top", "5")
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.querySelectorAll('#links tbody tr').length === 5")
        # an older list that comes late does not replace the one asked for last
        page.evaluate("""() => { const real = window.fetch; window.fetch = async (path, options) => {
            if (!window.release) await new Promise((done) => { window.release = done; });
            return real(path, options); }; window.late = recommend("Person 20"); recommend("Person 33"); }""")
        page.wait_for_function("() => document.querySelector('#links tbody td')?.textContent === 'Person 33'")
        page.evaluate("async () => { window.release(); await window.late; }")
        assert column(page, "links", 1) == ["Person 33"] * 5
        assert complaints == []


def test_a_file_may_be_dropped_anywhere_or_chosen(server, tmp_path):
    address, _ = server
    with browser() as opened:
        page, complaints = quiet_page(opened)
        page.goto(address)
        kept = page.evaluate(
            """() => { const data = new DataTransfer();
            data.items.add(new File(["\\ufeffPerson 40,Person 41\\n"], "pairs.csv"));
            return document.querySelector("footer").dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true, bubbles: true })); }"""
        )
        assert not kept  # the browser does not leave the page to open the file
        page.wait_for_function("() => document.querySelector('#scores tbody td')?.textContent === 'Person 40'")
        (tmp_path / "pairs.csv").write_text("Person 42,Person 43\n")
        page.set_input_files("#file", tmp_path / "pairs.csv")
        page.wait_for_function("() => document.querySelector('#scores tbody td').textContent === 'Person 42'")
        page.fill("#pairs", "Person 42,Person 43\n\nalone")
        page.click("#score")
        page.wait_for_function(
            "() => document.getElementById('trouble').textContent.includes('Line 3 names no two nodes')"
        )
        assert complaints == []


def test_one_explores_a_run(server):
    address, _ = server
    with browser() as opened:
        page, complaints = quiet_page(opened, color_scheme="dark")
        page.goto(address)
        page.wait_for_function("() => document.title.includes('circles')")
        assert page.title() == "<b>circles</b>: missing links"
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.click("#theme")
        assert page.evaluate("document.documentElement.dataset.theme") == "light"
        search(page, "person 20")
        assert column(page, "links", 1) == ["Person 20"] * 20
        chance = list(map(float, column(page, "links", 3)))
        assert chance == sorted(chance, reverse=True)
        page.click("#links button[data-key=target]")
        assert column(page, "links", 2) == sorted(column(page, "links", 2))
        page.fill("#least", str(chance[4]))
        assert 0 < len(column(page, "links", 1)) < 20
        page.fill("#least", "0")
        # the keyboard alone: a row, the next, why
        page.locator("#links tbody tr").first.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_selector("#reasons table")
        target = column(page, "links", 2)[1]
        assert set(page.inner_text("#why").split(" – ")) == {"Person 20", target}
        assert page.locator("#graph canvas").count() > 0
        assert page.evaluate("state.graph.nodes().length") > 2
        assert page.evaluate("state.graph.edges('[?pair]').length") == 1
        assert "among candidates" in page.inner_text("#predictions")
        first = page.evaluate("state.graph.nodes()[1].style('background-color')")
        colours = {first}
        for value in page.locator("#vector option").evaluate_all("found => found.map((option) => option.value)"):
            page.select_option("#vector", value)
            colours.add(page.evaluate("state.graph.nodes()[1].style('background-color')"))
        assert len(colours) > 1
        for heading in (
            "in log-odds",
            "without an edge",
            "read",
            "What features add",
        ):
            assert heading in page.inner_text("#reasons")
        assert "without an eigenvector" not in page.inner_text("#reasons")
        page.click("#spectrum summary")
        for heading in ("without an eigenvector", "without a filter"):
            assert heading in page.inner_text("#reasons")
        with page.expect_download() as saved:
            page.click("#export-links")
        rows = list(csv.DictReader(io.StringIO(Path(saved.value.path()).read_text())))
        assert len(rows) == 20
        assert rows[0]["source"] == "Person 20"
        assert complaints == []


def test_pairs_are_pasted_dropped_scored_and_exported(server):
    address, _ = server
    with browser() as opened:
        page, complaints = quiet_page(opened)
        page.goto(address)
        page.fill("#pairs", f'source,target\nPerson 20,Person 21\n"{HOSTILE[5]}",{HOSTILE[2].replace(",", "")}\n')
        page.click("#score")
        page.wait_for_selector("#trouble:not([hidden])")
        assert "no node '=HYPERLINK(12)'" in page.inner_text("#trouble")
        page.fill("#pairs", f'source,target\nPerson 20,Person 21\n"{HOSTILE[5]}","{HOSTILE[2]}"\n')
        page.fill("#prior", "0.1")
        page.click("#score")
        page.wait_for_selector("#scores tbody tr")
        assert column(page, "scores", 1) == ["Person 20", HOSTILE[5]]
        said = hostile_model().score([("Person 20", "Person 21"), (HOSTILE[5], HOSTILE[2])], prior=0.1)
        assert list(map(float, column(page, "scores", 4))) == pytest.approx(said.probability.tolist(), abs=1e-4)
        assert page.locator("#trouble").is_hidden()
        with page.expect_download() as saved:
            page.click("#export-scores")
        rows = list(csv.reader(io.StringIO(Path(saved.value.path()).read_text())))
        assert rows[0] == ["source", "target", "score", "probability"]
        assert rows[2][:2] == [HOSTILE[5], "'" + HOSTILE[2]]  # no spreadsheet computes it
        page.evaluate(
            """() => { const data = new DataTransfer();
            data.items.add(new File(["Person 40\\tPerson 41\\nPerson 42\\tPerson 43\\n"], "pairs.tsv"));
            document.getElementById("pairs").dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true, bubbles: true })); }"""
        )
        page.wait_for_function("() => document.querySelector('#scores tbody td').textContent === 'Person 40'")
        page.locator("#scores tbody tr").nth(1).click()
        page.wait_for_selector("#reasons table")
        assert page.inner_text("#why") == "Person 42 – Person 43"
        page.fill("#u", "Person 20")
        page.fill("#v", "Nobody")
        page.keyboard.press("Enter")
        page.wait_for_selector("#trouble:not([hidden])")
        assert "no node 'Nobody'" in page.inner_text("#trouble")
        page.fill("#pairs", "alone")
        page.click("#score")
        page.wait_for_function("() => document.getElementById('trouble').textContent.includes('names no two nodes')")
        # the browser itself says on its console that a request got 400
        assert all("400" in text for text in complaints)


def test_a_hostile_name_is_text_on_a_narrow_screen_too(server):
    address, _ = server
    with browser() as opened:
        page, complaints = quiet_page(opened, viewport={"width": 380, "height": 800})
        page.goto(address)
        for word, name in (("<script", HOSTILE[0]), ('"><img', HOSTILE[1]), ("</script", HOSTILE[3])):
            page.evaluate("document.activeElement.blur(); document.getElementById('search').value = ''")
            search(page, word)
            page.wait_for_function("name => document.querySelector('#links tbody td').textContent === name", arg=name)
            page.locator("#links tbody tr").first.click()
            page.wait_for_function("name => document.getElementById('why').textContent.includes(name)", arg=name)
        search_long(page)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0
        # and no column of a table is cut off
        assert (
            page.evaluate(
                "(() => { const box = document.querySelector('#links').parentElement; return box.scrollWidth -"
                " box.clientWidth; })()"
            )
            <= 0
        )
        assert page.evaluate("window.owned") is None
        assert page.locator("main script, main img").count() == 0
        assert complaints == []


def test_the_page_says_when_the_server_stopped(server):
    address, stop = server
    with browser() as opened:
        page, _ = quiet_page(opened)
        page.goto(address)
        search(page, "person 20")
        stop()
        page.locator("#links tbody tr").first.click()
        page.wait_for_selector("#trouble:not([hidden])")
        assert "The server does not answer" in page.inner_text("#trouble")
        assert len(column(page, "links", 1)) == 20  # what was there stays


STRANGE = [
    "__proto__",
    "constructor",
    "toString",
    "\x00\x07\x1b[2J\x7f",
    "a\nb\tc",
    " padded ",
    "שלום עולם",
    "&lt;b&gt;",
    "javascript:alert(1)",
    "O" + "\u0301" * 200,
    "👩\u200d👧",
    "?node=x&top=5#token=abc",
    "%3Cscript%3E",
    "`${alert(1)}`",
    "\ufeff",
    "\u200b\u200f",
    "\u2028",
    "Q" * 10_000,
    "é" * 10_000,
]


def test_every_node_can_be_asked_for_by_whatever_name():
    with serving(model_named(dict(enumerate(STRANGE)))) as (address, _), browser() as opened:
        page, complaints = quiet_page(opened)
        page.goto(address)
        for name in STRANGE:
            page.evaluate("name => { recommend(name); }", name)
            page.wait_for_function(
                "name => state.node === name || !document.getElementById('trouble').hidden", arg=name
            )
            assert page.inner_text("#trouble") == "", name[:40]
            page.locator("#links tbody tr").first.click()
            page.wait_for_function(
                "name => [...document.querySelectorAll('#why bdi')].some((end) => end.textContent === short(name,"
                " 400))",
                arg=name,
            )
            cell = page.locator("#links tbody td").first.text_content()
            assert cell.isprintable() or "\u200d" in cell, ascii(cell)  # joiners belong to emoji
            assert cell.strip(), ascii(name)
            assert "\u0301" * 5 not in cell
            assert page.locator("#why").bounding_box()["height"] < 600
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, name[:40]
        assert page.evaluate("window.owned") is None
        assert complaints == []
