"""A constraint of one's own: `llwlc fit cora --plugin my_constraint.py --set constraints=common`."""

import llwlc


@llwlc.constraints.register("common")
def common(subs):
    """The common neighbours of the pair sum to zero."""
    both = (subs.dist_u == 1) & (subs.dist_v == 1)
    return llwlc.constraints.custom(subs, both.double(), names=["common"])
