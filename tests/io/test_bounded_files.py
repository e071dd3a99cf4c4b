"""What is to be refused is refused while it is read: a file of a gigabyte costs some megabytes, whatever reader is
given it. What is not, is read as before.
"""

import csv
import io
import tracemalloc
import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llwlc._io import row_check
from llwlc._io.parquet_pages import page_bytes
from llwlc._io.row_check import LONGEST_CELL
from llwlc._io.table_file import _single_spaces
from llwlc._io.text_check import TextCheck
from llwlc.errors import InputError
from llwlc.graph._edge_stream import open_stream
from llwlc.graph._feature_file import read_features
from llwlc.graph._graph import Graph
from llwlc.graph._name_file import read_names
from llwlc.graph._pair_file import read_pairs

pytestmark = pytest.mark.filterwarnings("ignore::llwlc.graph._report.GraphWarning")
MEGABYTE = 1 << 20
RING = Graph.from_edges(np.array([[i, (i + 1) % 300] for i in range(300)]))
READERS = {
    "edges": Graph.read,
    "pairs": lambda path: read_pairs(path, RING),
    "features": read_features,
    "names": read_names,
    "stream": lambda path: list(open_stream(path).batches()),
}
GRAPHML = b'<graphml><key id="d" for="edge" attr.name="weight"/><graph edgedefault="undirected">'
MARKET = b"%%MatrixMarket matrix coordinate real general\n"
LONG = {
    "line.csv": (b"", b"a", b""),
    "cell.csv": (b"u,v\n" + b"a,b\n" * 500_000 + b"b,", b"a", b"\nc,d\n"),
    "quoted.csv": (b'u,v\na,"', b"a,b\n", b'"\n'),
    "quotes.csv": (b'u,v\na,"', b'""\n', b'"\n'),
    "columns.csv": (b"", b",", b"\n"),
    "blank.csv": (b"", b"\n", b"u,v\n"),
    "gap.csv": (b"u,v\na,b\n", b"\n", b"b,c\n"),
    "spaces.csv": (b"u,v\na,b\n", b" \r\n", b"b,c\n"),
    "comments.csv": (b"", b"# a\n", b"u,v\n"),
    "text.graphml": (
        GRAPHML + b'<edge source="a" target="b"><data key="d">',
        b"1",
        b"</data></edge></graph></graphml>",
    ),
    "id.graphml": (GRAPHML + b'<node id="', b"1", b'"/></graph></graphml>'),
    "deep.graphml": (GRAPHML, b"<a>", b""),
    "deep.gexf": (b"<gexf><graph>", b"<a>", b""),
    "entry.mtx": (MARKET + b"9 9 1\n1 2 ", b"1", b"\n"),
    "header.mtx": (MARKET[:-1], b" x", b"\n9 9 1\n1 2 1\n"),
    "size.mtx": (MARKET, b"9 ", b"\n1 2 1\n"),
    "huge.g6": (b"", b"~", b""),
    "many.g6": (b"", b"A_\n", b""),
    "list.json": (b'["', b"a", b'"]'),
    "deep.json": (b"", b"[", b""),
}


