"""Shell completion: values come from the registries."""

import pytest
from typer.testing import CliRunner

from llwlc._cli.app import app
from llwlc.datasets import DATASETS
from llwlc.models._llwlc.presets import PRESETS
from llwlc.splits import PROTOCOLS


def bash(line: str) -> list[str]:
    """What bash is told for a line that ends where Tab was pressed."""
    where = {"_LLWLC_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    return CliRunner().invoke(app, [], prog_name="llwlc", env=where).stdout.split()


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("llwlc fit ", DATASETS),
        ("llwlc data show ", DATASETS),
        ("llwlc data get ", DATASETS),
        ("llwlc fit cora --protocol ", PROTOCOLS),
        ("llwlc evaluate run --protocol ", PROTOCOLS),
        ("llwlc fit cora --preset ", PRESETS),
        ("llwlc fit cora --preset p", ["paper", "paper-query"]),
        ("llwlc fit us", ["usair"]),
        ("llwlc fit edges", []),  # the shell's own completion of files takes over
        ("llwlc rec", ["recommend"]),
        ("llwlc fit --plu", ["--plugin"]),
    ],
)
def test_values_are_completed(line, values):
    assert bash(line) == list(values)


def test_a_shell_that_shows_help_is_given_the_line_about_a_value():
    where = {"_LLWLC_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "llwlc fit cora --protocol nc"}
    told = CliRunner().invoke(app, [], prog_name="llwlc", env=where).stdout
    assert '"ncn":"70/10/20' in told


def test_the_script_to_install_is_there():
    where = {"_LLWLC_COMPLETE": "source_bash"}
    assert "complete_bash" in CliRunner().invoke(app, [], prog_name="llwlc", env=where).stdout
    assert "--install-completion" in CliRunner().invoke(app, ["--help"]).stdout


def test_completion_loads_no_plugin(tmp_path):
    """Pressing Tab runs no file."""
    mark = tmp_path / "ran"
    (tmp_path / "mine.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    assert bash(f"llwlc fit --plugin {tmp_path}/mine.py us") == ["usair"]
    assert not mark.exists()
