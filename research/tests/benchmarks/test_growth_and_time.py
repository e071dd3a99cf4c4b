"""Exponents of known laws, and the seconds at which a curve reaches a figure."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from growth import fit_exponent, shape_of, sizes_of
from large import generated
from time_to_accuracy import measure_theirs, seconds_to


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5])
def test_the_exponent_of_a_law_with_a_fixed_cost_is_found(exponent):
    sizes, rng = np.geomspace(100, 1e5, 10), np.random.default_rng(0)
    values = (3.0 + 0.01 * sizes**exponent) * np.exp(rng.normal(0, 0.01, len(sizes)))
    found, low, high = fit_exponent(sizes, values)
    assert found == pytest.approx(exponent, abs=0.1)
    assert low <= found <= high


def test_sizes_are_three_a_decade_and_graphs_keep_their_shape():
    assert sizes_of("100-1e3") == [100, 215, 464, 1000]
    assert shape_of("nodes", 200)["links"] == 1000
    for nodes in (2_000, 20_000):
        links, x = generated(nodes, 4, links=5)
        assert x.shape == (nodes, 4)
        assert len(links) / nodes == pytest.approx(4.6, abs=0.4)  # the same shape; some are drawn twice
        assert len(np.unique(links, axis=0)) == len(links)
    dense = generated(2_000, 0, links=100)[0]
    assert len(dense) / 2_000 > 80  # communities grow with the links, so they are not full


def test_a_curve_of_other_code_is_read_as_it_prints(tmp_path):
    (tmp_path / "their.py").write_text("print('Valid: 50.0')\nprint('nothing')\nprint('Valid: 75.0')\n")
    found = measure_theirs(f"{sys.executable} their.py", r"Valid: ([0-9.]+)", tmp_path)
    assert [value for _, value in found["curve"]] == [0.5, 0.75]
    assert seconds_to(found["curve"], 0.7) == found["curve"][1][0]
    assert seconds_to(found["curve"], 0.8) is None
    with pytest.raises(RuntimeError, match="0 lines"):
        measure_theirs(f"{sys.executable} their.py", "nowhere ([0-9]+)", tmp_path)
