"""The folder of a run while it is fitted: nothing is left of one in which nothing was written."""

import pytest

from llwlc._runs.fit_folder import make_run_folder
from llwlc.errors import InputError


@pytest.mark.parametrize("error", [InputError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("written", [False, True])
def test_a_fit_that_stops_leaves_its_folder_only_if_something_is_in_it(tmp_path, error, written):
    folder = tmp_path / "deep" / "run"
    with pytest.raises(error), make_run_folder(folder):  # noqa: PT012
        if written:
            (folder / "plan.json").write_text("{}")
        raise error
    assert folder.exists() == written


def test_a_folder_that_was_there_stays(tmp_path):
    with pytest.raises(KeyboardInterrupt), make_run_folder(tmp_path):
        raise KeyboardInterrupt
    assert tmp_path.is_dir()
    assert not any(tmp_path.iterdir())
