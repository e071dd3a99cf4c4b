"""The run directory: complete, without a pickle, moved at will, refused where it is damaged; and a fit that is killed
and goes on.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from llwlc._predictor import LinkPredictor
from llwlc._runs.format import FORMAT, write_manifest
from llwlc._support.files import file_digest
from llwlc.errors import InputError, StorageError
from llwlc.heuristics import HEURISTICS
from llwlc.splits._linksplit import PARTS
from llwlc.training._epoch_record import EpochRecord
from people import QUICK, people

FILES = {
    "config.json",
    "manifest.json",
    "model.safetensors",
    "graph.safetensors",
    "split.safetensors",
    "metrics.json",
    "history.jsonl",
    "MODEL_CARD.md",
    "reliability.svg",
}
PAIRS = [("Person 03", "Person 44"), ("Person 10", "Person 11")]


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "run"
    LinkPredictor(cache=None, minutes=None, **QUICK).fit(people(), out=folder)
    return folder


@pytest.fixture
def run(original, tmp_path):
    """A copy to damage."""
    return Path(shutil.copytree(original, tmp_path / "run"))


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def test_it_holds_what_the_design_says_and_no_pickle(original):
    assert {p.name for p in original.iterdir()} == FILES
    config = json.loads((original / "config.json").read_text())
    assert {
        "format",
        "llwlc",
        "graph_name",
        "model",
        "options",
        "parameters",
        "calibration",
        "fingerprint",
        "needs",
    } <= set(config)
    manifest = json.loads((original / "manifest.json").read_text())
    assert manifest["format"] == config["format"] == FORMAT
    assert set(manifest["files"]) == FILES - {"manifest.json"}
    for name, entry in manifest["files"].items():
        assert entry == {"bytes": (original / name).stat().st_size, "sha256": file_digest(original / name)}
    model = load_file(original / "model.safetensors")
    assert {"compactor.weight", "compactor.components"} <= set(model)
    assert any(name.startswith("net.") for name in model)
    graph = load_file(original / "graph.safetensors")
    assert {"indptr", "indices", "features", "x", "names"} <= set(graph)
    assert len((original / "history.jsonl").read_text().splitlines()) == QUICK["epochs"]
    for name, content in bytes_of(original).items():
        assert not content.startswith((b"\x80", b"PK")), name  # neither a pickle nor torch's zip of one


def test_metrics_and_card_state_what_was_measured(original):
    metrics = json.loads((original / "metrics.json").read_text(encoding="utf-8"))
    assert {"auc", "mrr", "hits@100", "hits@100_fpr", "num_negatives", "calibration_error", "seconds"} <= set(metrics)
    assert {record.title for record in HEURISTICS.records() if not record.sides} == set(metrics["heuristics"])
    card = (original / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "90 nodes" in card
    assert f"{100 * metrics['auc']:.2f}" in card
    assert "protocol random, seed 0" in card


def test_it_loads_after_a_move(run, tmp_path):
    wanted = LinkPredictor.load(run).score(PAIRS).score
    run.rename(tmp_path / "elsewhere")
    again = LinkPredictor.load(tmp_path / "elsewhere")
    assert torch.equal(again.score(PAIRS).score, wanted)
    assert again.graph_.names == people().names
    assert torch.equal(again.run_.split.test_pos, LinkPredictor.load(tmp_path / "elsewhere").run_.split.test_pos)


def test_saved_again_it_is_the_same(run, tmp_path):
    LinkPredictor.load(run).save(tmp_path / "copy")
    # the order of a safetensors file's metadata is free, and the manifest has the split's checksum
    kept = FILES - {"split.safetensors", "manifest.json"}
    assert {k: v for k, v in bytes_of(tmp_path / "copy").items() if k in kept} == {
        k: v for k, v in bytes_of(run).items() if k in kept
    }
    again = LinkPredictor.load(tmp_path / "copy")
    again.save(run)
    assert {p.name for p in run.iterdir()} == FILES
    for part in PARTS:
        assert torch.equal(getattr(LinkPredictor.load(run).run_.split, part), getattr(again.run_.split, part))


def test_a_folder_that_cannot_be_written_is_refused(run, tmp_path):
    (tmp_path / "file").write_text("mine")
    for target in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(StorageError, match="cannot be written"):
            LinkPredictor.load(run).save(target)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(bytes(data))


def change(**values):
    def damage(run: Path) -> None:
        config = json.loads((run / "config.json").read_text())
        (run / "config.json").write_text(json.dumps(config | values))
        write_manifest(run)

    return damage


def write(text: bytes):
    """Another configuration, with a manifest that fits it: what is in it has to be looked at too."""

    def damage(run: Path) -> None:
        (run / "config.json").write_bytes(text)
        write_manifest(run)

    return damage


def edit_manifest(**values):
    def damage(run: Path) -> None:
        manifest = json.loads((run / "manifest.json").read_text())
        (run / "manifest.json").write_text(json.dumps(manifest | values))

    return damage


def lose(key: str):
    def damage(run: Path) -> None:
        config = json.loads((run / "config.json").read_text())
        del config[key]
        (run / "config.json").write_text(json.dumps(config))
        write_manifest(run)

    return damage


def other_weights(run: Path) -> None:
    save_file({"net.stranger": torch.zeros(3)}, run / "model.safetensors")
    write_manifest(run)


DAMAGE = {
    "a flipped bit": (lambda run: flip(run / "model.safetensors"), "model.safetensors is damaged"),
    "a truncated graph": (lambda run: os.truncate(run / "graph.safetensors", 100), "graph.safetensors is damaged"),
    "a broken history": (lambda run: (run / "history.jsonl").write_text("{"), "history.jsonl is damaged"),
    "an empty split": (lambda run: (run / "split.safetensors").write_bytes(b""), "split.safetensors is damaged"),
    "no model": (lambda run: (run / "model.safetensors").unlink(), "lacks model.safetensors"),
    "no metrics": (lambda run: (run / "metrics.json").unlink(), "lacks metrics.json"),
    "no history": (lambda run: (run / "history.jsonl").unlink(), "lacks history.jsonl"),
    "torn metrics": (lambda run: (run / "metrics.json").write_text('{"auc": 0.'), "metrics.json is damaged"),
    "no configuration": (lambda run: (run / "config.json").unlink(), "no finished run"),
    "torn configuration": (write(b'{"format": 1, "pre'), "cannot be read"),
    "binary configuration": (write(b"\xff\xfe\x00"), "cannot be read"),
    "a deep configuration": (write(b"[" * 100_000), "cannot be read"),
    "another tool's configuration": (write(b'{"architectures": ["Bert"]}'), "has format None"),
    "a list": (write(b"[1]"), "not a configuration of llwlc"),
    "an edited configuration": (lambda run: (run / "config.json").write_text("{}"), "config.json is damaged"),
    "an edited card": (lambda run: (run / "MODEL_CARD.md").write_text("# better"), "MODEL_CARD.md is damaged"),
    "a later format": (change(format=99), "has format 99, this version reads 1"),
    "a manifest of a later format": (edit_manifest(format=3), "has format 3, this version reads 1"),
    "no manifest": (lambda run: (run / "manifest.json").unlink(), "no finished run"),
    "a torn manifest": (lambda run: (run / "manifest.json").write_text('{"format": 1, '), "cannot be read"),
    "a manifest of no files": (edit_manifest(files=None), "names no files"),
    "a preset of another version": (
        change(options={"basis": {"hips": 2}, "net": {}, "train": {}, "features": 0}),
        "has an option 'hips' that this version of llwlc does not know",
    ),
    "no options": (change(options=None), "names no model with its options"),
    "needs that nobody knows": (change(needs={"spell accio": {}}), "needs 'spell accio', which this version"),
    "no checksums": (edit_manifest(files={}), "does not name model.safetensors"),
    "no calibration": (lose("calibration"), "does not fit together"),
    "other weights": (other_weights, "weights and configuration differ"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_or_foreign_one_is_refused_with_a_reason(run, name):
    damage, message = DAMAGE[name]
    damage(run)
    with pytest.raises(InputError, match=message):
        LinkPredictor.load(run)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match="there is no run folder"):
        LinkPredictor.load(tmp_path / "nowhere")


def test_the_finished_run_is_read_not_repeated(run):
    before = {p.name: p.stat().st_mtime_ns for p in run.iterdir()}
    epochs: list[EpochRecord] = []
    model = LinkPredictor(cache=None, minutes=None, **QUICK).fit(people(), out=run, on_epoch=epochs.append)
    assert not epochs
    assert {p.name: p.stat().st_mtime_ns for p in run.iterdir()} == before
    assert torch.equal(model.score(PAIRS).score, LinkPredictor.load(run).score(PAIRS).score)


@pytest.mark.parametrize(("parameters", "protocol"), [({"seed": 1}, "random"), ({}, "ncn")])
def test_another_runs_folder_is_refused_and_untouched(run, parameters, protocol):
    before = bytes_of(run)
    with pytest.raises(InputError, match="another run"):
        LinkPredictor(cache=None, minutes=None, **QUICK, **parameters).fit(people(), out=run, protocol=protocol)
    with pytest.raises(InputError, match="another run"):
        LinkPredictor(cache=None, minutes=None, **QUICK | {"epochs": 3}).fit(people(), out=run)
    assert bytes_of(run) == before


@pytest.mark.parametrize("name", ["thesis.txt", ".hidden"])
def test_a_folder_with_foreign_files_is_refused_and_untouched(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match="not a run of llwlc"):
        LinkPredictor(cache=None, minutes=None, **QUICK).fit(people(), out=tmp_path)
    assert bytes_of(tmp_path) == {name: b"mine"}


def test_bad_input_leaves_no_folder(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="unknown name 'foo'"):
        LinkPredictor(cache=None, minutes=None, constraints="foo", **QUICK).fit(people(), out=tmp_path / "a" / "run")
    assert not (tmp_path / "a" / "run").exists()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="is a file"):
        LinkPredictor(cache=None, minutes=None, **QUICK).fit(people(), out=tmp_path / "file")
    with pytest.raises(StorageError, match="cannot be made"):
        LinkPredictor(cache=None, minutes=None, **QUICK).fit(people(), out=tmp_path / "file" / "run")


LONGER = QUICK | {"epochs": 6}
FIT = """
import sys
import torch
torch.set_num_threads(1)
from llwlc._predictor import LinkPredictor
from people import people
from test_run_directory import LONGER
def on_epoch(record):
    print(record.epoch, flush=True)
    sys.stdin.readline()
