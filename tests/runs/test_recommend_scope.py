"""What may be proposed: excluded pairs, and sets of nodes for the ends, in Python and on the command line."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

import llwlc
from llwlc._cli.app import app
from people import people

ODD = [f"Person {i:02d}" for i in range(1, 90, 2)]
FIRST = [f"Person {i:02d}" for i in range(30)]
ROOM = 90
"""A budget with which every candidate finds a place on a list, in any scope."""


@cache
def fitted():
    return llwlc.LinkPredictor(model="adamic-adar", minutes=None).fit(people())


@cache
def everything():
    return tuple(fitted().recommend(top=4000, budget=ROOM))


def said(link):
    """A link without the order of its ends."""
    return ({link.source, link.target}, link.probability, link.candidate_score, link.distance)


def test_without_excluded_pairs_the_others_move_up():
    worst = [(link.target, link.source) for link in everything()[:7]]
    found = fitted().recommend(top=50, budget=ROOM, exclude=worst)
    assert [said(link) for link in found] == [said(link) for link in everything()[7:57]]
    frame = pd.DataFrame(worst, columns=["a", "b"])
    assert fitted().recommend(top=50, budget=ROOM, exclude=frame) == found
    names = fitted().graph_.names
    numbers = torch.tensor([[names.index(u), names.index(v)] for u, v in worst])
    assert fitted().recommend(top=50, budget=ROOM, exclude=numbers) == found
    none = fitted().recommend(top=50, budget=ROOM, exclude=[])
    assert [said(link) for link in none] == [said(link) for link in everything()[:50]]


@pytest.mark.parametrize(
    ("sets", "allowed"),
    [
        ({"among": FIRST}, lambda u, v: u in FIRST and v in FIRST),
        ({"source_nodes": FIRST[:3]}, lambda u, v: u in FIRST[:3]),
        ({"target_nodes": FIRST[:3]}, lambda u, v: v in FIRST[:3]),
        ({"source_nodes": FIRST, "target_nodes": ODD}, lambda u, v: u in FIRST and v in ODD),
        ({"source_nodes": FIRST, "among": ODD}, lambda u, v: u in FIRST and {u, v} <= set(ODD)),
    ],
)
def test_sets_of_nodes_give_the_links_of_the_whole_list_that_join_them(sets, allowed):
    found = fitted().recommend(top=300, budget=ROOM, **sets)
    assert all(allowed(link.source, link.target) for link in found)
    wanted = [link for link in everything() if allowed(link.source, link.target) or allowed(link.target, link.source)]
    # ties of the score may stand in either order
    assert sorted(map(repr, map(sort_ends, found))) == sorted(map(repr, map(sort_ends, wanted[: len(found)])))
    assert len(found) == min(len(wanted), 300)
    names = fitted().graph_.names
    numbers = {key: np.array([names.index(name) for name in nodes]) for key, nodes in sets.items()}
    assert fitted().recommend(top=300, budget=ROOM, **numbers) == found


def sort_ends(link):
    return (tuple(sorted((link.source, link.target))), link.candidate_score)


def test_a_small_budget_is_spent_inside_the_sets():
    """With 2 candidates a node, few of a whole list join two of ten nodes; the restricted lists are full."""
    among = FIRST[:10]
    whole = fitted().recommend(top=4000, budget=2)
    inside = [link for link in whole if {link.source, link.target} <= set(among)]
    found = fitted().recommend(top=4000, budget=2, among=among)
    assert len(found) > len(inside)
    assert {frozenset((link.source, link.target)) for link in inside} <= {
        frozenset((link.source, link.target)) for link in found
    }


def test_a_node_and_types_go_together_with_sets():
    found = fitted().recommend(top=50, node="Person 31", target_nodes=FIRST, exclude=[("Person 31", "Person 02")])
    assert found
    assert all(link.source == "Person 31" and link.target in FIRST and link.target != "Person 02" for link in found)
    circles = ["a"] * 30 + ["b"] * 30 + ["c"] * 30
    typed = llwlc.LinkPredictor(model="adamic-adar", minutes=None).fit(people(), node_types=circles)
    found = typed.recommend(between=("a", "b"), source_nodes=ODD)
    assert found
    assert all(link.source in ODD and {link.source < "Person 30", link.target < "Person 30"} == {True, False}
               for link in found)  # fmt: skip


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"exclude": [("Person 01", "Persn 02")]}, "excluded pairs: .*'Persn 02' in row 1. Did you mean"),
        ({"exclude": torch.tensor([[0, 90]])}, "node numbers from 0 to 89"),
        ({"exclude": [("Person 01", "Person 01")]}, "with itself"),
        ({"among": ["Person 01", "Zoe", "Yan"]}, r"the given list names 2 nodes .* does not have: 'Zoe', 'Yan'"),
        ({"source_nodes": np.array([-1])}, "nodes of the graph are 0 to 89"),
        ({"target_nodes": []}, "names no node"),
        ({"among": ["Person 01"], "sources": 5}, "give one of them"),
    ],
)
def test_unknown_names_are_refused_in_one_line(options, wanted):
    with pytest.raises(llwlc.InputError, match=wanted) as error:
        fitted().recommend(**options)
    assert "\n" not in str(error.value)


def test_the_command_takes_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted().save("run")
    pd.DataFrame([(x.source, x.target) for x in everything()[:3]]).to_csv("rejected.csv", index=False, header=False)
    (tmp_path / "first.txt").write_text("\n".join(FIRST) + "\n")
    pd.DataFrame({"id": ODD, "age": 3}).to_csv("odd.csv", index=False)
    options = {"exclude": "rejected.csv", "source_nodes": "first.txt", "target_nodes": "odd.csv"}
    wanted = fitted().recommend(top=12, **options)

    def run(*words):
        return CliRunner().invoke(app, ["recommend", "run", "--top", "12", *words])

    words = ["--exclude", "rejected.csv", "--from", "first.txt", "--to", "odd.csv"]
    done = run(*words, "-o", "found.csv", "--to", "sqlite:///links.db")
    assert done.exit_code == 0, done.output
    assert "12 links written to table links" in done.output
    written = pd.read_csv("found.csv")
    assert written.source.tolist() == [link.source for link in wanted]
    assert written.target.tolist() == [link.target for link in wanted]
    assert run("--among", "first.txt", "-o", "among.csv").exit_code == 0
    assert set(pd.read_csv("among.csv")[["source", "target"]].to_numpy().ravel()) <= set(FIRST)
    (tmp_path / "header.csv").write_text("customer\nPerson 01\n")
    done = run("--from", "header.csv", "-o", "one.csv")
    assert "the first line, 'customer', is not a node, so it is read as the header" in done.output
    assert set(pd.read_csv("one.csv").source) == {"Person 01"}
    (tmp_path / "bad.csv").write_text("Person 1\nPerson 02\n")  # a misspelt name is no header
    for wrong in (
        ("--from", "bad.csv"),
        ("--among", "none.csv"),
        ("--to", "none.csv"),
        ("--to", "odd.csv", "--to", "odd.csv"),
        ("--exclude", "odd.csv"),
        ("--from", "odd.csv", "--engine", "ray", "-o", "x.csv"),
        ("--to", "odd.csv", "--engine", "ray", "-o", "x.csv"),
    ):
        done = run(*wrong)
        assert done.exit_code == 2
        assert done.output.count("Error: ") == 1, done.output
        assert "Traceback" not in done.output
