"""GraphML and GEXF: nodes, edges and the attributes of edges, from a stream of elements.

The parser is expat with our own handlers, not a tree: memory grows with nodes and edges alone. A document type is
refused before anything is made of it, since entities that it declares can hold more than any memory, or name files.
Attributes of nodes are not read: give features as a table.
"""

from __future__ import annotations

import xml.parsers.expat
from array import array
from pathlib import Path

import numpy as np
import pyarrow as pa

from llwlc._io.edge_source import EdgeSource
from llwlc._io.file_bytes import UserFile
from llwlc._io.memory_table import make_memory_table
from llwlc._support.text import describe_error, quote_text
from llwlc.errors import InputError

LONGEST = 1 << 20
"""Longest element, name or value, in characters; no weight or time is longer."""
DEEPEST = 256
"""Elements inside each other. GraphML nests graphs in nodes, GEXF nodes in nodes."""


def read_graphml(file: UserFile) -> EdgeSource:
    """Edges by the ids of their nodes, with the edge attributes by their names."""
    return _read(file, GraphMLReader(file.path))


def read_gexf(file: UserFile) -> EdgeSource:
    """Like `read_graphml`, for Gephi's format, in which an edge's weight is an XML attribute."""
    return _read(file, GexfReader(file.path))


class XmlReader:
    """What both formats share: collects edges as pairs of node numbers, and values of edges, in the order of the
    file.
    """

    root = ""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.numbers: dict[str, int] = {}
        self.source, self.target = array("q"), array("q")
        self.values: dict[str, tuple[array[int], list[str]]] = {}
        self.titles: dict[str, str] = {}
        self.defaults: dict[str, str] = {}
        self.directed = False
        self.graphs = 0
        self.node_attributes = False
        self.text: list[str] | None = None
        self.length = 0
        self.inside: list[str] = []

    def begin(self, tag: str, given: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if not self.inside and tag != self.root:
            raise InputError(
                f"{self.path} begins with the element {quote_text(tag)}, not with {self.root}: check what wrote it"
            )
        self.inside.append(tag)
        if len(self.inside) > DEEPEST:
            raise InputError(f"{self.path} nests more than {DEEPEST} elements: check what wrote it")
        if tag == "graph" and self.inside.count("graph") == 1:
            self.graphs += 1
            if self.graphs > 1:
                raise InputError(f"{self.path} holds several graphs: keep one in a file")
        if tag == "node":
            self.number(given, "id")
        self.element(tag, given)

    def end(self, tag: str) -> None:
        tag = self.inside.pop()
        self.leave(tag, "" if self.text is None else "".join(self.text).strip())
        self.text, self.length = None, 0

    def characters(self, text: str) -> None:
        if self.text is None:
            return
        self.length += len(text)
        if self.length > LONGEST:
            raise InputError(f"{self.path} has a value of more than {LONGEST:,} characters: check what wrote it")
        self.text.append(text)

    def element(self, tag: str, given: dict[str, str]) -> None:
        raise NotImplementedError

    def leave(self, tag: str, text: str) -> None:
        """Called at the end of an element, with its text."""

    def number(self, given: dict[str, str], name: str) -> int:
        if name not in given:
            raise InputError(f"{self.path}: an element {self.inside[-1]} has no attribute {name}: fix it")
        return self.numbers.setdefault(given[name], len(self.numbers))

    def edge(self, given: dict[str, str]) -> None:
        self.source.append(self.number(given, "source"))
        self.target.append(self.number(given, "target"))

    def keep(self, name: str, value: str) -> None:
        """Stores a value of the latest edge; a later one of the same name replaces it."""
        rows, texts = self.values.setdefault(name, (array("q"), []))
        rows.append(len(self.source) - 1)
        texts.append(value)

    def edges(self) -> EdgeSource:
        names = pa.array(list(self.numbers), pa.string())
        columns = {
            "source": names.take(pa.array(np.frombuffer(self.source, np.int64))),
            "target": names.take(pa.array(np.frombuffer(self.target, np.int64))),
        }
        for key in sorted({*self.values, *self.defaults} & {*self.titles}):
            title = self.titles[key]
            columns.setdefault(title, self.column(key, "1" if title.lower() == "weight" else None))
        notes: tuple[str, ...] = ()
        if self.node_attributes:
            notes = (f"{self.path}: attributes of nodes are not read; give them as a table of features (--features).",)
        return EdgeSource(make_memory_table(pa.table(columns), self.path), names, self.directed, notes)

    def column(self, key: str, usual: str | None) -> pa.Array:
        """A value for each edge, the default where an edge has none; numbers where all are."""
        rows, texts = self.values.get(key, (array("q"), []))
        at = np.full(len(self.source), len(texts))
        at[np.frombuffer(rows, np.int64)] = np.arange(len(texts))
        values = pa.array([*texts, self.defaults.get(key, usual)], pa.string()).take(pa.array(at))
        for kind in (pa.int64(), pa.float64()):
            try:
                return values.cast(kind)
            except pa.ArrowInvalid:
                continue
        return values


class GraphMLReader(XmlReader):
    root = "graphml"
    key = ""

    def element(self, tag: str, given: dict[str, str]) -> None:
        if tag == "hyperedge":
            raise InputError(f"{self.path} has a hyperedge: links here join two nodes; split it into pairs")
        if tag == "graph" and self.inside.count("graph") == 1:
            self.directed = given.get("edgedefault") == "directed"
        if tag == "edge":
            self.edge(given)
        if tag == "key":
            self.key = given.get("id", "")
            if given.get("for", "all") in ("edge", "all"):
                self.titles[self.key] = given.get("attr.name", self.key)
        if tag == "data":
            self.key = given.get("key", "")
            self.node_attributes |= self.inside[-2:-1] == ["node"]
        if tag in ("data", "default"):
            self.text = []

    def leave(self, tag: str, text: str) -> None:
        if tag == "default" and self.inside[-1:] == ["key"]:
            self.defaults[self.key] = text
        if tag == "data" and self.inside[-1:] == ["edge"] and self.key in self.titles:
            self.keep(self.key, text)


class GexfReader(XmlReader):
    root = "gexf"
    of_edges = False
    key = ""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.titles["weight"] = "weight"

    def element(self, tag: str, given: dict[str, str]) -> None:
        if tag == "graph":
            self.directed = given.get("defaultedgetype") == "directed"
        if tag == "edge":
            self.edge(given)
            if "weight" in given:
                self.keep("weight", given["weight"])
        if tag == "attributes":
            self.of_edges = given.get("class") == "edge"
        if tag == "attribute" and self.of_edges:
            self.key = "attribute " + given.get("id", "")
            self.titles[self.key] = given.get("title", given.get("id", ""))
        if tag == "attvalue" and self.inside[-3:-1] == ["edge", "attvalues"]:
            self.keep("attribute " + given.get("for", given.get("id", "")), given.get("value", ""))
        self.node_attributes |= tag == "attvalue" and self.inside[-3:-1] == ["node", "attvalues"]
        if tag == "default" and self.of_edges and self.inside[-2:-1] == ["attribute"]:
            self.text = []

    def leave(self, tag: str, text: str) -> None:
        if tag == "default" and self.of_edges and self.inside[-1:] == ["attribute"]:
            self.defaults[self.key] = text


def _read(file: UserFile, reader: XmlReader) -> EdgeSource:
    path = file.path

    def refuse(*_: object) -> None:
        raise InputError(
            f"{path} declares a document type (<!DOCTYPE ...>), whose entities could hold anything: remove that"
            " declaration"
        )

    parser = xml.parsers.expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler = reader.begin, reader.end
    parser.CharacterDataHandler = reader.characters
    try:
        size = 0
        for chunk in file.chunks():
            parser.Parse(chunk, False)
            size += len(chunk)
            # the parser keeps what has no end yet
            if size - parser.CurrentByteIndex > LONGEST + len(chunk):
                raise InputError(f"{path} has an element of more than {LONGEST:,} characters: check what wrote it")
        parser.Parse(b"", True)
    except (xml.parsers.expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is broken XML ({describe_error(error)}): fix it there, or write it again") from None
    if not reader.graphs:
        raise InputError(f"{path} holds no graph element: check what wrote it")
    return reader.edges()