LinkPredictor(cache=None, minutes=None, **LONGER).fit(people(), out=sys.argv[1], on_epoch=on_epoch)
"""


def test_a_killed_fit_goes_on_to_the_same_bits(tmp_path):
    folder = tmp_path / "killed"
    here = os.pathsep.join(map(str, (*Path(__file__).parents[:2], Path(__file__).parents[2] / "src")))
    where = os.environ | {"PYTHONPATH": here, "OMP_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", FIT, folder], stdin=pipe, stdout=pipe, text=True, env=where
    ) as process:
        for _ in range(3):  # each epoch waits to be read, or a slow reader would find the fit over
            process.stdout.readline()
            process.stdin.write("\n")
            process.stdin.flush()
        time.sleep(0.05)  # somewhere in the middle of the next epoch
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    left = {p.name for p in folder.iterdir()}
    assert "checkpoint.safetensors" in left
    assert "config.json" not in left
    with pytest.raises(InputError, match="unfinished one: run the same llwlc fit again"):
        LinkPredictor.load(folder)
    with pytest.raises(InputError, match="another run"):
        LinkPredictor(cache=None, minutes=None, **QUICK).fit(people(), out=folder)
    # a kill can also fall into the writing itself
    (folder / "checkpoint.partial").write_bytes(b"half")
    (folder / ".partial-x").mkdir()
    epochs: list[EpochRecord] = []
    LinkPredictor(cache=None, minutes=None, **LONGER).fit(people(), out=folder, on_epoch=epochs.append)
    assert epochs[0].epoch >= 3
    assert {p.name for p in folder.iterdir()} == FILES
    LinkPredictor(cache=None, minutes=None, **LONGER).fit(people(), out=tmp_path / "straight")
    for name in ("model.safetensors", "graph.safetensors", "history.jsonl"):
        assert (folder / name).read_bytes() == (tmp_path / "straight" / name).read_bytes(), name


def test_a_kill_before_the_first_checkpoint_was_whole_is_no_obstacle(tmp_path):
    (tmp_path / "checkpoint.safetensors.partial").write_bytes(b"half")
    LinkPredictor(cache=None, minutes=None, **QUICK).fit(people(), out=tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == FILES


@pytest.mark.parametrize("nth", [0, 1, 3, 6, 9, 12])
def test_cut_off_at_any_rename_the_same_fit_ends_in_the_same_bits(original, tmp_path, monkeypatch, nth):
    """Whatever stands in the folder then, half a checkpoint, half a run, is taken up or swept away."""
    renamed, real = [], os.replace

    def cut(source, target):
        if len(renamed) == nth:
            raise SystemExit("killed")
        renamed.append(target)
        real(source, target)

    monkeypatch.setattr(os, "replace", cut)
    with pytest.raises(SystemExit):
        LinkPredictor(cache=None, minutes=None, **QUICK).fit(people(), out=tmp_path / "run")
    monkeypatch.undo()
    LinkPredictor(cache=None, minutes=None, **QUICK).fit(people(), out=tmp_path / "run")
    assert {p.name for p in (tmp_path / "run").iterdir()} == FILES
    for name in ("model.safetensors", "graph.safetensors", "history.jsonl"):
        assert (tmp_path / "run" / name).read_bytes() == (original / name).read_bytes(), name
