"""A model of your own: two methods, and a name to call it by.
`llwlc fit cora --plugin my_model.py --model degrees --out run`.
"""

import torch

import llwlc
from llwlc.models import LinkModel


@llwlc.models.register("degrees", title="product of degrees")
class Degrees(LinkModel):
    """The product of the two degrees, each raised to a power that is chosen on validation links."""

    unit = "own"

    def __init__(self, power: float = 1.0) -> None:
        self.power = power

    def fit(self, split, features, *, seed, resources, candidates=None, checkpoint=None, on_epoch=None):
        pairs, label = torch.cat([split.valid_pos, split.valid_neg.reshape(-1, 2)]), len(split.valid_pos)
        best = -1.0
        for power in (0.0, 0.5, 1.0):
            score = self._score(split.valid_graph, pairs, power)
            auc = llwlc.metrics.auc(score[:label], score[label:])
            if auc > best:
                best, self.power = auc, power
        return self

    def score(self, graph, pairs, population="random"):
        return self._score(graph, pairs, self.power)

    @staticmethod
    def _score(graph, pairs, power):
        return (1.0 + graph.degree[pairs].double()).prod(1) ** power
