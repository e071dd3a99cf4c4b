"""`predict_missing_links` gives the list of `LinkPredictor`, whatever holds the graph, by the input's names."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data

import llwlc
from people import QUICK, people

KARATE = nx.karate_club_graph()
for _, _, attributes in KARATE.edges(data=True):
    attributes.clear()  # without weights
PAIRS = np.array(KARATE.edges)
COLUMNS = {"source": PAIRS[:, 0], "target": PAIRS[:, 1]}
FORMS = {
    "networkx": lambda: KARATE,
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "arrow": lambda: pa.table(COLUMNS),
    "list": lambda: [(str(u), str(v)) for u, v in PAIRS],
    "scipy": lambda: nx.to_scipy_sparse_array(KARATE, weight=None, dtype=float),
    "scipy matrix": lambda: scipy.sparse.csc_matrix(nx.to_scipy_sparse_array(KARATE, weight=None, dtype=float)),
    "PyG": lambda: Data(edge_index=torch.from_numpy(np.concatenate([PAIRS, PAIRS[:, ::-1]]).T), num_nodes=34),
    "Graph": lambda: llwlc.Graph.from_edges(torch.from_numpy(PAIRS)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_list_of_the_predictor(form):
    wanted = llwlc.LinkPredictor(model="adamic-adar").fit(llwlc.Graph.from_networkx(KARATE)).recommend(top=20)
    assert llwlc.predict_missing_links(FORMS[form](), top=20, model="adamic-adar") == wanted
    assert not any(KARATE.has_edge(int(link.source), int(link.target)) for link in wanted)


def test_names_are_those_of_the_input():
    named = people(features=False).to_networkx()
    found = llwlc.predict_missing_links(named, top=5, model="adamic-adar")
    assert len(found) == 5
    assert all(named.has_node(link.source) and not named.has_edge(link.source, link.target) for link in found)
    frame = pd.DataFrame([(int(u[-2:]) + 1000, int(v[-2:]) + 1000) for u, v in named.edges], columns=["from", "to"])
    same = llwlc.predict_missing_links(frame, top=5, model="adamic-adar")
    ends = [{int(link.source[-2:]) + 1000, int(link.target[-2:]) + 1000} for link in found]
    assert [{int(link.source), int(link.target)} for link in same] == ends


def test_the_network_is_the_default_and_reads_features():
    graph = people()
    found = llwlc.predict_missing_links(graph.to_networkx(), top=4, minutes=None, cache=None, **QUICK)
    predictor = llwlc.LinkPredictor(minutes=None, cache=None, **QUICK).fit(graph)
    assert predictor.model_.name == "llwlc"
    assert found == predictor.recommend(top=4)


@pytest.mark.parametrize("wrong", [torch.zeros(2, 5, dtype=torch.long), 3, [("a", "b", "c")], np.eye(3)])
def test_what_holds_no_graph_is_refused(wrong):
    with pytest.raises(llwlc.InputError) as error:
        llwlc.predict_missing_links(wrong)
    assert "\n" not in str(error.value)
