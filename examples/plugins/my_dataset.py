"""A dataset of one's own: `llwlc fit karate --plugin my_dataset.py`."""

import networkx

import llwlc


@llwlc.datasets.register("karate", nodes=34, edges=78, origin="Zachary 1977", licence="facts")
def karate(*, root=None):
    """members of a karate club who met outside of it"""
    club = networkx.karate_club_graph()
    for _, _, data in club.edges(data=True):
        data.clear()  # how often they met is left out
    return llwlc.Graph.from_networkx(club)
