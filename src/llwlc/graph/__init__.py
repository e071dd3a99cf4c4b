"""Graph, and how it is read, cleaned, converted and written."""

from typing import TYPE_CHECKING

from llwlc._support.lazy import lazy

if TYPE_CHECKING:
    from llwlc._io.edge_source import FORMATS as FORMATS
    from llwlc.graph._edge_file import read_graph as read_graph
    from llwlc.graph._edge_file import write_graph as write_graph
    from llwlc.graph._file_formats import register as register
    from llwlc.graph._graph import Graph as Graph
    from llwlc.graph._report import GraphReport as GraphReport
    from llwlc.graph._report import GraphWarning as GraphWarning

_HOMES = {
    "FORMATS": "llwlc._io.edge_source",
    "Graph": "_graph",
    "GraphReport": "_report",
    "GraphWarning": "_report",
    "read_graph": "_edge_file",
    "register": "_file_formats",
    "write_graph": "_edge_file",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
