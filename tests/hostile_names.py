"""A small fitted run whose nodes have the names of somebody who means no good."""

from dataclasses import replace
from functools import cache

from llwlc._predictor import LinkPredictor
from people import QUICK, people

HOSTILE = {
    0: "<script>window.owned=1</script>",
    1: '"><img src=x onerror="window.owned=1">',
    2: "=HYPERLINK(1,2)",
    3: "</script><script>window.owned=1</script>",
    4: "‮Ada\x1b[2J",
    5: "Doe, Jane",
    6: "{{constructor}}",
    7: "L" * 300,
}


@cache
def hostile_model() -> LinkPredictor:
    return model_named(HOSTILE)


def model_named(given: dict[int, str]) -> LinkPredictor:
    """The run with these names of nodes; the others are called Person and their number."""
    graph = people()
    names = [given.get(i, f"Person {i:02d}") for i in range(90)]
    return LinkPredictor("anchored", cache=None, minutes=None, **QUICK).fit(
        replace(graph, names=names), graph_name="<b>circles</b>"
    )
