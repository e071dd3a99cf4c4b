"""Explanation: the reasons of one pair's score, as text, JSON, HTML and a picture."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from llwlc.explain._html import as_fragment, as_page
from llwlc.explain._records import Reasons
from llwlc.explain._text import as_text

TOP = 8


@dataclass(frozen=True, repr=False)
class Explanation(Reasons):
    """Why a pair has its score, as text, JSON, HTML and a picture; `LinkPredictor.explain` makes it. All effects are in
    log-odds.

    `source` and `target` are the ends by name, `linked` says whether they are linked. `predictions` are probabilities:
    first for the population that is explained, then for the other. `parts` of the readout add up to the log-odds less
    `reference`, the mean of `references` random pairs. `eigenvectors` and `filters` say what is lost without each.
    `edges` (of `num_subgraph_edges` in the subgraph), `common_neighbors` and `paths` are sorted by how much is lost
    without them; a negative loss speaks against the link. `features` that both ends have add up to the `cosine` of
    their rows. `similar` are existing links that the network reads alike. `drawing` is the subgraph as it is drawn,
    `notes` are remarks. `direction`: of a directed run, which way the link points, and what says so.

    >>> import networkx, llwlc
    >>> graph = llwlc.Graph.from_networkx(networkx.karate_club_graph())
    >>> model = llwlc.LinkPredictor(minutes=None, cache=None, epochs=1, steps=4).fit(graph)
    >>> found = model.explain("0", "9")
    >>> found.source, found.target, found.linked
    ('0', '9', False)
    """

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False, indent=1)

    def to_text(self, top: int = TOP, *, spectrum: bool = True) -> str:
        """Lines of text, with names as they are: control characters in them reach the terminal.

        Args:
            top: rows of each table.
            spectrum: whether eigenvectors and filters have tables.
        """
        return as_text(self, top, spectrum=spectrum)

    def to_html(self, top: int = TOP) -> str:
        """A whole page that opens offline.

        Args:
            top: rows of each table.
        """
        return as_page(self, top)

    def _repr_html_(self) -> str:
        return as_fragment(self, TOP)

    def __repr__(self) -> str:
        prediction = self.predictions[0]
        return (
            f"Explanation({self.source!r}, {self.target!r}, probability={prediction.probability:.3f}"
            f" {prediction.about})"
        )

    def __str__(self) -> str:
        return self.to_text()

    def plot(self, eigenvector: int = 0) -> Any:
        """The subgraph, nodes coloured by an eigenvector, edges by what they contribute, as a matplotlib figure (extra
        `plots`).

        Args:
            eigenvector: its number; 0 has the smallest eigenvalue.
        """
        from llwlc.explain._plot import plot_drawing

        return plot_drawing(self, eigenvector)
