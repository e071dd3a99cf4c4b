"""Registries: names, refusals, code by path, digests; and records across versions."""

import sys
from dataclasses import dataclass
from functools import partial

import pytest

from llwlc._support.records import read_record, to_mapping
from llwlc._support.registry import Record, Registry, code_digest
from llwlc.errors import InputError


def colours() -> Registry[Record]:
    registry: Registry[Record] = Registry("colour")
    registry.add(Record("red", "like blood", "llwlc.errors:InputError"))
    registry.add(Record("green", "like grass", "llwlc.errors:InputError"))
    return registry


def test_lists_are_made_from_the_records():
    registry = colours()
    assert registry.list() == "red or green"
    assert registry.list(quoted=True) == "'red' or 'green'"
    assert registry.markdown().splitlines()[-1] == "| `green` | like grass |"
    assert list(registry) == ["red", "green"]
    assert len(registry) == 2


def test_code_is_loaded_on_first_use_only():
    registry = colours()
    registry.add(Record("blue", "of a module that is not there", "llwlc.nowhere:blue"))
    assert registry["blue"].about.startswith("of a module")
    with pytest.raises(ModuleNotFoundError):
        registry["blue"].load()
    assert registry["red"].load() is InputError


def test_a_builtin_name_stays_and_a_users_is_replaced():
    registry = colours()
    with pytest.raises(InputError, match="there is a colour called 'red' already"):
        registry.add(Record("red", "mine", lambda: 1))
    with pytest.raises(InputError, match="is built in and cannot be removed"):
        registry.remove("red")
    registry.add(Record("mine", "first", lambda: 1))
    registry.add(Record("mine", "second", lambda: 2))
    assert registry["mine"].load()() == 2
    registry.remove("mine")
    assert "mine" not in registry


def made(text: str):
    """A function as a notebook would make it: there is no file."""
    space: dict = {}
    exec(text, space)
    return space["f"]


def test_a_digest_follows_the_code_and_what_it_captures():
    one = "def f(x):\n    return x + 1\n"
    assert code_digest(made(one)) == code_digest(made(one))
    assert code_digest(made(one)) != code_digest(made(one.replace("1", "2")))
    assert code_digest(made(one)) != code_digest(made(one.replace("x + 1", "abs(x)")))

    def capture(value):
        return lambda x: x + value

    assert code_digest(capture(1)) == code_digest(capture(1))
    assert code_digest(capture(1)) != code_digest(capture(2))
    torch = sys.modules["torch"]
    assert code_digest(capture(torch.zeros(2000))) != code_digest(
        capture(torch.zeros(2000).index_fill(0, torch.tensor(999), 1))
    )


class Adder:
    def __init__(self, value):
        self.value = value

    def __call__(self, x):
        return x + self.value


def test_a_digest_of_a_partial_or_an_object_is_the_same_in_every_process():
    def add(x, value):
        return x + value

    for make in (Adder, lambda value: partial(add, value=value)):
        assert code_digest(make(1)) == code_digest(make(1))
        assert code_digest(make(1)) != code_digest(make(2))
    assert code_digest(partial(add, value=1)) != code_digest(partial(Adder, value=1))


@dataclass(frozen=True)
class Shape:
    width: int
    height: int = 7


@dataclass(frozen=True)
class Box:
    shape: Shape
    depth: int = 1


def test_a_record_is_read_as_it_was_written():
    assert read_record(Shape, to_mapping(Shape(1, 3)), "run") == Shape(1, 3)
    assert to_mapping(Box(Shape(1, 3))) == {"shape": {"width": 1, "height": 3}, "depth": 1}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"width": 1, "height": 2, "colour": 2}, "option 'colour'"),
        ({"height": 2}, "lacks 'width'"),
        ({"width": 2}, "lacks 'height'"),
        ([1], "is damaged"),
        (None, "is damaged"),
    ],
)
def test_an_unknown_record_is_refused(data, why):
    with pytest.raises(InputError, match=why):
        read_record(Shape, data, "run/config.json")
