"""What others reach on BREC's 400 pairs, as published.

From table 2 of Wang and Zhang, "An empirical study of realized GNN expressiveness" (ICML 2024): the first two are
computed without learning, the others are networks under BREC's procedure. Its column "Regular" holds 140 pairs, our
regular, strongly regular, 4-vertex-condition and distance-regular ones together.
"""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    """Pairs separated, of 60, 140, 100, 100 and 400."""

    method: str
    basic: int
    regular: int
    extension: int
    cfi: int

    @property
    def total(self) -> int:
        return self.basic + self.regular + self.extension + self.cfi


BREC_RESULTS = (
    Published("SPD-WL", 16, 14, 41, 12),
    Published("3-WL", 60, 50, 100, 60),
    Published("Graphormer", 16, 12, 41, 10),
    Published("NGNN", 59, 48, 59, 0),
    Published("δ-k-LGNN", 60, 50, 100, 6),
    Published("SUN", 60, 50, 100, 13),
    Published("PPGN", 60, 50, 100, 23),
    Published("GSN", 60, 99, 95, 0),
    Published("KP-GNN", 60, 106, 98, 11),
    Published("I²-GNN", 60, 100, 100, 21),
)
