"""A start of one's own: `llwlc fit cora --plugin my_start.py --set start=degree`."""

from llwlc.bases import register


@register("degree")
def degree(inputs):
    """The degrees inside the subgraph."""
    return inputs.subs.degree.double()
