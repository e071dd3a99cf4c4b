"""The graph that a cell names: a dataset, or `corpus/NAME` for a network of the corpus that is there for choices."""

from __future__ import annotations

from llwlc.datasets._catalog import DATASETS, load
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from research.corpus.networks import load_network, select_networks

CORPUS = "corpus/"


def load_graph(name: str) -> Graph:
    """The graph of this name; a network of the corpus for final figures is refused."""
    if name.startswith(CORPUS):
        (network,) = select_networks("tune", [name.removeprefix(CORPUS)])
        return load_network(network.name)
    if name not in DATASETS:
        raise InputError("there is no dataset of this name")
    return load(name)
