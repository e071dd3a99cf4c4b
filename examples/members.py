"""Writes a club's tables: `python examples/members.py` makes links.csv (who knows whom), members.csv (what each member
is interested in) and newcomers.csv (the same of people whom nobody knows yet).

Members of four groups know mostly each other and share an interest. The tables are drawn, not real.
"""

from __future__ import annotations

import random
from pathlib import Path

GROUPS = ("chess", "rowing", "choir", "garden")


def draw_club(people: int = 160, newcomers: int = 8, seed: int = 1) -> tuple[list[str], list[str], list[str]]:
    """The rows of the three tables."""
    rng = random.Random(seed)
    names = [f"m{number:03d}" for number in range(people)]
    group = {name: number % len(GROUPS) for number, name in enumerate(names)}
    known = names[: people - newcomers]
    links = [
        f"{one},{other}"
        for place, one in enumerate(known)
        for other in known[place + 1 :]
        if rng.random() < (0.2 if group[one] == group[other] else 0.005)
    ]
    rows = []
    for name in names:
        interests = [f"{(group[name] == number) + rng.gauss(0, 0.4):.2f}" for number in range(len(GROUPS))]
        rows.append(",".join([name, *interests, str(rng.randint(18, 80))]))
    return links, rows[: len(known)], rows[len(known) :]


if __name__ == "__main__":
    header = ",".join(["member", *GROUPS, "age"])
    links, members, newcomers = draw_club()
    Path("links.csv").write_text("\n".join(["one,other", *links, ""]))
    Path("members.csv").write_text("\n".join([header, *members, ""]))
    Path("newcomers.csv").write_text("\n".join([header, *newcomers, ""]))
