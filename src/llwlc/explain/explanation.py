"""Explanation: the reasons of one pair's score, as text, JSON, HTML and a picture."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from llwlc.explain.html import as_fragment, as_page
from llwlc.explain.records import Reasons
from llwlc.explain.text import as_text

TOP = 8


@dataclass(frozen=True, repr=False)
class Explanation(Reasons):
    """`Reasons` as text, JSON, HTML and a picture; `top`: rows of each table."""

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False, indent=1)

    def to_text(self, top: int = TOP) -> str:
        """Lines of text, with names as they are: pass it through `support.text.visible` before printing it."""
        return as_text(self, top)

    def to_html(self, top: int = TOP) -> str:
        """A whole page that opens offline."""
        return as_page(self, top)

    def _repr_html_(self) -> str:
        return as_fragment(self, TOP)

    def __repr__(self) -> str:
        said = self.said[0]
        return f"Explanation({self.source!r}, {self.target!r}, probability={said.probability:.3f} {said.about})"

    def __str__(self) -> str:
        return self.to_text()

    def plot(self, eigenvector: int = 0) -> Any:
        """The subgraph, nodes coloured by an eigenvector, edges by what they contribute, as a matplotlib figure (extra `plots`)."""
        from llwlc.explain.plot import plot_drawing

        return plot_drawing(self, eigenvector)
