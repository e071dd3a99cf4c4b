"""A little of every target, and everything that a whole run has ever found (`fuzz/corpus/`): accepted or refused in one
line, nothing else.
"""

from pathlib import Path

import numpy as np
import pytest
import torch

from fuzz.targets import LIMIT, TARGETS, one_line
from llwlc.errors import InputError
from llwlc.graph._feature_file import read_features
from llwlc.graph._graph import Graph
from llwlc.graph._pair_file import read_pairs

pytestmark = pytest.mark.filterwarnings("ignore")
CORPUS = sorted((Path(__file__).parent / "fuzz" / "corpus").iterdir())
FEW = {"readings": 300, "lines": 4, "runs": 15, "checkpoints": 4, "caches": 40}


@pytest.mark.parametrize("name", TARGETS)
def test_a_little_of_each(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLWLC_CACHE", str(tmp_path / "cache"))
    target = TARGETS[name][0](tmp_path)
    for i in range(FEW[name]):
        assert target.case(np.random.default_rng([0, *name.encode(), i])) in ("accepted", "refused")


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_was_found_once_is_refused_or_read(path):
    graph = Graph.from_edges(torch.tensor([[i, (i + 1) % 9] for i in range(9)]), names=[f"n{i}" for i in range(9)])
    for read in (Graph.read, read_features, lambda file, **limit: read_pairs(file, graph, **limit)):
        try:
            read(path, unzipped_limit=LIMIT)
        except InputError as error:
            one_line(error)