def refusal(read, path, **options) -> tuple[str, int]:
    """The message, and the peak of Python's memory."""
    tracemalloc.start()
    with pytest.raises(InputError) as caught:
        read(path, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "\n" not in str(caught.value)
    return str(caught.value), peak


def zipped(path, begin: bytes, row: bytes, end: bytes, size: int):
    """A file of this size, gzipped without being written out."""
    packer, piece = zlib.compressobj(1, wbits=31), row * (MEGABYTE // len(row))
    with path.open("wb") as file:
        file.write(packer.compress(begin))
        for _ in range(size // len(piece)):
            file.write(packer.compress(piece))
        file.write(packer.compress(end) + packer.flush())
    return path


@pytest.mark.parametrize("name", LONG)
def test_a_line_a_cell_or_a_nest_without_an_end_is_refused_in_some_megabytes(tmp_path, name):
    path = zipped(tmp_path / f"{name}.gz", *LONG[name], 200 * MEGABYTE)
    readers = READERS if name.endswith(".csv") else {"edges": Graph.read}
    for read in (read for what, read in readers.items() if what != "stream"):
        assert refusal(read, path)[1] < 48 * MEGABYTE


@pytest.mark.parametrize(
    ("head", "row"),
    [
        (b"u,v\na,b\n", b"a\n"),
        (b"u,v\na,b\n", b"a,b,c\n"),
        (b"u,v\na,b\n", b'"a",b,c\n'),
        (b"u,v\na,b\n", b'"a\n,""b",b,c\n'),
        (b'"the ""u"", or\nso","v"\na,b\n', b"a,b,c\n"),
        (b"u,v\na,b\n", b"a,b,c\r"),
        (b"u v\na b\n", b'a  "b d" c\n'),
        (b"# u; v\nu;a, b or c\nx;y\n", b"x;y;z\n"),
        (b"u,v\na,b,c\n", b"a,b\n"),  # one such row is enough
    ],
)
def test_rows_of_another_width_are_refused_in_some_megabytes(tmp_path, head, row):
    path = zipped(tmp_path / "e.csv.gz", head, row, b"", 100 * MEGABYTE)
    for what in ("edges", "pairs", "features"):
        said, peak = refusal(READERS[what], path)
        assert "in its first row" in said
        assert peak < 48 * MEGABYTE


def feed(check: TextCheck, pieces: list[bytes]):
    for piece in pieces:
        check(piece)


def test_a_row_of_other_width_is_named_wherever_the_pieces_end(tmp_path, monkeypatch):
    monkeypatch.setattr(row_check, "LARGE", 20)
    rows = ["u,v", *(f"node {i},{i}" for i in range(40)), "", 'a,"b,c"', *("x,y" for _ in range(30))]
    data = ("\n".join(rows) + "\n").encode()
    for size in (1, 7, 50, 1000):
        for end, wrong in ((b"", None), (b"x\ny,z\n", len(rows) + 1), (b"x,y,z\na,b\n", len(rows) + 1)):
            text = data + end
            check = TextCheck(tmp_path / "e.csv")
            pieces = [text[:30], *(text[i : i + size] for i in range(30, len(text), size)), b""]
            if wrong is None:
                feed(check, pieces)
                continue
            with pytest.raises(InputError, match=rf"[13] cells in line {wrong}, and 2 in its first row"):
                feed(check, pieces)


ROWS = st.lists(
    st.sampled_from(['"', '"', '""', ",", ",", ";", " ", " " * 12, "a", "b", "\n", "\n", "\r\n"]), max_size=40
)


def first_ragged_row(text: str, separator: str) -> tuple[int, int, int] | None:
    """By the csv module: cells of the first row of another width, the line where it ends, cells of the first row."""
    rows = csv.reader(io.StringIO(text + "\nend\n", newline=""), delimiter=separator, skipinitialspace=separator != " ")
    found = [(len(row), rows.line_num) for row in rows if row]
    width = found[0][0]
    return next(((cells, line, width) for cells, line in found[:-1] if cells != width), None)


@settings(deadline=None, max_examples=300)
@given(ROWS, st.lists(st.integers(0, 1 << 10), max_size=4), st.sampled_from([",", ";", " "]))
def test_cells_are_counted_as_by_the_csv_module(tokens, cuts, separator):
    text = "x" + separator + "".join(tokens)
    if separator == " ":
        text = _single_spaces(text.encode()).decode()
    wrong, check = first_ragged_row(text, separator), TextCheck(Path("e.csv"), separator.encode())
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_check, "LARGE", 0)
        pieces = [text[start:end].encode() for start, end in pairwise(places)] + [b"\n", b""]
        if wrong is None:
            feed(check, pieces)
            return
        cells, line, width = wrong
        with pytest.raises(InputError, match=rf" {cells} cells in line {line}, and {width} in its first row"):
            feed(check, pieces)


def test_a_large_table_with_quotes_is_read_as_the_csv_module_reads_it(tmp_path):
    """More than 16 MB of cells that hold separators, quotes and ends of lines."""
    rows, path = [['a, or\n"b"', 'c;"', "1"], ["b", 'a, "b" and\r\nso on', "2.5"]] * 400_000, tmp_path / "e.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["the u", "v, or so", "weight"], *rows])
    assert path.stat().st_size > 16 * MEGABYTE
    graph = Graph.read(path, weight=None)
    assert sorted(graph.names) == sorted({cell for row in rows[:2] for cell in row[:2]})


@pytest.mark.parametrize("what", [what for what in READERS if what != "stream"])
def test_a_gzip_bomb_of_rows_is_counted_before_it_is_kept(tmp_path, what):
    path = zipped(tmp_path / "e.csv.gz", b"u,v\n", b"a,b\n", b"", 300 * MEGABYTE)
    read = READERS[what] if what != "pairs" else lambda path, **given: read_pairs(path, RING, **given)
    said, peak = refusal(read, path, unzipped_limit=256 * MEGABYTE)
    assert "unpacks to more than 0.25 GB" in said
    assert peak < 80 * MEGABYTE


def test_a_file_longer_than_what_is_kept_while_it_is_checked_is_read_whole(tmp_path):
    path = zipped(tmp_path / "e.csv.gz", b"u,v\n", b"a,b\n", b"b,c\n", 40 * MEGABYTE)
    assert Graph.read(path).num_edges == 2


def test_a_stream_of_one_line_is_refused_by_its_cell(tmp_path):
    (tmp_path / "e.csv").write_bytes(b"a" * (2 * MEGABYTE))
    assert "131,072" in refusal(READERS["stream"], tmp_path / "e.csv")[0]


def test_parquet_pages_that_unpack_to_more_than_the_footer_says(tmp_path):
    """The footer states 2 MB; the page, which arrow unpacks, holds 100."""
    path, true, lie = tmp_path / "e.parquet", 100 * MEGABYTE, 2 * MEGABYTE
    rows = {"u": ["a", "b"], "v": ["b", "c"], "note": ["x" * true, "y"]}
    pyarrow.parquet.write_table(
        pa.table(rows), path, compression="zstd", use_dictionary=["u", "v"], write_statistics=False
    )
    data, start = path.read_bytes(), -8
    start -= int.from_bytes(data[-8:-4], "little")
    footer, stated = data[start:], pyarrow.parquet.read_metadata(path).row_group(0)
    for size in (stated.total_byte_size, stated.column(2).total_uncompressed_size):
        footer = footer.replace(varint(2 * size), varint(2 * lie))
    path.write_bytes(data[:start] + footer)
    assert pyarrow.parquet.read_metadata(path).row_group(0).total_byte_size == lie
    before = pa.default_memory_pool().max_memory()
    assert "unpacks to more than" in refusal(Graph.read, path, unzipped_limit=64 * MEGABYTE)[0]
    assert pa.default_memory_pool().max_memory() <= max(before, 16 * MEGABYTE)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["snappy", "zstd", "none"])
def test_page_headers_add_up_to_what_the_footer_of_an_honest_file_states(tmp_path, compression, version):
    rows = {"u": [f"n{i % 77}" for i in range(9000)], "w": [None, 1.5] * 4500, "tags": [[1, 2]] * 9000}
    path = tmp_path / "e.parquet"
    pyarrow.parquet.write_table(
        pa.table(rows), path, compression=compression, data_page_version=version, use_dictionary=["u"],
        row_group_size=4000, write_page_index=True,
    )  # fmt: skip
    found = pyarrow.parquet.read_metadata(path)
    stated = [found.row_group(i).total_byte_size for i in range(found.num_row_groups)]
    # arrow counts the headers of the pages too
    assert page_bytes(path.read_bytes()) == pytest.approx(stated, rel=0.05)


def test_a_damaged_footer_is_refused_by_our_own_reader_of_it(tmp_path):
    """Arrow's view of a column chunk aborts the process where the chunk's statistics are damaged."""
    pyarrow.parquet.write_table(pa.table({"u": ["a", "b"], "v": ["b", "c"]}), tmp_path / "e.parquet")
    data = (tmp_path / "e.parquet").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        changed = bytearray(data)
        for at in rng.integers(len(data) // 2, len(data), 3):
            changed[at] = rng.integers(256)
        try:
            page_bytes(bytes(changed))
        except (ValueError, LookupError, TypeError):
            continue


def varint(value: int) -> bytes:
    digits = []
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_a_hundred_thousand_features_of_a_small_graph(tmp_path, ending):
    x = np.random.default_rng(0).integers(0, 100, (20, 100_000)).astype(np.float32)
    path = tmp_path / f"x.{ending}"
    if ending == "npz":
        np.savez(path, x=x)
    else:
        head = "node," + ",".join(f"gene{i}" for i in range(100_000))
        rows = (f"{i}," + ",".join(map(str, row)) for i, row in enumerate(x.astype(int).tolist()))
        path.write_text("\n".join([head, *rows]))
    graph = Graph.from_edges(np.array([[i, (i + 1) % 20] for i in range(20)]))
    graph.to_csv(tmp_path / "e.csv")
    assert np.array_equal(Graph.read(tmp_path / "e.csv", features=path).x.numpy(), x)


def test_a_million_columns_are_refused_by_their_number(tmp_path):
    (tmp_path / "x.csv").write_text("node" + ",a" * 1_000_000 + "\n")
    said, peak = refusal(read_features, tmp_path / "x.csv")
    assert "more than 262,144 columns" in said
    assert peak < 64 * MEGABYTE


# the check of quotes, piece by piece, against a reader that goes from character to character

LINES = "a\n" * 35_000  # two of them between quotes are more than a cell may have
TOKENS = st.lists(st.sampled_from([LINES, '"', '"', '""', ",", " ", "a", "\n"]), min_size=1, max_size=12)


def longest_quoted_cell(text: str) -> int:
    longest, begun, at = 0, None, 0
    while (at := text.find('"', at)) >= 0:
        run = len(text) - at - len(text[at:].lstrip('"'))
        if run % 2 and begun is not None:
            longest, begun = max(longest, at - begun), None
        elif run % 2 and text[:at].rstrip(" ")[-1:] in ("", ",", "\n"):
            begun = at
        at += run
    return longest if begun is None else max(longest, len(text) - begun)


def refused_in_pieces(path, text: str, cuts: list[int]) -> bool:
    check = TextCheck(path, b",")
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    try:
        for start, end in pairwise(places):
            check(text[start:end].encode())
    except InputError as error:
        return "a quote that is not closed" in str(error)
    return False


@settings(deadline=None, max_examples=300)
@given(TOKENS, st.lists(st.integers(0, 1 << 20), max_size=4))
def test_quoted_cells_are_followed_from_piece_to_piece(tokens, cuts):
    text = "".join(tokens) + "a"
    assert refused_in_pieces(Path("e.csv"), text, cuts) == (longest_quoted_cell(text) > LONGEST_CELL)


def test_a_stray_quote_inside_a_cell_opens_nothing():
    assert not refused_in_pieces(Path("e.csv"), 'u,v\na,5" pipe\n' + LINES * 4, [7])


def test_text_that_ends_inside_a_character_is_no_utf_8(tmp_path):
    (tmp_path / "e.csv").write_bytes(b"u,v\na,b\nb,\xe5")
    assert "not UTF-8 text (byte 0xe5 in line 3)" in refusal(Graph.read, tmp_path / "e.csv")[0]
