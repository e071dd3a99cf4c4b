"""Files that no reader should be asked to read: refused in one line, in bounded memory, whatever they hold."""

import contextlib
import gzip
import io
import os
import threading
import tracemalloc
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from llwlc._io.file_bytes import read_bytes
from llwlc._io.spreadsheet import escape_formulas
from llwlc.errors import InputError
from llwlc.graph._feature_file import read_features
from llwlc.graph._graph import Graph
from llwlc.graph._pair_file import read_pairs

pytestmark = pytest.mark.filterwarnings("ignore::llwlc.graph._report.GraphWarning")
EDGES = "u,v\na,b\nb,c\nc,a\n"


def refused(read, *arguments, match: str, **options) -> None:
    with pytest.raises(InputError, match=match) as caught:
        read(*arguments, **options)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def read_or_refused(read, path) -> None:
    """A flipped bit may be in a place that does not matter."""
    said = ""
    try:
        read(path)
    except InputError as error:
        said = str(error)
    assert "\n" not in said


def bomb(size: int, row: bytes = b"a,b\n") -> bytes:
    """The same row again and again, gzipped without being written out."""
    packer, piece = zlib.compressobj(9, wbits=31), row * ((1 << 20) // len(row))
    return b"".join(packer.compress(piece) for _ in range(size >> 20)) + packer.flush()


# compressed files


def test_a_bomb_is_refused_before_it_fills_the_memory(tmp_path):
    (tmp_path / "e.csv.gz").write_bytes(bomb(512 << 20))
    tracemalloc.start()
    refused(Graph.read, tmp_path / "e.csv.gz", unzipped_limit=32 << 20, match="unpacks to more than 0.0312 GB")
    assert tracemalloc.get_traced_memory()[1] < 100 << 20
    tracemalloc.stop()


def test_the_limit_can_be_lifted_and_is_just(tmp_path):
    (tmp_path / "e.csv.gz").write_bytes(gzip.compress(EDGES.encode()))
    assert Graph.read(tmp_path / "e.csv.gz", unzipped_limit=None).num_edges == 3
    assert Graph.read(tmp_path / "e.csv.gz", unzipped_limit=len(EDGES)).num_edges == 3
    refused(Graph.read, tmp_path / "e.csv.gz", unzipped_limit=len(EDGES) - 1, match="unpacks")


def test_gzip_of_several_members_and_padding_is_read_as_gzip_does(tmp_path):
    data = gzip.compress(EDGES.encode()) + gzip.compress(b"a,d\n") + gzip.compress(b"") + bytes(512)
    (tmp_path / "e.csv.gz").write_bytes(data)
    assert read_bytes(tmp_path / "e.csv.gz").decode() == EDGES + "a,d\n" == gzip.decompress(data).decode()


@pytest.mark.parametrize("cut", [3, 9, 12, 25, -9, -4, -1])
def test_a_truncated_gzip_file_is_refused(tmp_path, cut):
    (tmp_path / "e.csv.gz").write_bytes(gzip.compress(EDGES.encode())[:cut])
    refused(Graph.read, tmp_path / "e.csv.gz", match="truncated or damaged gzip")


def test_gzip_with_a_wrong_checksum_or_something_behind_it(tmp_path):
    whole = bytearray(gzip.compress(EDGES.encode()))
    (tmp_path / "e.csv.gz").write_bytes(bytes(whole) + b"more")
    refused(Graph.read, tmp_path / "e.csv.gz", match="something else follows")
    whole[-6] ^= 1
    (tmp_path / "e.csv.gz").write_bytes(whole)
    refused(Graph.read, tmp_path / "e.csv.gz", match="truncated or damaged gzip")


def test_parquet_that_unpacks_to_more_than_the_limit(tmp_path):
    path = tmp_path / "e.parquet"
    same = pa.array(np.zeros(1_000_000, dtype=np.int64))
    pa.parquet.write_table(pa.table({"u": same, "v": same}), path, compression="gzip")
    assert path.stat().st_size < 20_000
    refused(Graph.read, path, unzipped_limit=1 << 20, match="unpacks to more than")


@pytest.mark.parametrize("shape", ["text", "bytes", "list", "structure", "map"])
def test_a_long_text_that_many_rows_refer_to_is_refused_before_it_fills_the_memory(tmp_path, shape):
    """A dictionary holds it once; written out, 100,000 rows of a megabyte are 100 GB."""
    rows, path = 100_000, tmp_path / "e.parquet"
    value = b"x" * 1_000_000 if shape == "bytes" else "x" * 1_000_000
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value]))
    starts = pa.array(np.arange(rows + 1, dtype=np.int32))
    column = {
        "list": lambda: pa.ListArray.from_arrays(starts, long),
        "structure": lambda: pa.StructArray.from_arrays([long], ["text"]),
        "map": lambda: pa.MapArray.from_arrays(starts, long, long),
    }.get(shape, lambda: long)()
    ends = {"u": pa.array(["a"] * rows), "v": pa.array(["b"] * rows)}
    pa.parquet.write_table(pa.table(ends | {"more": column}), path, store_schema=False)
    assert path.stat().st_size < 4_000_000
    before = pa.default_memory_pool().max_memory()
    refused(Graph.read, path, match="unpacks to more than 2 GB")
    assert pa.default_memory_pool().max_memory() <= max(before, 64 << 20)


