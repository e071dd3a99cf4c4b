"""Where edges come from: a table, or a file of a graph format, known by its first bytes or by its ending."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from llwlc._io.file_bytes import UNZIPPED_LIMIT, UserFile, open_file
from llwlc._io.memory_table import TableSource, is_path, make_memory_table, open_source, to_arrow
from llwlc._io.table_file import TableFile, table_of
from llwlc._support.registry import Record, Registry
from llwlc.errors import InputError


@dataclass(frozen=True)
class EdgeSource:
    """A table of edges with what else its file states: the names of all `nodes`, also of those without an edge; whether
    edges are `directed` (None: not stated); `notes` for the user.
    """

    file: TableFile
    nodes: pa.Array | None = None
    directed: bool | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class GraphFormat(Record):
    """A format of graph files. `target(file)` gives an `EdgeSource`, or with `from_bytes` `target(content)` a table in
    memory; a file is of this format if its first bytes match `begins`, or by one of its `endings`.
    """

    begins: str | None = None
    endings: tuple[str, ...] = ()
    from_bytes: bool = False

    def __post_init__(self) -> None:
        if self.begins is None and not self.endings:
            raise InputError(
                f"nothing tells a file of the graph format {self.name!r}: give its endings, or how it begins"
            )
        if not isinstance(self.endings, tuple) or not all(ending.startswith(".") for ending in self.endings):
            raise InputError(
                f"the endings of a graph format are a tuple of texts like '.graphml', got {self.endings!r}"
            )

    def fits(self, path: Path, head: bytes) -> bool:
        ending = next((suffix for suffix in reversed(path.suffixes) if suffix not in (".gz", ".gzip")), "")
        begins = self.begins is not None and re.match(self.begins.encode(), head) is not None
        return begins or ending.lower() in self.endings

    def read(self, file: UserFile) -> EdgeSource:
        """The edges of a file of this format."""
        where = f" on {file.path}"
        if not self.from_bytes:
            source: EdgeSource = FORMATS.run(self, file, where=where)
            return source
        rows = FORMATS.run(self, file.read(), where=where)
        try:
            return EdgeSource(make_memory_table(to_arrow(rows), file.path))
        except InputError as error:
            raise InputError(f"the graph format {self.name!r} read {file.path}, and gave no table: {error}") from error


FORMATS: Registry[GraphFormat] = Registry("graph format")
"""The graph formats by name, built in or registered: `FORMATS[name]`, `list(FORMATS)`."""
# a namespace prefix, a comment and the XML declaration may stand before the first element
_XML = r"(?s)(\xef\xbb\xbf)?\s*(<\?.*?\?>\s*|<!--.*?-->\s*)*<([\w.-]+:)?"
for _record in (
    GraphFormat(
        "graphml",
        "GraphML: nodes and edges in XML",
        "llwlc._io.xml_graph:read_graphml",
        _XML + "graphml",
        (".graphml",),
    ),
    GraphFormat(
        "gexf", "GEXF, Gephi's nodes and edges in XML", "llwlc._io.xml_graph:read_gexf", _XML + "gexf", (".gexf",)
    ),
    GraphFormat(
        "matrix-market",
        "Matrix Market: a sparse matrix as text",
        "llwlc._io.matrix_market:read_matrix_market",
        r"%%MatrixMarket",
        (".mtx", ".mm"),
    ),
    GraphFormat(
        "graph6", "one small graph in a line", "llwlc._io.graph6:read_graph6", r">>graph6<<", (".g6", ".graph6")
    ),
    GraphFormat(
        "konect",
        "KONECT's edge lists, which begin with % sym, % asym or % bip",
        "llwlc._io.edge_source:read_konect",
        r"%[ \t]*(sym|asym|bip)\s",
    ),
    GraphFormat(
        "snap",
        "SNAP's edge lists, which begin with # Directed graph or # Undirected graph",
        "llwlc._io.edge_source:read_snap",
        r"(#[^\n]*\n)*#\s*(Und|D)irected graph",
    ),
):
    FORMATS.add(_record)


def open_edges(
    source: TableSource,
    *,
    header: bool | None = None,
    separator: str | None = None,
    unzipped_limit: int | None = UNZIPPED_LIMIT,
) -> EdgeSource:
    """The edges of a table, in a file or in memory, or of a graph file; a compressed file that unpacks to more than the
    limit is refused.
    """
    if not is_path(source):
        return EdgeSource(open_source(source))
    with open_file(Path(source), unzipped_limit) as file:
        if header is None and separator is None:
            for kind in FORMATS.records():
                if kind.fits(file.path, file.head):
                    return kind.read(file)
        return EdgeSource(table_of(file, header=header, separator=separator))


POSITIVE_WEIGHTS = ("positive", "posweighted", "multiposweighted")
"""KONECT's kinds of weights that are above zero; others are ratings and signs."""


def read_konect(file: UserFile) -> EdgeSource:
    """KONECT's `out.*` files: source, target, weight or rating, time; the first line says which. The two sides of a
    bipartite network are numbered each from 1, so their nodes are called L1, L2, … and R1, R2, …"""
    path, first = file.path, file.head.split(b"\n", 1)[0].decode(errors="replace").strip("% \t\r").split()
    kind, weights = first[0], first[1] if len(first) > 1 else "unweighted"
    rows = table_of(file, header=False, separator=" ")  # spaces and tabs, mixed
    third = "weight" if weights in (*POSITIVE_WEIGHTS, "unweighted") else "rating"
    columns = ("source", "target", third, "time", *rows.columns[4:])[: len(rows.columns)]
    notes = []
    if third == "rating" and len(columns) > 2:
        notes.append(
            f"{path}: its third column holds ratings or signs (KONECT: {weights}), which are left out as weights;"
            " weight='rating' (--weight rating) takes them."
        )
    if kind != "bip":
        return EdgeSource(replace(rows, columns=columns), directed=kind == "asym", notes=tuple(notes))
    if len(columns) < 2:
        raise InputError(f"{path} has one column: two are needed, one for each end of an edge")
    table = replace(rows, columns=columns).read(text=columns[:2])
    notes.append(make_bipartite_note(path))
    sides = [make_side_names(table[name], side) for name, side in zip(columns[:2], "LR", strict=True)]
    table = table.set_column(0, "source", sides[0]).set_column(1, "target", sides[1])
    return EdgeSource(make_memory_table(table, path), directed=False, notes=tuple(notes))


def read_snap(file: UserFile) -> EdgeSource:
    """SNAP's edge lists, whose comments say whether edges are directed; ids are numbers, without a header."""
    stated = re.search(rb"#\s*(Und|D)irected graph", file.head)
    return EdgeSource(table_of(file), directed=stated is not None and stated[1] == b"D")


def make_bipartite_note(path: Path) -> str:
    return (
        f"{path} numbers the two sides of a bipartite graph each from 1: its nodes are called L1, L2, … and R1, R2, …"
        " here."
    )


def make_side_names(numbers: pa.ChunkedArray | np.ndarray, side: str) -> pa.Array:
    """Names of the nodes of one side of a bipartite graph.

    >>> make_side_names(np.array([1, 2]), "L").to_pylist()
    ['L1', 'L2']
    """
    import pyarrow.compute as pc

    array = pa.array(numbers) if isinstance(numbers, np.ndarray) else numbers.combine_chunks()
    return pc.binary_join_element_wise(side, pc.utf8_trim_whitespace(array.cast(pa.string())), "")
