"""Tables to files: CSV, TSV, Parquet or JSON lines; atomically."""

from __future__ import annotations

import gzip
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from llwlc._io.database_url import refuse_url
from llwlc._support.files import check_parent_folder, write_bytes
from llwlc._support.text import describe_error
from llwlc.errors import InputError

WRITABLE = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".csv.gz", ".tsv.gz", ".jsonl.gz", ".ndjson.gz")


def write_table(path: str | Path, table: pa.Table, format: str | None = None) -> None:
    """CSV, TSV, Parquet or JSON lines by the ending, or as given, text also as `.gz`; the file appears atomically.

    >>> import tempfile
    >>> out = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> write_table(out, pa.table({"source": ["Ada"], "score": [0.5]}))
    >>> out.read_text()
    'source,score\\nAda,0.5\\n'
    """
    path = Path(path)
    check_writable(path, format)
    data = serialize_table(table, format or infer_format(path))
    write_bytes(path, gzip.compress(data, 6, mtime=0) if path.suffix == ".gz" else data)


def serialize_table(table: pa.Table, format: str) -> bytes:
    """A table as csv, tsv, parquet or jsonl; in JSON lines a missing value is null, and so is one that is not a finite
    number.

    >>> serialize_table(pa.table({"source": ["Ada"], "score": [0.5]}), "jsonl")
    b'{"source": "Ada", "score": 0.5}\\n'
    """
    if format == "parquet":
        buffer = io.BytesIO()
        pa.parquet.write_table(table, buffer)
        return buffer.getvalue()
    if format == "jsonl":
        lines = (json.dumps(row, ensure_ascii=False, default=str) for row in map(_finite, table.to_pylist()))
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
    return _as_text(table, "\t" if format == "tsv" else ",")


def _finite(row: dict[str, object]) -> dict[str, object]:
    return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in row.items()}


def infer_format(path: Path) -> str:
    """The format that the ending of a file says.

    >>> infer_format(Path("top.tsv.gz"))
    'tsv'
    """
    ending = path.name.removesuffix(".gz").rpartition(".")[2]
    return {"ndjson": "jsonl"}.get(ending, ending)


def check_writable(path: str | Path, format: str | None = None) -> None:
    """Raises an error for an ending or a folder that `write_table` cannot use: a long job calls this before it
    starts.
    """
    path = Path(path)
    refuse_url(path, "name a file; recommend writes to a database by --to")
    if format is None and not path.name.endswith(WRITABLE):
        raise InputError(f"cannot tell the format of {path} from its ending: use one of {', '.join(WRITABLE)}")
    check_parent_folder(path)


def _as_text(table: pa.Table, separator: str) -> bytes:
    head, body = _row(table.column_names, separator), io.BytesIO()
    options = pa.csv.WriteOptions(include_header=False, delimiter=separator, quoting_style="none")
    try:
        pa.csv.write_csv(table, body, options)
        if b"\r" not in body.getvalue():
            return head.encode() + body.getvalue()
    except pa.ArrowInvalid:  # a cell needs quotes, and arrow would quote all or refuse
        pass
    try:
        columns = [pc.fill_null(column.cast(pa.string()), "").to_pylist() for column in table.columns]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"this table cannot be written as text ({describe_error(error)}): write .parquet or .jsonl"
        ) from error
    return "".join([head, *(_row(row, separator) for row in zip(*columns, strict=True))]).encode()


def _row(cells: Sequence[str], separator: str) -> str:
    """A line of CSV. Python 3.11's own writer leaves a carriage return unquoted, and readers end the line there."""

    def quoted(cell: str) -> str:
        needed = any(c in cell for c in (separator, '"', "\n", "\r")) or (not cell and len(cells) == 1)
        return '"' + cell.replace('"', '""') + '"' if needed else cell

    return separator.join(map(quoted, cells)) + "\n"
