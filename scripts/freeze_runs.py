"""Writes the runs that every later version with the same run format must read: small fits of a made-up graph, and what
each of them scores. `tests/runs/test_frozen_runs.py` reads them.

python scripts/freeze_runs.py        # replaces tests/runs/frozen/<version>; about a minute
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import torch

from llwlc import Graph, LinkPredictor
from llwlc._support.version import VERSION
from llwlc.relations import RelationPredictor, Triples

FOLDER = Path(__file__).parents[1] / "tests" / "runs" / "frozen" / VERSION
NODES, CIRCLES = 36, 3
SHORT = {"epochs": 25, "copies": 0, "negative_pool": 1}
FITS = {
    "llwlc": {"model": "llwlc", **SHORT},
    "stack": {"model": "stack"},
    "blend": {"model": "blend"},
    "gcn": {"model": "gcn", "epochs": 40, "hidden": 16},
    "resource-allocation": {"model": "resource-allocation"},
    "directed": {"model": "resource-allocation", "directed": True},
}
"""The parameters of `LinkPredictor` for each run."""


def make_graph(*, directed: bool = False) -> Graph:
    """People in three circles: many links within a circle, few between them, two features."""
    generator = torch.Generator().manual_seed(0)
    circle = torch.arange(NODES) % CIRCLES
    chance = torch.where(circle[:, None] == circle, 0.5, 0.04)
    edges = (torch.rand(NODES, NODES, generator=generator).triu(1) > 1 - chance.triu(1)).nonzero()
    x = torch.nn.functional.one_hot(circle)[:, :2] + 0.5 * torch.randn(NODES, 2, generator=generator)
    names = [f"Person {i:02d}" for i in range(NODES)]
    return Graph.from_edges(edges, num_nodes=NODES, x=None if directed else x, names=names, directed=directed)


def make_triples() -> Triples:
    """Two types of links, each from the nodes of one residue to those of the next."""
    known = [(u, v) for u in range(24) for v in range(24) if (v - u) % CIRCLES == 1 and (u * v) % 4]
    return Triples.of([(f"n{u:02}", "helps" if (u + v) % 2 else "knows", f"n{v:02}") for u, v in known])


def some_pairs(names: list[str]) -> list[tuple[str, str]]:
    return [(names[i], names[(5 * i + 2) % len(names)]) for i in range(0, len(names), 2)]


def freeze_fit(name: str) -> dict[str, list]:
    parameters = FITS[name]
    graph = make_graph(directed=parameters.get("directed", False))
    fitted = LinkPredictor(device="cpu", cache=None, minutes=None, **parameters).fit(graph, out=FOLDER / name)
    pairs = some_pairs(list(graph.names or ()))
    found = fitted.score(pairs)
    kept = {"pairs": pairs, "score": found.score.tolist(), "probability": found.probability.tolist()}
    return kept | ({} if found.direction is None else {"direction": found.direction.tolist()})


def freeze_typed_fit() -> dict[str, list]:
    model = RelationPredictor(epochs=5).fit(make_triples())
    model.save(FOLDER / "relations")
    asked = [(u, "helps", v) for u, v in some_pairs(list(model.triples_.names))]
    found = model.score(asked)
    return {"triples": asked, "score": [x.score for x in found], "probability": [x.probability for x in found]}


def main() -> None:
    torch.set_num_threads(1)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    kept = {name: freeze_fit(name) for name in FITS} | {"relations": freeze_typed_fit()}
    (FOLDER / "scores.json").write_text(json.dumps(kept, indent=1) + "\n")
    for path in sorted(FOLDER.iterdir()):
        print(f"{sum(p.stat().st_size for p in [path, *path.rglob('*')] if p.is_file()):>9,} bytes  {path.name}")


if __name__ == "__main__":
    main()
