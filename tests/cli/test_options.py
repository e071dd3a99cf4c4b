"""Options that commands share: what `--set` takes, and what is refused as it would have no effect."""

import pytest
from typer.testing import CliRunner

from llwlc.cli.app import app
from llwlc.cli.options import ELSEWHERE, options, settable
from llwlc.errors import InputError
from llwlc.support.registry import listed
from llwlc.training.presets import PRESETS, preset


def test_values_of_set():
    given = ["a=1", "b=0.5", "c=true", "d=False", "e=none", "f=x=y", " g = 1e-3 ", "h="]
    wanted = {"a": 1, "b": 0.5, "c": True, "d": False, "e": None, "f": "x=y", "g": 0.001, "h": ""}
    assert options(given) == wanted
    assert [type(value) for value in options(given).values()] == [type(value) for value in wanted.values()]
    assert options(None) == {}


@pytest.mark.parametrize("name", PRESETS)
def test_every_option_that_help_names_is_one_of_the_preset(name):
    """None is refused as unknown; some are refused for a reason."""
    refused = []
    for option, value in settable(PRESETS[name]).items():
        try:
            preset(name, **{option: value})
        except InputError as error:
            refused.append(str(error))
    assert all("would have no effect" in message for message in refused)
    assert not set(settable(PRESETS[name])) & set(ELSEWHERE)


def test_listed():
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a or b"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("evaluate run --seeds 3", "--seeds has no effect without --protocol"),
        ("bench coauthor-like --scale --repeats 3", "--repeats has no effect with --scale"),
        ("expressivity --gallery g.html --out o.json", "--out has no effect with --gallery"),
        ("expressivity --learned --policy filter", "--policy has no effect with --learned"),
        ("expressivity --learned --max-seconds 5", "--max-seconds has no effect with --learned"),
        ("expressivity --copies 3 --out o.json", "--out has no effect with --copies"),
        ("expressivity --suite paper --seeds 2", "--seeds has no effect without --learned"),
        ("expressivity --suite paper --processes 1", "--processes has no effect without --learned"),
    ],
)
def test_an_option_without_effect_is_refused_even_at_its_default(line, message):
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 2
    assert message in result.stderr
