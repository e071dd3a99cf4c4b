"""A cell: the same line in this process and in another, interrupted and resumed, and of a method as of a preset."""

import pytest

from research.experiments import measures
from research.experiments.cell import Cell
from research.experiments.lines import read_lines
from research.experiments.measures import measure
from research.experiments.process import run_cell, run_cells

CELL = Cell("accuracy", "cora", "paper", "paper", {"fraction": 0.03, "epochs": 3, "steps": 4}, seed=2)
TIMES = {"seconds", "epoch_seconds", "stages", "wall", "machine", "peak_mb"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(measures, "cache_root", lambda: tmp_path)


def numbers(line: dict) -> dict:
    return {name: value for name, value in line.items() if name not in TIMES}


@pytest.mark.slow
def test_a_cell_interrupted_and_resumed_gives_the_same_line(monkeypatch):
    whole = measure(CELL)
    call = measures.EpochClock.__call__

    def stop(self, record):
        call(self, record)
        if record.epoch == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(measures.EpochClock, "__call__", stop)
    with pytest.raises(KeyboardInterrupt):
        measure(CELL)
    assert measures.get_checkpoint_path(CELL, "cpu").exists()
    monkeypatch.setattr(measures.EpochClock, "__call__", call)
    resumed = measure(CELL)
    assert numbers(resumed) == numbers(whole)
    assert resumed["epochs"] == 3
    assert not measures.get_checkpoint_path(CELL, "cpu").exists()
    assert {"data", "protocol", "seed", "num_negatives", "versions", "commit", "machine"} <= set(whole)


def test_another_process_gives_the_same_line_and_a_failure_harms_no_other(tmp_path):
    file, told = tmp_path / "runs.jsonl", []
    wrong = Cell("accuracy", "cora", "paper", "paper", {"steps": 0})
    assert run_cells([wrong, CELL], file, report=lambda cell, line, why: told.append((cell.key, why))) == 1
    assert numbers(read_lines(file)[0].found) == numbers(measure(CELL))
    assert told[0] == (wrong.key, "InputError: steps must be a whole number from 1 to 4096, got 0")
    assert told[1] == (CELL.key, "")


def test_no_cell_is_begun_after_its_minutes(tmp_path):
    assert run_cells([CELL, CELL], tmp_path / "runs.jsonl", minutes=0) == 2


def test_a_process_that_is_killed_says_so(monkeypatch):
    from research.experiments import process

    monkeypatch.setattr(process, "CHILD", "import os; os._exit(9)")
    assert run_cell(CELL) == (None, "its process ended with exit code 9 and left nothing")


def test_a_method_takes_a_share_of_the_links_and_a_heuristic_needs_none():
    trained = measure(Cell("accuracy", "cora", "paper", "mlp", {"fraction": 0.05, "epochs": 2, "hidden": 8}))
    assert trained["epochs"] == 2
    assert trained["num_negatives"] == 527
    untrained = measure(Cell("accuracy", "cora", "paper", "common-neighbors"))
    assert untrained["parameters"] == 0
    assert 0.5 < untrained["auc"] < 1


def test_a_fit_that_may_have_been_cut_says_so_in_its_line_and_below_its_table():
    from research.experiments.accuracy_section import AccuracySection
    from research.experiments.lines import Line
    from research.experiments.table import Row, Selection

    options = {"fraction": 0.05, "epochs": 2, "hidden": 8}
    cell = Cell("accuracy", "cora", "paper", "mlp", options)
    cut = measure(cell, seconds=0.0)
    assert (cut["epochs"], cut["stopped_after"]) == (1, 0.0)
    assert "stopped_after" not in measure(cell, seconds=1000.0)
    section = AccuracySection("a table", (Row("MLP", "mlp", ("cora",), "paper", options),))
    assert "mlp on cora" in " ".join(section.notes([Line(cell, cut)], Selection()))


def test_the_cost_of_a_fit_that_was_cut_is_reckoned_to_its_last_epoch():
    from research.experiments.lines import Line
    from research.experiments.other_sections import CostSection
    from research.experiments.table import Row, Selection

    options = {"epochs": 5, "hidden": 8}
    cell = Cell("cost", "cora", "ncn", "mlp", options)
    section = CostSection("costs", (Row("MLP", "mlp", ("cora",), "ncn", options),))
    whole = measure(cell)
    (row,) = section.body([Line(cell, whole)], Selection())
    shown = dict(zip(section.header(), row, strict=True))
    assert (shown["epochs"], shown["all epochs, s"]) == ("5", "–")
    assert float(shown["HR@100"]) == pytest.approx(100 * whole["hits@100"], abs=0.01)
    cut = whole | {"stopped_after": 1.0, "epochs": 2, "seconds": 10.0, "epoch_seconds": 4.0}
    (row,) = section.body([Line(cell, cut)], Selection())
    shown = dict(zip(section.header(), row, strict=True))
    assert (shown["fit, s"], shown["all epochs, s"], shown["HR@100"]) == ("(10)", "22, at most", "–")


def test_time_is_that_of_the_second_epoch():
    found = measure(Cell("time", "cora", "paper", "paper", {"fraction": 0.02, "steps": 4}))
    assert found["links"] == round(0.02 * 4276)
    assert 0 < found["epoch_seconds"] < found["wall"]
    assert found["microseconds_a_link"] == pytest.approx(1e6 * found["epoch_seconds"] / (2 * found["links"]), rel=0.01)


def test_an_unknown_kind_is_named():
    with pytest.raises(ValueError, match="no kind of cell is called 'acuracy'"):
        measure(Cell("acuracy", "cora"))
