"""A name that is replaced works on for a while, warns at the caller's line, and stands beside no second value."""

import types

import pytest

from llwlc import metrics
from llwlc._support.deprecation import renamed_names, renamed_parameters


class Predictor:
    @renamed_parameters(since="0.2", method="model", rounds="epochs")
    def __init__(self, model="blend", *, epochs=1):
        self.parameters = model, epochs


def test_an_old_parameter_is_passed_on_and_warns_at_the_line_of_the_call():
    with pytest.warns(FutureWarning) as shown:
        made = Predictor(method="stack", rounds=3)
    assert made.parameters == ("stack", 3)
    first, second = (str(warning.message) for warning in shown)
    assert first.startswith("method= of Predictor is deprecated since llwlc 0.2")
    assert first.endswith("use model= instead")
    assert "epochs=" in second
    assert {warning.filename for warning in shown} == {__file__}


def test_a_call_by_the_new_names_does_not_warn():
    assert Predictor("stack", epochs=3).parameters == ("stack", 3)  # a warning would be an error


def test_an_old_parameter_beside_the_new_one_is_refused():
    with pytest.raises(TypeError, match="Predictor was given model and its former name method"):
        Predictor(model="a", method="b")


def test_an_old_name_of_a_module_is_the_new_object_and_warns_at_the_line_that_reads_it():
    module = types.ModuleType("old")
    module.__getattr__ = renamed_names("old", {"area": "llwlc.metrics.auc"}, since="0.2")
    with pytest.warns(FutureWarning, match=r"old\.area is deprecated .* use llwlc\.metrics\.auc") as shown:
        assert module.area is metrics.auc
    assert shown[0].filename == __file__
    with pytest.raises(AttributeError, match="'old' has no attribute 'volume'"):
        _ = module.volume