def test_texts_that_repeat_but_fit_are_read(tmp_path):
    names = pa.array([f"{'a long name of a node ' * 20}{i % 50}" for i in range(20_000)])
    pa.parquet.write_table(pa.table({"u": names, "v": pa.array(["hub"] * 20_000)}), tmp_path / "e.parquet")
    assert Graph.read(tmp_path / "e.parquet", unzipped_limit=64 << 20).num_nodes == 51
    refused(Graph.read, tmp_path / "e.parquet", unzipped_limit=4 << 20, match="unpacks to more than")


def test_a_device_is_no_file_and_a_pipe_is_read_once(tmp_path):
    refused(Graph.read, "/dev/zero", match="is a device")
    os.mkfifo(tmp_path / "pipe")

    def fill(text: bytes) -> None:
        with (tmp_path / "pipe").open("wb") as pipe, contextlib.suppress(BrokenPipeError):
            pipe.write(text)

    for text in (b"a,b\nb,c\nc,a\n", bytes(300_000)):
        threading.Thread(target=fill, args=(text,)).start()
        if text[0]:
            assert Graph.read(tmp_path / "pipe").num_edges == 3
        else:
            refused(Graph.read, tmp_path / "pipe", unzipped_limit=1000, match="unpacks to more than")


# text


@pytest.mark.parametrize("row", ["{x},b", '"{x}",b', 'a, "{x}"', "{x}"])
def test_a_cell_of_megabytes(tmp_path, row):
    (tmp_path / "e.csv").write_text("u,v\n" + row.format(x="x" * 200_000) + "\nb,c\n")
    refused(Graph.read, tmp_path / "e.csv", match="131,072|Expected 2 columns|one column")


@pytest.mark.parametrize("text", ["u,v\n", "u,v", "u,v\n\n\n", "# only\n# comments\n", "u\n", "\n"])
@pytest.mark.parametrize("zipped", [False, True])
def test_a_header_and_nothing_else(tmp_path, text, zipped):
    path = tmp_path / ("e.csv.gz" if zipped else "e.csv")
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    graph = Graph.from_edges(np.array([[0, 1], [1, 2]]))
    refused(Graph.read, path, match="no edges|empty|one column")
    refused(read_pairs, path, graph, match="no pairs|empty|one column")
    refused(Graph.read, _good(tmp_path), features=path, match="no features for|empty|one column|no column with a value")


def _good(folder):
    (folder / "good.csv").write_text(EDGES)
    return folder / "good.csv"


@pytest.mark.parametrize("separator", ["", ",,", '"', "\n", "\r", "雪"])
def test_a_separator_that_is_none(tmp_path, separator):
    refused(Graph.read, _good(tmp_path), separator=separator, match="the separator must be")


@pytest.mark.parametrize("weight", ["1e39", "1e300", "1e-46", "1e-300", "1e20", "1e-20"])
def test_weights_that_single_precision_loses_are_named_at_once(tmp_path, weight):
    (tmp_path / "e.csv").write_text(f"u,v,weight\na,b,1\nb,c,{weight}\nc,a,1\n")
    refused(Graph.read, tmp_path / "e.csv", match="in row 2: single precision")


