"""Writes the files of the guide "Your own data": who meets whom in Les Misérables (Knuth's Stanford GraphBase, as
networkx has it), as people keep such lists: semicolons, names with commas, rows repeated, reversed and with the same
name twice.

python examples/own_data.py FOLDER
"""

import csv
import random
import sys
from pathlib import Path

import networkx


def main(folder: Path) -> None:
    graph, draw = networkx.les_miserables_graph(), random.Random(0)
    names = {name: f"{name}, Mme." if name in ("Thenardier", "Burgon") else name for name in graph}
    rows = [(names[a], names[b], data["weight"]) for a, b, data in graph.edges(data=True)]
    rows += [(b, a, weight) for a, b, weight in draw.sample(rows, 12)]  # entered again, the other way round
    rows += draw.sample(rows, 5)  # and once more
    rows += [("Valjean", "Valjean", 1)]  # a slip
    draw.shuffle(rows)
    write(folder / "meetings.csv", [("person 1", "person 2", "chapters"), *rows])
    known = {frozenset(row[:2]) for row in rows}
    asked = [("Javert", "Myriel"), ("Cosette", "Enjolras"), ("Fantine", "Marius"), ("Gavroche", "Fauchelevent")]
    assert all(frozenset(pair) not in known for pair in asked)
    write(folder / "asked.csv", [("person 1", "person 2"), *asked])
    write(folder / "new.csv", [("person 1", "person 2"), ("Javert", "Marius"), ("Cosette", "Gavroche")])


def write(path: Path, rows: list[tuple]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";").writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
