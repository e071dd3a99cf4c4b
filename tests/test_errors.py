"""Errors: one base for all that a user can fix, and a kind for each reason; the command line prints each in one
line.
"""

import errno
import os
import pickle
import subprocess
import sys

import pytest
import sklearn.exceptions
import typer
from typer.testing import CliRunner

import llwlc
from llwlc._cli.console import Group
from llwlc._engines.ray_pool import Cluster, run_over_shards
from llwlc._support.charts import new_figure
from llwlc._support.files import write_text
from llwlc._support.lock import hold_lock
from llwlc._support.roots import locate
from llwlc.graph._packing import pack
from llwlc.models import make
from llwlc.training._checkpoint import Checkpoint, read_checkpoint

KINDS = {
    llwlc.InputError: ValueError,
    llwlc.RunFolderError: llwlc.InputError,
    llwlc.DatasetError: llwlc.InputError,
    llwlc.NotFittedError: AttributeError,
    llwlc.MissingDependencyError: ImportError,
    llwlc.StorageError: OSError,
    llwlc.EngineError: RuntimeError,
}


@pytest.mark.parametrize(("ours", "theirs"), KINDS.items())
def test_every_error_has_both_bases_and_can_be_pickled(ours, theirs):
    assert issubclass(ours, llwlc.LLwLCError)
    assert issubclass(ours, theirs)
    again = pickle.loads(pickle.dumps(ours("what, where: what to do")))
    assert type(again).__name__ == ours.__name__
    assert isinstance(again, ours)
    assert str(again) == "what, where: what to do"


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_line_prints_each_in_one_line_and_exits_with_2(kind):
    app = typer.Typer(cls=Group)

    @app.callback()
    def main() -> None: ...

    @app.command()
    def fail() -> None:
        raise kind("what, where: what to do")

    found = CliRunner().invoke(app, ["fail"])
    assert found.exit_code == 2
    assert found.stderr == "Error: what, where: what to do\n"


def test_a_run_folder_that_cannot_be_used_says_so_and_still_counts_as_bad_input(tmp_path):
    with pytest.raises(llwlc.RunFolderError, match="there is no run folder"):
        llwlc.LinkPredictor.load(tmp_path / "nowhere")
    with pytest.raises(llwlc.InputError, match="holds no finished run"):
        llwlc.LinkPredictor.load(tmp_path)
    (tmp_path / "checkpoint.safetensors").write_bytes(b"damaged")
    with pytest.raises(llwlc.RunFolderError, match="is damaged"):
        read_checkpoint(Checkpoint(tmp_path / "checkpoint.safetensors", "any"))


def test_a_dataset_that_cannot_be_fetched_differs_from_a_wrong_name(tmp_path, monkeypatch):
    monkeypatch.setenv("LLWLC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with pytest.raises(llwlc.DatasetError, match="is not in the data root"):
        llwlc.datasets.load("citeseer", root=tmp_path / "empty")
    with pytest.raises(llwlc.InputError, match="no dataset is called") as wrong:
        llwlc.datasets.load("citeseeer")
    assert not isinstance(wrong.value, llwlc.DatasetError)


def test_what_only_a_fitted_predictor_has_raises_scikit_learns_error_too():
    with pytest.raises(sklearn.exceptions.NotFittedError, match="not fitted yet") as found:
        llwlc.LinkPredictor().score([("a", "b")])
    assert isinstance(found.value, llwlc.NotFittedError)
    assert not hasattr(llwlc.LinkPredictor(), "metrics_")
    with pytest.raises(sklearn.exceptions.NotFittedError, match="not fitted yet"):
        make("llwlc").state()


def test_neither_the_import_nor_the_error_loads_scikit_learn():
    code = "import sys, llwlc; hasattr(llwlc.LinkPredictor(), 'metrics_'); sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_locked_or_read_only_folder_is_a_storage_error(tmp_path):
    with (
        hold_lock(tmp_path, "a fit"),
        pytest.raises(llwlc.StorageError, match=f"under way in process {os.getpid()}") as found,
        hold_lock(tmp_path, "another fit"),
    ):
        pass
    assert isinstance(found.value, OSError)
    assert not isinstance(found.value, llwlc.InputError)
    (tmp_path / "file").write_text("")
    with pytest.raises(llwlc.StorageError, match="cannot be written"):
        write_text(tmp_path / "file" / "below", "text")


@pytest.mark.parametrize(
    ("module", "extra", "call"),
    [
        ("matplotlib.figure", "plots", lambda folder: new_figure(1, 1)),
        ("ray", "ray", lambda folder: list(run_over_shards(Cluster(), int, None, "real", [0]))),
        ("duckdb", "pack", lambda folder: pack(folder / "edges.csv", folder / "packed")),
        ("ogb.utils.url", "ogb", lambda folder: llwlc.datasets.load("ogbl-ddi", root=folder / "empty")),
    ],
)
def test_a_missing_extra_is_named_with_the_command_that_installs_it(tmp_path, monkeypatch, module, extra, call):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    monkeypatch.setenv("LLWLC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    with pytest.raises(llwlc.MissingDependencyError, match=rf"pip install 'llwlc\[{extra}\]'") as missing:
        call(tmp_path)
    assert missing.value.name == module.partition(".")[0]


def test_a_disk_that_is_full_while_a_dataset_is_fetched_is_not_a_fault_of_the_dataset(tmp_path, monkeypatch):
    def fetch(target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setenv("LLWLC_CACHE", str(tmp_path / "cache"))
    with pytest.raises(llwlc.StorageError, match="No space left on device"):
        locate("any", "any", ["file"], root=tmp_path / "empty", fetch=fetch)


def test_a_missing_server_is_named_by_the_command():
    code = (
        "import sys; sys.modules['uvicorn'] = None; sys.argv = ['llwlc', 'serve', 'run']\nfrom llwlc._cli import main;"
        " main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'llwlc[serve]'" in done.stderr.replace("\n", " ")
