"""Graph, and how it is read, cleaned, converted and written."""

from typing import TYPE_CHECKING

from llwlc.support.lazy import lazy

if TYPE_CHECKING:
    from llwlc.graph.edge_file import read_graph as read_graph
    from llwlc.graph.edge_file import write_graph as write_graph
    from llwlc.graph.graph import Graph as Graph
    from llwlc.graph.report import GraphReport as GraphReport
    from llwlc.graph.report import GraphWarning as GraphWarning

_HOMES = {
    "Graph": "graph",
    "GraphReport": "report",
    "GraphWarning": "report",
    "read_graph": "edge_file",
    "write_graph": "edge_file",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy(__name__, _HOMES)
