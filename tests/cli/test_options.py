"""Options that commands share: what `--set` takes, and what is refused as it would have no effect."""

import pytest
from typer.testing import CliRunner

from llwlc._cli.app import app
from llwlc._cli.options import OTHER_WAYS_TO_SET, get_settable_options, parse_settings
from llwlc._support.registry import listed
from llwlc.errors import InputError
from llwlc.models._llwlc.presets import PRESETS, find_preset


def test_values_of_set_are_parsed_to_their_types():
    given = ["a=1", "b=0.5", "c=true", "d=False", "e=none", "f=x=y", " g = 1e-3 ", "h="]
    wanted = {"a": 1, "b": 0.5, "c": True, "d": False, "e": None, "f": "x=y", "g": 0.001, "h": ""}
    assert parse_settings(given) == wanted
    assert [type(value) for value in parse_settings(given).values()] == [type(value) for value in wanted.values()]
    assert parse_settings(None) == {}


@pytest.mark.parametrize("name", PRESETS)
def test_every_option_that_help_names_is_one_of_the_preset(name):
    """None is refused as unknown; some are refused for a reason."""
    refused = []
    for option, value in get_settable_options(PRESETS[name]).items():
        try:
            find_preset(name, **{option: value})
        except InputError as error:
            refused.append(str(error))
    assert all("would have no effect" in message for message in refused)
    assert not set(get_settable_options(PRESETS[name])) & set(OTHER_WAYS_TO_SET)


def test_names_are_listed_with_or():
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a or b"


def test_an_option_without_effect_is_refused_even_at_its_default():
    result = CliRunner().invoke(app, ["evaluate", "run", "--seeds", "3"])
    assert result.exit_code == 2
    assert "--seeds has no effect without --protocol" in result.stderr
