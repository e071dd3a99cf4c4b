"""What the commands of the study refuse, as it would have no effect."""

import pytest
from typer.testing import CliRunner

from research.cli.app import app


@pytest.mark.parametrize(
    ("line", "message"),
    [
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
