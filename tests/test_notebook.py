"""What a notebook shows: tables in which every name is text, figures of the numbers that are there."""

import pytest

from hostile_names import HOSTILE, hostile_model
from llwlc._predictor import LinkPredictor


def test_tables_say_what_is_there_and_names_are_text():
    model = hostile_model()
    assert "<td>90</td>" in model.graph_._repr_html_()
    assert "<td>features per node</td><td>6</td>" in model.graph_._repr_html_()
    assert "&lt;b&gt;circles" in model._repr_html_()
    assert "<b>circles" not in model._repr_html_()
    assert "LinkPredictor(minutes=None)" in LinkPredictor(minutes=None)._repr_html_()
    found = model.recommend(node=HOSTILE[0], top=5)
    html = found._repr_html_()
    assert html.count("<tr>") == 1 + len(found)
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_figures_show_the_numbers():
    pytest.importorskip("matplotlib")
    model = hostile_model()
    (dots,) = model.graph_.plot().axes[0].lines
    assert dots.get_ydata().sum() == 90
    curve = model.plot().axes[0].lines[0]
    assert curve.get_ydata().tolist() == [r.valid_auc for r in model.fitted_.history]
    found = model.recommend(top=7)
    assert found.plot().axes[0].lines[0].get_ydata().tolist() == [r.probability for r in found]
