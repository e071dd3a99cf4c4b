"""A protocol of one's own: `llwlc fit cora --plugin my_protocol.py --protocol half`."""

from llwlc.splits import Sizes, register


@register("half", about="half of the links to train on, a quarter each to validate and test", valid_messages=True)
def half(num_edges):
    valid = test = num_edges // 4
    return Sizes(num_edges - valid - test, valid, test, valid_neg=valid, test_neg=test)
