"""Options that several commands share, such as `--set` and `--plugin`, and the completion of their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from llwlc._cli.console import print_status
from llwlc._support.options import declared_options, describe_values
from llwlc._support.plugins import load_plugin
from llwlc._support.registry import Registry
from llwlc.errors import InputError
from llwlc.models._llwlc.presets import DERIVED, PRESETS

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="Folder that llwlc fit wrote.")]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help=(
            "File to write, its format by its ending: .csv, .tsv, .parquet, .jsonl, text also .gz; - for standard"
            " output."
        ),
    ),
]
DirectedOption = Annotated[
    bool,
    typer.Option(
        "--directed", help="Links point from the first end to the second: predict the link and its direction."
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format", help="csv, tsv, parquet or jsonl; by default the ending of the file decides, csv without one."
    ),
]
PluginOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin",
        metavar="FILE",
        help=(
            "Python file that registers models, constraints, starts, readouts, protocols, datasets or file formats of"
            " your own; may be repeated."
        ),
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change an option of the preset, as in --set epochs=10; may be repeated. llwlc fit --help-all lists them.",
    ),
]
SafeOption = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help=(
            "Put ' before every text that a spreadsheet would run as a formula (one that begins with =, +, -, @, tab or"
            " return and is not a number)."
        ),
    ),
]
SeedOption = Annotated[
    int, typer.Option(min=0, max=2**40, help="Seed of the split, of training and of all other random draws.")
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", help="Print the details too: forecast, all metrics, all methods.")
]
MAX_NUMBER = 10**9
"""Options are numbers from 0 to this one: larger ones would overflow."""
PriorHelp = "Share of the given pairs that are expected to be links; probabilities are calibrated for it."
OTHER_WAYS_TO_SET = {name: f"--{name}" for name in ("preset", "seed", "fraction", "device")} | {"cache": "LLWLC_CACHE"}


def make_completer(kind: Registry[Any]) -> Callable[[str], list[tuple[str, str]]]:
    """Completes a name of the registry, with the line about it where the shell shows one."""

    def complete(incomplete: str) -> list[tuple[str, str]]:
        return [(record.name, record.about) for record in kind.records() if record.name.startswith(incomplete)]

    return complete


def complete_preset(incomplete: str) -> list[str]:
    return [name for name in PRESETS if name.startswith(incomplete)]


def load_plugins(paths: list[Path] | None) -> None:
    """Loads the files of `--plugin` and prints what each registered; a command does this before it reads its other
    options.
    """
    for path in paths or []:
        print_status(f"{path}: {', '.join(load_plugin(path))}")


def refuse_options(ctx: typer.Context, *names: str, why: str) -> None:
    """Raises an error if one of these options is on the command line, where it would have no effect."""
    for name in names:
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(f"--{name.rstrip('_').replace('_', '-')} has no effect {why}: leave it out")


def parse_settings(pairs: list[str] | None) -> dict[str, Any]:
    """`--set name=value` as a dictionary, each value a number, a truth value or text.

    >>> parse_settings(["epochs=10", "constraints=neumann"])
    {'epochs': 10, 'constraints': 'neumann'}
    """
    settings: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals:
            raise InputError(f"--set {pair}: write it as name=value")
        if name in OTHER_WAYS_TO_SET:
            raise InputError(f"--set {pair}: {name} is not an option of a preset; use {OTHER_WAYS_TO_SET[name]}")
        value = text.strip() if name in TEXTS else _value(text.strip())
        if isinstance(value, int | float) and not 0 <= value <= MAX_NUMBER:  # NaN neither
            raise InputError(f"--set {pair}: an option is a number from 0 to {MAX_NUMBER:,}")
        settings[name] = value
    return settings


MOST_SEEDS = 1000
"""Limit for the number of seeds: each is a training of its own."""


def parse_seeds(text: str) -> tuple[int, ...]:
    """The seeds 0, 1, … of a number, or those of a range.

    >>> parse_seeds("3"), parse_seeds("30-32")
    ((0, 1, 2), (30, 31, 32))
    """
    first, dash, last = text.strip().partition("-")
    message = (
        f"--seeds is a number of trainings, 1 to {MOST_SEEDS:,}, or a range of at most that many seeds, as in"
        f" 30-34, got {text!r}"
    )
    if not first.isdecimal() or (dash and not last.isdecimal()) or len(first) > 13 or len(last) > 13:
        raise InputError(message)
    seeds = range(int(first), int(last) + 1) if dash else range(int(first))
    if not 1 <= len(seeds) <= MOST_SEEDS:
        raise InputError(message)
    return tuple(seeds)


def get_settable_options(preset: Any) -> dict[str, Any]:
    """The options that `--set` may change, with their values in a preset.

    >>> get_settable_options(PRESETS["paper"])["epochs"]
    20
    """
    options: dict[str, Any] = {}
    for part in fields(preset):
        value = getattr(preset, part.name)
        options |= get_settable_options(value) if is_dataclass(value) else {part.name: value}
    return {name: value for name, value in options.items() if name not in {*OTHER_WAYS_TO_SET, *DERIVED}}


def get_option_help(preset: Any) -> dict[str, tuple[str, str]]:
    """The values that each option of a preset may have, and what it means.

    >>> get_option_help(PRESETS["paper"])["steps"]
    ('1 to 4,096', "number of eigenvectors of a link's basis")
    """
    parts = [part for part in (getattr(preset, field.name) for field in fields(preset)) if is_dataclass(part)]
    texts: dict[str, tuple[str, str]] = {}
    for kind in (type(part) for part in (*parts, preset)):
        for name, option in declared_options(kind).items():
            texts.setdefault(name, (describe_values(kind, name), option.help))
    return texts


TEXTS = {name for name, value in get_settable_options(PRESETS["anchored"]).items() if isinstance(value, str)}
"""Options whose value is a name, whatever it looks like: a constraint may be called 2 or nan."""


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
