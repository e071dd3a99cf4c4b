"""Options of the Python API: a value of another type or beyond its range is a ValueError that names it, before anything
computes with it.
"""

import re

import pytest

from llwlc._predictor import LinkPredictor
from llwlc.bases._config import BasisConfig
from llwlc.models._llwlc.config import TrainConfig
from llwlc.models._llwlc.presets import PRESETS, Preset
from llwlc.nn._config import NetConfig
from llwlc.training._limits import Limits

WHOLE = {
    BasisConfig: ["hops", "steps", "count", "max_nodes_per_hop", "distance_cap", "stored_bits"],
    NetConfig: [
        *("blocks", "channels", "filters", "filter_hidden", "head", "sort_rows", "distance_cap"),
        *("feature_channels", "filtered_channels", "pair_channels", "learned_columns"),
    ],
    TrainConfig: ["epochs", "batch_size", "patience", "negatives", "negative_pool", "candidate_pool", "copies"],
    Limits: [
        "num_eval_links",
        "shortlist",
        "num_eval_candidates",
        "sources",
        "num_membership_links",
        "num_tuning_links",
    ],
}
SHARES = {
    NetConfig: ["dropout", "feature_dropout"],
    TrainConfig: ["learning_rate", "filter_rate", "fraction", "hard_share", "edge_dropout", "average"],
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in WHOLE.items() for name in names])
@pytest.mark.parametrize("value", [-1, 10**12, 1.5, "3", True, float("nan"), [1]])
def test_whole_numbers_have_bounds(kind, name, value):
    with pytest.raises(ValueError, match=rf"^{name} must be a whole number.*, got ") as caught:
        kind(**{name: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in SHARES.items() for name in names])
@pytest.mark.parametrize("value", [-1.0, 10**12, "0.5", float("nan"), float("inf"), [1]])
def test_other_numbers_have_bounds(kind, name, value):
    with pytest.raises(ValueError, match=rf"^{name} is .*, got "):
        kind(**{name: value})


@pytest.mark.parametrize("options", [{"features": -1}, {"features": 10**9}, {"budget": 0}, {"budget": 10**9}])
def test_so_has_a_preset(options):
    (name,) = options
    basis, net, train = PRESETS["anchored"].basis, PRESETS["anchored"].net, PRESETS["anchored"].train
    for made in (lambda: Preset(basis, net, train, **options), lambda: LinkPredictor(**options).make_model()):
        with pytest.raises(ValueError, match=f"{name} must be a whole number"):
            made()


def test_every_number_of_the_records_has_bounds():
    """A field that is added later is found here."""
    numbers = {
        kind: {f.name for f in kind.__dataclass_fields__.values() if re.search(r"\b(int|float|Count)\b", str(f.type))}
        for kind in WHOLE
    }
    for kind, names in numbers.items():
        assert names - {"seed"} <= {*WHOLE[kind], *SHARES.get(kind, ())}
