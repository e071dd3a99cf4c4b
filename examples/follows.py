"""Writes a table of who follows whom: `python examples/follows.py follows.csv`.

People of six circles follow those of their circle who are ahead of them; some follow each other. The table is drawn,
not real.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path


def draw_follows(people: int = 120, circles: int = 6, seed: int = 7) -> list[tuple[str, str]]:
    """Pairs (follower, followed); a tenth of them has its reverse."""
    rng = random.Random(seed)
    names = [f"p{number:03d}" for number in range(people)]
    ahead = {name: rng.random() for name in names}
    follows: set[tuple[str, str]] = set()
    while len(follows) < 7 * people:
        one, other = rng.sample(range(people), 2)
        near = one % circles == other % circles or rng.random() < 0.05
        if near:
            low, high = sorted((names[one], names[other]), key=ahead.__getitem__)
            follows |= {(low, high), (high, low)} if rng.random() < 0.1 else {(low, high)}
    return sorted(follows)


if __name__ == "__main__":
    rows = "".join(f"{a},{b}\n" for a, b in draw_follows())
    Path(sys.argv[1]).write_text("follower,followed\n" + rows)
