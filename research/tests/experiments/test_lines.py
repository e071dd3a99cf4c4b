"""The results file: lines come back as they were written, and a damaged file is refused by name and line."""

import json

import pytest

from llwlc.errors import InputError
from research.experiments.cell import Cell, read_cell
from research.experiments.lines import append_line, compute_mean_and_spread, read_lines, select_row_lines

CELL = {
    "kind": "accuracy",
    "data": "cora",
    "protocol": "paper",
    "method": "paper",
    "options": {"skip": True},
    "seed": 3,
}


def test_what_is_appended_is_read_and_a_cell_counts_once(tmp_path):
    file = tmp_path / "runs.jsonl"
    append_line(file, CELL | {"auc": 0.5})
    append_line(file, CELL | {"auc": 0.9})
    append_line(file, CELL | {"seed": 1, "auc": 0.7})
    lines = read_lines(file)
    assert [(line.cell.seed, line["auc"]) for line in lines] == [(3, 0.5), (1, 0.7)]
    assert [line.cell.seed for line in select_row_lines(lines, read_cell(CELL))] == [1, 3]
    assert [line.cell.seed for line in select_row_lines(lines, read_cell(CELL), [3])] == [3]


def test_no_file_has_no_lines(tmp_path):
    assert read_lines(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize(
    "damaged",
    [
        json.dumps(CELL)[:40],
        "[1, 2]",
        json.dumps(CELL | {"seed": "three"}),
        json.dumps({k: v for k, v in CELL.items() if k != "data"}),
        json.dumps(CELL | {"options": 3}),
        json.dumps(CELL)[:-1] + ', "auc": NaN}',
        json.dumps(CELL | {"hits@100": "a"}),
        json.dumps(CELL | {"parameters": None}),
        json.dumps(CELL | {"auc": True}),
        "",
    ],
)
def test_a_damaged_file_is_refused_by_name_and_line(tmp_path, damaged):
    file = tmp_path / "runs.jsonl"
    file.write_text(json.dumps(CELL) + "\n" + damaged + "\n" + json.dumps(CELL | {"seed": 4}) + "\n")
    with pytest.raises(InputError, match=r"runs\.jsonl, line 2 is damaged .*delete that line"):
        read_lines(file)


def test_bytes_that_are_no_text_are_refused_by_name_and_line(tmp_path):
    file = tmp_path / "runs.jsonl"
    file.write_bytes(json.dumps(CELL).encode() + b"\n\xff\xfe\n")
    with pytest.raises(InputError, match=r"runs\.jsonl, line 2 is damaged"):
        read_lines(file)


def test_a_line_without_its_end_is_refused(tmp_path):
    """What a full disk leaves of a write: the next line would be glued to it."""
    file = tmp_path / "runs.jsonl"
    file.write_text(json.dumps(CELL) + "\n" + json.dumps(CELL | {"seed": 4}))
    with pytest.raises(InputError, match="line 2 is damaged"):
        read_lines(file)


def test_a_cell_is_what_its_numbers_depend_on():
    one = Cell("accuracy", "cora", "paper", "paper", {"skip": True, "blocks": 3})
    assert one.key == Cell("accuracy", "cora", "paper", "paper", {"blocks": 3, "skip": True}).key
    assert one.row == Cell("accuracy", "cora", "paper", "paper", {"skip": True, "blocks": 3}, seed=7).row
    assert (
        len({one.key, Cell("accuracy", "cora", "paper", "paper").key, Cell("accuracy", "cora", "ncn", "paper").key})
        == 3
    )


def test_mean_and_spread_are_those_of_the_statistics_module():
    import statistics

    values = [0.1, 0.7, 0.35]
    mean, spread = compute_mean_and_spread(values)
    assert (mean, spread) == pytest.approx((statistics.mean(values), statistics.stdev(values)))
    assert compute_mean_and_spread([0.5]) == (0.5, None)
