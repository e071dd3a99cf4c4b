"""`pack`: an edge list of any size to a packed graph, in memory that does not grow with it. duckdb joins, merges and
sorts, on disk where it must.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from llwlc._io.database import Query
from llwlc._support.files import file_digest, open_atomic_folder, remove
from llwlc._support.json_file import read_json
from llwlc._support.progress import make_progress
from llwlc._support.text import describe_error, quote_text
from llwlc.errors import InputError, LLwLCError, MissingDependencyError, StorageError
from llwlc.graph._edge_stream import EdgeStream, StreamOptions, open_stream
from llwlc.graph._identity import identity_of
from llwlc.graph._names import as_names
from llwlc.graph._packed_folder import (
    END,
    IDENTITY,
    INDICES,
    INDPTR,
    MANIFEST,
    TEXT,
    VALUE,
    WEIGHT,
    is_packed,
    open_graph,
    write_manifest,
)
from llwlc.graph._report import GraphReport, looks_directed

ROWS = 1 << 20
"""Rows that are in memory at a time."""
MEMORY = 1.0
"""Gigabytes that duckdb may take before it goes to disk."""
NUMBERED = "numbered.parquet"


def pack(
    path: str | Path | Query, out: str | Path, *, memory: float = MEMORY, **options: Unpack[StreamOptions]
) -> GraphReport:
    """Packs the graph of an edge list into a new folder, the same graph as `Graph.read` makes of it, features aside;
    `Graph.open` maps it.

    `path`: a file, or a `Query` to a database, whose rows are never all in memory either.

    `memory`: gigabytes for sorting; what exceeds them goes to the disk of the folder, some hundred bytes a row while it
    works. A bipartite list is not recognised.

    A folder that this very file was packed into, by these options, is checked and left as it is: a process that was
    killed before it could report had done all the work.
    """
    out = Path(out)
    if not out.absolute().parent.is_dir():
        raise InputError(f"there is no folder {out.parent} to make {out.name} in: make it first")
    if out.exists() and not is_packed(out):
        raise InputError(f"{out} is there already: name a folder that is not, or delete it first")
    stream = open_stream(path, **options)
    origin = _origin(stream)
    if out.exists():
        return _packed_before(out, stream, origin)
    with open_atomic_folder(out) as folder, _database(folder / "work", memory) as base:
        _read(base, stream)
        nodes = _number(base, folder)
        _refuse_doubtful_header(base, stream)
        report = _merge(base, nodes, weighted=stream.weight is not None, timed=stream.time is not None)
        if not report.edges:
            raise InputError(
                f"{stream.file.path} has no edges ({report.rows:,} rows, self-loops aside): an edge list needs at least"
                " one"
            )
        isolated = _write_links(base, folder, nodes, report.edges)
        base.close()
        remove(folder / "work")
        used = {*stream.ends[:2], stream.weight, stream.time}
        unused = tuple(name for name in stream.file.columns if name and name not in used)
        report = replace(report, isolated=isolated, unused=unused)
        write_manifest(folder, nodes, report, origin)
    return report


def _origin(stream: EdgeStream) -> dict[str, Any]:
    """What a packed graph was made of: the content of the file and the columns that were read, as JSON. Of a database
    the content is not known, nor stored what was asked.
    """
    source, target = stream.ends[:2]
    return {
        "sha256": None if stream.query is not None else file_digest(stream.file.path),
        "columns": {"source": source, "target": target, "weight": stream.weight, "time": stream.time},
        "header": stream.file.has_header,
        "separator": stream.file.separator,
    }


def _packed_before(out: Path, stream: EdgeStream, origin: Mapping[str, Any]) -> GraphReport:
    """The report of a folder that was packed from this file in this way; an error for any other folder."""
    if origin["sha256"] is None:
        raise InputError(f"{out} is there already: name a folder that is not, or delete it first")
    if read_json(out / MANIFEST).get("origin") != origin:
        raise InputError(
            f"{out} is there already, and was packed from another file than {stream.file.path}, or from other columns"
            " of it: name a folder that is not, or delete it first"
        )
    report = open_graph(out).report
    if report is None:
        raise InputError(f"{out}/{MANIFEST} has no report: delete the folder and pack again")
    return report


@contextmanager
def _database(work: Path, memory: float) -> Iterator[Any]:
    """A duckdb database in a folder of its own; its errors become an `InputError` of one sentence."""
    try:
        import duckdb
    except ImportError:
        raise MissingDependencyError("packing needs duckdb to sort: pip install 'llwlc[pack]'", name="duckdb") from None
    work.mkdir()
    try:
        base = duckdb.connect(
            str(work / "links.duckdb"),
            config={
                "memory_limit": f"{round(memory * 1024)}MiB",
                "temp_directory": str(work / "spilled"),
                "preserve_insertion_order": False,
                "autoinstall_known_extensions": False,
            },
        )
        try:
            yield base
        finally:
            base.close()
    except duckdb.OutOfMemoryException as error:
        raise InputError(
            f"{memory:g} GB are too little to sort these links ({describe_error(error)}): give more with --memory"
        ) from error
    except duckdb.Error as error:
        raise StorageError(
            f"the links cannot be sorted ({describe_error(error)}): look whether the disk has room, and pack again"
        ) from error


def _read(base: Any, stream: EdgeStream) -> None:
    """Reads the rows of the file into a table `row`."""
    with make_progress() as progress:
        task = progress.add_task("reading rows", total=None)
        batches = stream.batches()
        first = next(batches, None)
        if first is None:
            raise InputError(f"{stream.file.path} is empty: there is no row to read")

        def counted() -> Iterator[pa.RecordBatch]:
            batch: pa.RecordBatch | None = first
            while batch is not None:
                yield batch
                progress.advance(task, batch.num_rows)
                batch = next(batches, None)

        failed: list[LLwLCError] = []

        def recorded() -> Iterator[pa.RecordBatch]:
            try:
                yield from counted()
            except LLwLCError as error:  # duckdb would wrap it in an error of its own
                failed.append(error)

        base.register("batches", pa.RecordBatchReader.from_batches(first.schema, recorded()))
        base.execute("CREATE TABLE row AS SELECT * FROM batches")
        base.unregister("batches")
        if failed:
            raise failed[0]


def _number(base: Any, folder: Path) -> int:
    """Numbers the nodes as `_names.number_nodes` does and writes their names; the rows become a table `edge` of numbers
    u, v.
    """
    # an integer is one that is written as integers are: 007 is a name
    same = "try_cast({0} AS BIGINT)::VARCHAR IS NOT DISTINCT FROM {0}"
    integers = bool(_one(base, f"SELECT bool_and({same.format('source')} AND {same.format('target')}) FROM row"))
    kind = "BIGINT" if integers else "VARCHAR"
    base.execute(
        f"CREATE TABLE node AS SELECT DISTINCT name FROM (SELECT source::{kind} AS name FROM row UNION ALL SELECT"
        f" target::{kind} FROM row)"
    )
    nodes, least, most = _row(base, "SELECT count(*), min(name), max(name) FROM node")
    extra = [column for column in ("weight", "time") if column in _columns(base, "row")]
    if integers and (least, most) == (0, nodes - 1):  # names equal numbers and need not be stored
        columns = ["source::BIGINT AS u", "target::BIGINT AS v", *extra]
        base.execute(f"CREATE TABLE edge AS SELECT {', '.join(columns)} FROM row")
    else:
        (_write_integers if integers else _write_texts)(base, folder, nodes)
        columns = ["a.number AS u", "b.number AS v", *(f"row.{name}" for name in extra)]
        numbered = f"read_parquet('{str(folder / 'work' / NUMBERED).replace(chr(39), chr(39) * 2)}')"
        base.execute(
            f"CREATE TABLE edge AS SELECT {', '.join(columns)} FROM row "
            f"JOIN {numbered} a ON row.source::{kind} = a.name JOIN {numbered} b ON row.target::{kind} = b.name"
        )
    base.execute("DROP TABLE row")
    return int(nodes)


def _write_integers(base: Any, folder: Path, nodes: int) -> None:
    least = 0
    with (folder / VALUE).open("wb") as values, (folder / IDENTITY).open("wb") as known:
        for name in _numbered(base, folder, pa.int64()):
            value = name.to_numpy()
            values.write(value.tobytes())
            known.write(
                np.array([identity_of(str(v)) for v in value.tolist()], dtype=np.int64).tobytes()
                if value.min() < 0 or value.max() >= 10**18
                else value.tobytes()
            )
            least = min(least, int(value.min()), 10**18 - 1 - int(value.max()))
    if least >= 0:
        (folder / IDENTITY).unlink()  # every number stands for itself
    else:
        _separate(folder, nodes)


def _write_texts(base: Any, folder: Path, nodes: int) -> None:
    last = 0
    with ExitStack() as stack:
        text, end, known = (stack.enter_context((folder / name).open("wb")) for name in (TEXT, END, IDENTITY))
        end.write(np.zeros(1, dtype=np.int64).tobytes())
        for name in _numbered(base, folder, pa.string()):
            parts = [one.encode() for one in name.to_pylist()]
            ends = last + np.cumsum([len(part) for part in parts], dtype=np.int64)
            last = int(ends[-1])
            text.write(b"".join(parts))
            end.write(ends.tobytes())
            known.write(np.array([identity_of(one) for one in name.to_pylist()], dtype=np.int64).tobytes())
    _separate(folder, nodes)


def _separate(folder: Path, nodes: int) -> None:
    """Where two names share a hash, all identities become positions in a sorted order, as
    `_identity.compute_identities` does.
    """
    known = np.memmap(folder / IDENTITY, dtype=np.int64, mode="r+", shape=(nodes,))
    ordered = np.memmap(folder / "work" / "ordered", dtype=np.int64, mode="w+", shape=(nodes,))
    ordered[:] = known
    ordered.sort()
    if any((part[1:] == part[:-1]).any() for part in (ordered[at : at + ROWS + 1] for at in range(0, nodes, ROWS))):
        known[np.argsort(known, kind="stable")] = np.arange(nodes)
        known.flush()


def _numbered(base: Any, folder: Path, kind: pa.DataType) -> Iterator[pa.Array]:
    """Yields the names in order, batch by batch, and writes them with their numbers to a file."""
    schema, done = pa.schema([("name", kind), ("number", pa.int64())]), 0
    with pa.parquet.ParquetWriter(folder / "work" / NUMBERED, schema) as writer:
        for batch in _batches(base, "SELECT name FROM node ORDER BY name"):
            name = batch["name"].cast(kind)
            writer.write_batch(
                pa.RecordBatch.from_arrays([name, pa.array(np.arange(done, done + len(name)))], schema=schema)
            )
            done += len(name)
            yield name


def _refuse_doubtful_header(base: Any, stream: EdgeStream) -> None:
    """Refuses a first line that names two nodes: it may be a header or an edge, and the user must say which."""
    if not stream.header_may_be_an_edge:
        return
    first = as_names(pa.array(stream.ends[:2]), where=f"{stream.file.path}: header").to_pylist()
    known = _one(base, "SELECT count(*) FROM node WHERE name::VARCHAR IN (?, ?)", first)
    if known == len(set(first)):
        raise InputError(
            f"the first line of {stream.file.path} ({quote_text(first[0])}, {quote_text(first[1])}) may be a header or"
            " an edge, since both are nodes further down: say --no-header, or name the columns with --source and"
            " --target"
        )


def _merge(base: Any, nodes: int, *, weighted: bool, timed: bool) -> GraphReport:
    """Each link once in a table `link`, weights added and the latest time kept, as `_clean.assemble_graph` does."""
    sums = ", sum(weight) FILTER (u < v) AS there, sum(weight) FILTER (u > v) AS back" if weighted else ""
    latest = ", max(time) AS time" if timed else ""
    rows, loops = _row(base, "SELECT count(*), count(*) FILTER (u = v) FROM edge")
    base.execute(
        "CREATE TABLE link AS SELECT least(u, v) AS lo, greatest(u, v) AS hi, count(*) FILTER (u < v) AS ahead,"
        f" count(*) FILTER (u > v) AS behind{sums}{latest} FROM edge WHERE u <> v GROUP BY least(u, v), greatest(u, v)"
    )
    base.execute("DROP TABLE edge")
    links, one_way, both = _row(
        base,
        "SELECT count(*), coalesce(sum((ahead > 0)::BIGINT + (behind > 0)::BIGINT), 0), coalesce(sum((ahead > 0 AND"
        " behind > 0)::BIGINT), 0) FROM link",
    )
    mirrored = 0 < both == links
    if mirrored and weighted:  # numpy's allclose with a relative tolerance of a millionth
        mirrored = bool(
            _one(base, "SELECT bool_and(abs(there - back) <= 1e-8 + 1e-6 * least(abs(there), abs(back))) FROM link")
        )
    if weighted:
        share = "/ 2" if mirrored else ""
        base.execute("ALTER TABLE link ADD COLUMN weight FLOAT")
        base.execute(f"UPDATE link SET weight = ((coalesce(there, 0) + coalesce(back, 0)) {share})::FLOAT")
    return GraphReport(
        rows=int(rows),
        nodes=nodes,
        edges=int(links),
        self_loops=int(loops),
        duplicates=int(rows - loops - one_way),
        reversed_pairs=int(both),
        mirrored=mirrored,
        weighted=weighted,
        timed=timed,
        directed=looks_directed(num_edges=int(links), both=int(both), declared=None),
    )


def _write_links(base: Any, folder: Path, nodes: int, links: int) -> int:
    """Both directions of every link, sorted; returns the number of nodes without one."""
    extra = [name for name in ("weight", "time") if name in _columns(base, "link")]
    rest = "".join(f", {name}" for name in extra)
    files = {"col": INDICES, "weight": WEIGHT}
    indptr = np.memmap(folder / INDPTR, dtype=np.int64, mode="w+", shape=(nodes + 1,))
    with ExitStack() as stack, make_progress() as progress:
        task, opened = progress.add_task("writing links", total=2 * links), dict[str, Any]()
        query = f"SELECT lo AS row, hi AS col{rest} FROM link UNION ALL SELECT hi, lo{rest} FROM link ORDER BY row, col"
        for batch in _batches(base, query):
            row, count = np.unique(batch["row"].to_numpy(), return_counts=True)
            indptr[row + 1] += count
            for name in ("col", *extra):
                values = batch[name].to_numpy()
                if name not in opened:
                    file = files.get(name, f"time.{'i' if values.dtype == np.int64 else 'f'}64")
                    opened[name] = stack.enter_context((folder / file).open("wb"))
                opened[name].write(np.ascontiguousarray(values).tobytes())
            progress.advance(task, batch.num_rows)
    total, isolated = 0, 0
    for begin in range(1, nodes + 1, ROWS):
        part = indptr[begin : begin + ROWS]
        isolated += int((part == 0).sum())
        part[:] = total + np.cumsum(part)
        total = int(part[-1])
    indptr.flush()
    return isolated


def _batches(base: Any, query: str) -> Iterator[pa.RecordBatch]:
    yield from base.sql(query).to_arrow_reader(ROWS)


def _columns(base: Any, table: str) -> list[str]:
    return [
        name
        for (name,) in base.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = ?", [table]
        ).fetchall()
    ]


def _row(base: Any, query: str) -> tuple[Any, ...]:
    first_row: tuple[Any, ...] = base.execute(query).fetchone()
    return first_row


def _one(base: Any, query: str, given: list[Any] | None = None) -> Any:
    return base.execute(query, given or []).fetchone()[0]