@pytest.mark.parametrize("time", ["inf", "-inf", "nan"])
def test_times_that_have_no_order(tmp_path, time):
    (tmp_path / "e.csv").write_text(f"u,v,time\na,b,1\nb,c,{time}\nc,a,1\n")
    refused(Graph.read, tmp_path / "e.csv", match="row 2")


def test_features_beyond_single_precision(tmp_path):
    (tmp_path / "n.csv").write_text("node,age\na,1\nb,1e39\nc,3\n")
    refused(Graph.read, _good(tmp_path), features=tmp_path / "n.csv", match="node 'b' has .* beyond single precision")


def test_a_path_that_is_too_long_is_one_line(tmp_path):
    refused(Graph.read, tmp_path / ("x" * 300), match="name too long")


# Parquet


def parquet(folder, **columns) -> str:
    pa.parquet.write_table(pa.table(columns), folder / "e.parquet")
    return folder / "e.parquet"


def test_lists_structs_and_other_types_where_names_or_numbers_belong(tmp_path):
    ends = {"u": ["a", "b", "c"], "v": ["b", "c", "a"]}
    nested = {
        "list": pa.array([[1], [2], None]),
        "struct": pa.array([{"x": 1}, {"x": 2}, None]),
        "map": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        "binary": pa.array([b"\xff", b"b", b"c"]),
        "duration": pa.array([1, 2, 3], pa.duration("s")),
        "null": pa.nulls(3),
    }
    for column in nested.values():
        refused(Graph.read, parquet(tmp_path, u=column, v=pa.array(["a", "b", "c"])), match="names no node")
        refused(Graph.read, parquet(tmp_path, **ends, weight=column), match="weight|UTF8")
        refused(Graph.read, parquet(tmp_path, **ends, time=column), match="time")
        if not pa.types.is_duration(column.type):  # whose values make categories
            path = parquet(tmp_path, node=pa.array(["a", "b", "c"]), f=column)
            refused(Graph.read, _good(tmp_path), features=path, match="e.parquet")


def test_invalid_utf_8_in_parquet(tmp_path):
    bad = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 2, 3], np.int32)), pa.py_buffer(b"\xff\xfea"))
    for column in ("u", "weight"):
        table = {"u": pa.array(["a", "b"]), "v": pa.array(["b", "c"]), column: bad}
        refused(Graph.read, parquet(tmp_path, **table), match="cannot be read as a table|UTF8")


def test_damaged_parquet_of_any_kind_is_refused_in_words(tmp_path):
    path = parquet(tmp_path, u=pa.array([f"n{i}" for i in range(50)]), v=pa.array([f"n{i + 1}" for i in range(50)]))
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(whole)
        for at in rng.integers(4, len(whole), 3):
            damaged[at] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        read_or_refused(Graph.read, path)


# npz


def npz(path, **arrays):
    np.savez(path, **arrays)
    return path


