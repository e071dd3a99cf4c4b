"""BREC's procedure over seeds: kept line by line, resumed, counted."""

import os
from dataclasses import replace

import pytest
import torch

from llwlc.errors import InputError
from research.expressivity.report import learned_table
from research.expressivity.trials import LearningTrial, load_trials, run_trials


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The paper's two pairs with two seeds, and the file."""
    out = tmp_path_factory.mktemp("trials") / "trials.jsonl"
    return run_trials(["paper"], seeds=2, out=out), out.read_text(encoding="utf-8")


def test_a_trial_is_a_line_and_the_longest_comes_first(whole):
    trials, text = whole
    assert [(t.pair, t.seed) for t in trials] == [(p, s) for p in ("C10 | 2 C5", "rook | Shrikhande") for s in (0, 1)]
    assert all(t.separated and t.reliable for t in trials)
    assert [line.count("rook") for line in text.splitlines()] == [1, 1, 0, 0]


def test_an_interrupted_run_goes_on(whole, tmp_path, monkeypatch):
    """Two lines and a piece of a third: the piece is dropped, and only what is missing is run."""
    trials, text = whole
    out = tmp_path / "trials.jsonl"
    out.write_text("\n".join(text.splitlines()[:3])[:-9], encoding="utf-8")
    assert len(load_trials(out)) == 2
    assert run_trials(["paper"], seeds=2, out=out) != []
    assert len(load_trials(out)) == 4
    monkeypatch.setattr("research.expressivity.trials._trial", lambda job: pytest.fail(f"{job[1].name} was run again"))
    again = run_trials(["paper"], seeds=2, out=out)
    assert [(t.pair, t.seed, t.separated) for t in again] == [(t.pair, t.seed, t.separated) for t in trials]


def test_workers_give_the_same_answers_and_leave_the_environment_alone(whole, tmp_path):
    before = dict(os.environ), torch.get_num_threads()
    trials = run_trials(["paper"], seeds=2, processes=2, out=tmp_path / "trials.jsonl")
    assert [(t.pair, t.seed, t.order, t.separated) for t in trials] == [
        (t.pair, t.seed, t.order, t.separated) for t in whole[0]
    ]
    assert (dict(os.environ), torch.get_num_threads()) == before


def test_the_table_has_mean_and_spread_over_seeds():
    trial = LearningTrial("a", "x", 0, 5, 1, 100.0, 1.0, 2.0)
    trials = [
        trial,
        replace(trial, pair="y"),
        replace(trial, seed=1),
        replace(trial, pair="y", seed=1, statistic=3.0),
        replace(trial, suite="b", statistic=3.0),
        replace(trial, suite="b", seed=1, reliability=80.0),  # separated, and its check failed: not counted
    ]
    header, lines = learned_table(trials)
    assert header[:4] == ["seed", "a", "b", "total"]
    assert lines[0] == ["0", "2/2", "0/1", "2/3", "3/3", "1", "2"]
    assert lines[1] == ["1", "1/2", "0/1", "1/3", "2/3", "80", "2"]
    assert lines[2] == ["mean ± sd", "1.5 ± 0.7", "0.0 ± 0.0", "1.5 ± 0.7", "5/6", "80", "2"]
    assert [line[:4] for line in lines[3:]] == [["all seeds", "1/2", "0/1", "1/3"], ["any seed", "2/2", "0/1", "2/3"]]
    assert len(learned_table(trials[:2])[1]) == 1


def test_what_can_not_be_used(tmp_path):
    with pytest.raises(InputError, match="at least 1"):
        run_trials(["paper"], seeds=0)
    other = tmp_path / "rows.json"
    other.write_text('[\n{"suite": "paper"}\n]\n', encoding="utf-8")
    with pytest.raises(InputError, match="give another --out"):
        run_trials(["paper"], out=other)
    assert other.read_text(encoding="utf-8").startswith("[\n{")
