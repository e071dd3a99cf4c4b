"""`--help` of the commands with many options fits one screen; `--help-all` has the rest."""

import pytest
from typer.testing import CliRunner

from llwlc._cli.app import app
from llwlc._cli.help_screens import SHORT

COMMANDS = sorted(SHORT)


def screen(*words, columns):
    done = CliRunner().invoke(app, list(words), env={"COLUMNS": str(columns)})
    assert done.exit_code == 0
    return done.stdout


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_screen_and_names_the_way_to_the_rest(command, columns):
    text = screen(command, "--help", columns=columns)
    assert 20 <= len(text.splitlines()) <= 40
    assert "--help-all" in text
    assert f"llwlc {command} " in text  # an example
    assert "…│" not in text.replace(" ", "")  # nothing is cut


@pytest.mark.parametrize("command", COMMANDS)
def test_help_all_shows_every_option(command):
    text, brief = screen(command, "--help-all", columns=200), screen(command, "--help", columns=200)
    (found,) = [c for c in app.registered_commands if c.callback.__name__ == command]
    hidden = 0
    for name in found.callback.__annotations__.keys() - {"ctx", "return", "graph", "run", "pairs"}:
        option = f"--{name.rstrip('_').replace('_', '-')}"
        assert option in text, option
        hidden += option not in brief
    assert hidden >= 5


@pytest.mark.parametrize("command", COMMANDS)
def test_the_short_screen_names_parameters_that_exist(command):
    (found,) = [c for c in app.registered_commands if c.callback.__name__ == command]
    assert SHORT[command].keys() <= found.callback.__annotations__.keys()
