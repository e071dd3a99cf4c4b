"""Runs that a released version wrote, kept in `frozen/`: this version reads them and gives the scores of that time.

`python scripts/freeze_runs.py` writes those of the current version. Once it is released, its folder stays as it is.
"""

import json
import shutil
from pathlib import Path

import pytest

from llwlc._predictor import LinkPredictor
from llwlc._runs.format import write_manifest
from llwlc._support.version import VERSION
from llwlc.errors import RunFolderError
from llwlc.relations import RelationPredictor

FROZEN = Path(__file__).with_name("frozen")
CLOSE = {"rel": 1e-6, "abs": 1e-6}


def frozen_cases():
    for scores in sorted(FROZEN.glob("*/scores.json")):
        for name, kept in json.loads(scores.read_text()).items():
            yield pytest.param(scores.parent / name, kept, id=f"{scores.parent.name}-{name}")


@pytest.mark.parametrize(("folder", "kept"), list(frozen_cases()))
def test_a_run_of_a_released_version_is_read_and_scores_as_it_did(folder, kept):
    if "triples" in kept:
        links = RelationPredictor.load(folder).score([tuple(triple) for triple in kept["triples"]])
        found = {"score": [x.score for x in links], "probability": [x.probability for x in links]}
    else:
        scores = LinkPredictor.load(folder, device="cpu", cache=None).score([tuple(pair) for pair in kept["pairs"]])
        found = {name: getattr(scores, name).tolist() for name in kept.keys() - {"pairs"}}
    for name, values in found.items():
        assert values == pytest.approx(kept[name], **CLOSE), name


@pytest.mark.parametrize("name", ["blend", "directed", "resource-allocation"])
def test_a_run_of_a_released_version_makes_a_list(name):
    for folder in FROZEN.glob(f"*/{name}"):
        links = LinkPredictor.load(folder, device="cpu", cache=None).recommend(top=5)
        assert len(links) == 5
        assert all(0 < link.probability < 1 for link in links)


def test_every_kind_of_run_is_kept():
    """A network of ours, trees, a blend, a baseline, a heuristic, a directed run and one of typed links."""
    for scores in FROZEN.glob("*/scores.json"):
        kept = {"llwlc", "stack", "blend", "gcn", "resource-allocation", "directed", "relations"}
        assert kept <= json.loads(scores.read_text()).keys()
        assert all((scores.parent / name).is_dir() for name in kept)


@pytest.mark.parametrize(("name", "file"), [("directed", "config.json"), ("relations", "relations.json")])
def test_a_run_that_lacks_a_part_of_its_record_is_refused(name, file, tmp_path):
    """No reader fills in what an older run did not have: nothing older than the kept runs was released."""
    (folder,) = FROZEN.glob(f"{VERSION}/{name}")
    record = json.loads((folder / file).read_text())
    for key in record.keys() - {"llwlc"}:  # the version is for the reader of the file
        run = shutil.copytree(folder, tmp_path / key)
        (run / file).write_text(json.dumps({k: value for k, value in record.items() if k != key}))
        if file == "config.json":
            write_manifest(run)
        with pytest.raises(RunFolderError):
            (RelationPredictor if name == "relations" else LinkPredictor).load(run)
