"""Files of tables and arrays, odd from the start and then altered."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from fuzz.graph_files import MAKERS
from fuzz.mutate import Rng, mutated_bytes, pick

CELLS = [
    *(
        "a",
        "b",
        "c",
        "d",
        "0",
        "1",
        "2",
        "3",
        "-1",
        "007",
        "1.5",
        "1e39",
        "1e-46",
        "nan",
        "inf",
        "",
        " ",
        "Ada, Jr.",
        'the "last"',
    ),
    *(
        "=1+1",
        "[/x]",
        "\x1b[31m",
        "雪",
        "a\nb",
        "2020-01-01",
        "true",
        "x" * 500,
        "99999999999999999999999",
        "#x",
        "# x",
        "%",
    ),
]
HEADS = [
    "source",
    "target",
    "weight",
    "time",
    "u",
    "v",
    "node",
    "id",
    "score",
    "probability",
    "",
    "1",
    "a",
    "Weight",
    "x y",
]
ENDINGS = [".csv", ".tsv", ".txt", ".csv.gz", ".parquet", ".pq", ".npz", ".gz", ".graphml", ".gexf", ".mtx", ".g6", ""]
KINDS = [
    *(
        pa.int64(),
        pa.int8(),
        pa.uint64(),
        pa.float32(),
        pa.float64(),
        pa.string(),
        pa.large_string(),
        pa.bool_(),
        pa.date32(),
    ),
    *(
        pa.timestamp("ns"),
        pa.duration("s"),
        pa.binary(),
        pa.list_(pa.int64()),
        pa.struct([("x", pa.int64())]),
        pa.null(),
    ),
    *(pa.dictionary(pa.int32(), pa.string()), pa.decimal128(20, 3), pa.time64("us"), pa.map_(pa.string(), pa.int64())),
]


def text_table(rng: Rng) -> bytes:
    """Rows of odd cells, most of them of one width."""
    width, rows = int(rng.integers(1, 5)), int(rng.integers(0, 30))
    out = io.StringIO()
    writer = csv.writer(
        out, delimiter=pick(rng, [",", ",", "\t", ";", " "]), lineterminator=pick(rng, ["\n", "\n", "\r\n"])
    )
    if rng.random() < 0.7:
        writer.writerow([pick(rng, HEADS) for _ in range(width)] if rng.random() < 0.5 else HEADS[:width])
    tame = rng.random() < 0.6
    for _ in range(rows):
        ragged = width + (int(rng.integers(-1, 2)) if rng.random() < 0.02 else 0)
        cells = [
            f"n{int(rng.integers(9))}" if tame and rng.random() < 0.97 else pick(rng, CELLS) for _ in range(ragged)
        ]
        writer.writerow([*cells[:2], *(str(int(rng.integers(1, 5))) if tame else cell for cell in cells[2:])])
    return out.getvalue().encode()


def column(rng: Rng, rows: int) -> pa.Array:
    """An arrow array of any type; where no value fits, nulls."""
    kind = pick(rng, KINDS)
    pools: list[list[Any]] = [
        [int(v) for v in rng.integers(0, 9, rows)],
        [f"n{v}" for v in rng.integers(0, 9, rows)],
        [pick(rng, CELLS) for _ in range(rows)],
        [[int(v)] for v in rng.integers(0, 9, rows)],
        [{"x": int(v)} for v in rng.integers(0, 9, rows)],
    ]
    for pool in [pools[i] for i in rng.permutation(len(pools))]:
        values = [None if rng.random() < 0.02 else value for value in pool]
        try:
            return pa.array(values, kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
    return pa.nulls(rows, kind)


def parquet_table(rng: Rng) -> bytes:
    rows, out = int(rng.integers(0, 20)), io.BytesIO()
    names = (
        [pick(rng, HEADS) for _ in range(int(rng.integers(1, 5)))]
        if rng.random() < 0.3
        else HEADS[: int(rng.integers(1, 5))]
    )
    ends = [pa.array([f"n{v}" for v in rng.integers(0, 9, rows)]) for _ in range(2)]
    arrays = [ends[i] if i < 2 and rng.random() < 0.7 else column(rng, rows) for i in range(len(names))]
    try:
        pa.parquet.write_table(pa.table(arrays, names=names), out, compression=pick(rng, ["snappy", "gzip", "none"]))
    except (pa.ArrowException, ValueError):
        return b"PAR1"
    return out.getvalue()


def npz_file(rng: Rng) -> bytes:
    """Arrays under names that readers look for, of types and shapes that they may not."""
    kinds = ["f4", "f8", "i8", "u1", "c16", "U3", "S2", "?", "M8[s]", "f2"]
    keys = [
        "x",
        "names",
        "data",
        "indices",
        "indptr",
        "shape",
        "x_data",
        "x_indices",
        "x_indptr",
        "x_shape",
        "format",
        "y",
    ]
    arrays = {}
    for key in {pick(rng, keys) for _ in range(int(rng.integers(1, 6)))} | ({"x"} if rng.random() < 0.7 else set()):
        shape = tuple(int(v) for v in rng.integers(0, 10, int(rng.integers(0, 4)))) if rng.random() < 0.5 else (9, 2)
        arrays[key] = np.asarray(rng.integers(0, 9, shape)).astype(pick(rng, kinds))
    if rng.random() < 0.3:
        arrays["x"] = rng.random((9, 3))
        arrays["names"] = np.array([f"n{i}" for i in range(9)])
    out = io.BytesIO()
    (np.savez_compressed if rng.random() < 0.5 else np.savez)(out, **arrays)
    if rng.random() < 0.2:  # a header that says something else
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as file:
            for key, array in arrays.items():
                single = io.BytesIO()
                np.save(single, array, allow_pickle=False)
                file.writestr(f"{key}.npy", mutated_bytes(single.getvalue(), rng, 1))
        return packed.getvalue()
    return out.getvalue()


def odd_file(folder: Path, rng: Rng, name: str) -> Path:
    """A file of any kind under any ending, in most cases damaged once more."""
    endings = {text_table: ".csv", parquet_table: ".parquet", npz_file: ".npz"} | MAKERS
    make = pick(rng, [text_table, text_table, parquet_table, npz_file, *MAKERS])
    data = make(rng)
    right = endings[make]
    ending = right if rng.random() < 0.85 else pick(rng, ENDINGS)
    if rng.random() < 0.6:
        data = mutated_bytes(data, rng)
    if rng.random() < 0.15:
        data = gzip.compress(data, mtime=0)
        ending += ".gz" if rng.random() < 0.8 else ""
        if rng.random() < 0.5:
            data = mutated_bytes(data, rng)
    path = folder / f"{name}{ending}"
    path.write_bytes(data)
    return path