X = np.arange(6.0).reshape(3, 2)
BAD_ARRAYS = {
    "zero dimensions": ({"x": np.array(1.0)}, "x must be numbers of shape"),
    "complex": ({"x": X + 1j}, "x must be numbers of shape"),
    "three dimensions": ({"x": np.zeros((2, 2, 2))}, "x must be numbers of shape"),
    "words": ({"x": np.array([["a", "b"]])}, "x must be numbers of shape"),
    "zero-dimensional names": ({"x": X, "names": np.array("a")}, "names must be a list"),
    "names in rows": ({"x": X, "names": np.array([["a"], ["b"], ["c"]])}, "names must be a list"),
    "complex names": ({"x": X, "names": np.array([1j, 2, 3])}, "names must be a list"),
    "too few names": ({"x": X, "names": np.array(["a"])}, "1 names and 3 feature rows"),
    "a record": ({"x": np.zeros(3, dtype=[("a", "f4")])}, "x must be numbers of shape"),
    "no x": ({"y": X}, "has no array `x`"),
    "words as a matrix": (
        {"data": np.array(["a"]), "indices": np.array([0]), "indptr": np.array([0, 1]), "shape": np.array([1, 1])},
        "no valid CSR matrix",
    ),
    "a matrix of fractions": (
        {"data": np.ones(1), "indices": np.array([0.5]), "indptr": np.array([0, 1]), "shape": np.array([1, 1])},
        "no valid CSR matrix",
    ),
    "a matrix without a shape": (
        {"data": np.ones(1), "indices": np.array([0]), "indptr": np.array([0, 1]), "shape": np.array(1)},
        "no valid CSR matrix",
    ),
    "a matrix of many columns": (
        {"data": np.ones(1), "indices": np.array([0]), "indptr": np.array([0, 1]), "shape": np.array([1, 1 << 60])},
        "no valid CSR matrix",
    ),
    "a matrix of many rows": (
        {"data": np.ones(1), "indices": np.array([0]), "indptr": np.array([0, 1]), "shape": np.array([1 << 62, 1])},
        "no valid CSR matrix",
    ),
    "a matrix beyond its columns": (
        {"data": np.ones(1), "indices": np.array([7]), "indptr": np.array([0, 1]), "shape": np.array([1, 1])},
        "no valid CSR matrix",
    ),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_arrays_that_are_no_features(tmp_path, name):
    arrays, message = BAD_ARRAYS[name]
    refused(read_features, npz(tmp_path / "n.npz", **arrays), match=message)


def test_no_rows_and_no_columns_are_named(tmp_path):
    for x in (np.zeros((0, 3)), np.zeros((3, 0)), np.zeros(0)):
        npz(tmp_path / "n.npz", x=x)
        refused(Graph.read, _good(tmp_path), features=tmp_path / "n.npz", match="feature")


def test_npy_under_the_name_of_npz(tmp_path):
    with (tmp_path / "n.npz").open("wb") as file:
        np.save(file, X)
    refused(read_features, tmp_path / "n.npz", match="holds one array")


def with_header(shape: str, dtype: str = "<f8", data: bytes = bytes(48)) -> bytes:
    """An array whose header promises what it likes."""
    head = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + data


@pytest.mark.parametrize("shape", ["(1000000000000, 2)", "(-3, -2)", "(3, 3)", "(1 << 80, 1)", "(True, 6)", "6"])
def test_a_header_that_promises_more_than_there_is(tmp_path, shape):
    with zipfile.ZipFile(tmp_path / "n.npz", "w") as file:
        file.writestr("x.npy", with_header(shape))
    refused(read_features, tmp_path / "n.npz", match="not a usable npz|x must be")


def test_pickled_objects_damaged_and_encrypted_members_and_bombs(tmp_path):
    path = tmp_path / "n.npz"
    np.savez(path, x=np.array([{"a": 1}], dtype=object))
    refused(read_features, path, match="pickled")
    packed = io.BytesIO()
    np.savez_compressed(packed, x=np.zeros((200_000, 2)))
    path.write_bytes(packed.getvalue())
    refused(read_features, path, unzipped_limit=1 << 20, match="unpacks to more than")
    for at in range(0, len(packed.getvalue()), 97):
        damaged = bytearray(packed.getvalue())
        damaged[at] ^= 0xFF
        path.write_bytes(damaged)
        read_or_refused(read_features, path)


# spreadsheets


def test_no_cell_is_computed_by_a_spreadsheet():
    cells = ["=1+1", "+cmd|x", "-x", "@SUM(A1)", "\t=1", "\r=1", "＝1", "Ada", "a=b", "", None, "-3", "+1.5e3", "-"]
    table = escape_formulas(pa.table({"=name": cells, "number": [-1.0] * len(cells)}))
    assert table.column_names == ["'=name", "number"]
    assert table.column(0).to_pylist() == [
        *(f"'{cell}" for cell in cells[:7]),
        *("Ada", "a=b", "", None, "-3", "+1.5e3"),
        "'-",
    ]
    assert table["number"].to_pylist() == [-1.0] * len(cells)


def test_a_column_called_score_is_kept_beside_one_called_score_given(tmp_path):
    (tmp_path / "p.csv").write_text("source,target,score,score_given,probability\n0,1,5,6,7\n")
    found = read_pairs(tmp_path / "p.csv", Graph.from_edges(np.array([[0, 1], [1, 2]])))
    assert found.table.to_pylist() == [
        {
            "source": "0",
            "target": "1",
            "score_given_given": 5,
            "score_given": 6,
            "probability_given": 7,
        }
    ]
    assert found.renamed == {"score": "score_given_given", "probability": "probability_given"}
