"""Records name their code by text: every name of the package's own registries leads to code."""

import dataclasses

import pytest

from llwlc._io.edge_source import FORMATS
from llwlc._support.registry import resolve
from llwlc.bases._starts import STARTS
from llwlc.constraints._registry import FAMILIES
from llwlc.datasets._catalog import DATASETS
from llwlc.heuristics import HEURISTICS, WALK_HEURISTICS
from llwlc.models._registry import MODELS
from llwlc.nn._registry import READOUTS
from llwlc.splits._registry import PROTOCOLS

RECORDS = {
    f"{registry.kind} {record.name}": record
    for registry in (
        DATASETS, FAMILIES, FORMATS, HEURISTICS, MODELS, PROTOCOLS, READOUTS, STARTS, WALK_HEURISTICS,
    )
    for record in registry.records()
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDS)
def test_every_record_names_code_that_exists(name):
    record = RECORDS[name]
    values = [getattr(record, field.name) for field in dataclasses.fields(record)]
    paths = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
    for path in paths:
        if isinstance(path, str) and path.startswith("llwlc.") and ":" in path:
            assert callable(resolve(path))
