"""The table `chain`: what may cause the gap between our implementation of the paper's network and the paper's numbers,
one change in each row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from research.experiments.accuracy_section import AccuracySection
from research.experiments.other_sections import EnergySection
from research.experiments.published import RESULTS
from research.experiments.table import WIDE, Row, Section, split_off_pubmed

SMALL = ("cora", "citeseer")
PLANETOID = (*SMALL, "pubmed")
THREE = {"cora": (0, 1, 2), "citeseer": (0, 1, 2), "pubmed": (0, 1, 2)}
SEAL_READOUT: dict[str, Any] = {
    "labels": "drnl",
    "distance_cap": 5,
    "pooling": "dgcnn",
    "sort_channel": True,
    "jumping": True,
    "head": 128,
}
"""SEAL's embedding of DRNL labels, a channel of its own to sort by, all blocks side by side, flattened convolutions, an
MLP of 128.
"""
COMPACT: dict[str, Any] = {"features": 64, "skip": True}
RAW: dict[str, Any] = {"features": "raw", "skip": True}
QUERY: dict[str, Any] = {"start": "query", "laplacian": "normalized", "constraints": "neumann_boundary"}
READINGS: dict[str, dict[str, Any]] = {
    "`paper`": {},
    "compact features": {"features": 64},
    "compact features, skip": COMPACT,
    "raw features, skip": RAW,
    "compact features, skip, four filters": COMPACT | {"filters": 4},
    "SEAL's embedding and readout": SEAL_READOUT,
    "compact features, skip, SEAL's readout": COMPACT | SEAL_READOUT,
    "raw features, skip, SEAL's readout": RAW | SEAL_READOUT,
    "compact features, skip, ends read out": COMPACT | {"ends": True},
    "raw features, skip, ends read out": RAW | {"ends": True},
    "query start, boundary column": QUERY,
    "query start, boundary column, compact features, skip": QUERY | COMPACT,
    "query start, boundary column, compact features, skip, ends read out": QUERY | COMPACT | {"ends": True},
    "query start, boundary column, raw features, skip, ends read out": QUERY | RAW | {"ends": True},
    "all of the 90 %, last epoch": {"use_validation": True},
    "f on five powers": {"powers": 5},
    "label cap 5": {"distance_cap": 5},
    "random starts redrawn each epoch": {"redraw": True},
    "3 hops": {"hops": 3},
    "100 epochs": {"epochs": 100, "patience": 100},
}
"""Ways to read the paper's description that let no test link leak."""
PAPER_QUERY = "query start, boundary column, compact features, skip, ends read out"
"""The reading that is the preset `paper-query`."""
ON_PUBMED = (
    "`paper`",
    "compact features, skip, SEAL's readout",
    "compact features, skip, ends read out",
    PAPER_QUERY,
)
"""Readings for Pubmed: the first, and those that did best on the small graphs."""
BACK: dict[str, tuple[str, ...]] = {
    "all six changes": (),
    "without the normalised Laplacian": ("laplacian",),
    "without the query start": ("start",),
    "without the skip": ("skip",),
    "without the ends read out": ("ends",),
    "without features": ("features",),
    "with the degree column too": ("constraints",),
}
"""The options of `paper-query` that each row of the leave-one-out takes back to `paper`'s."""
LEAST: dict[str, tuple[str, ...]] = {
    "skip, ends and features alone": ("laplacian", "start", "constraints"),
    "ends and features alone": ("laplacian", "start", "constraints", "skip"),
}
"""Fewer changes at once."""
FIVE = dict.fromkeys(THREE, (0, 1, 2, 3, 4))
LETTER: dict[str, Any] = {"features": "raw", "labels": "features"}
"""Algorithm 2 to the letter: X₀ is X."""
LEAKY: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("best epoch chosen on test", "test epoch", {}),
    ("test links carry messages", "messages", {}),
    ("the link stays in L", "laplacian", {}),
    ("the link stays in L, no constraint", "laplacian", {"constraints": "none"}),
    ("the link stays in L and in the labels", "labels", {}),
    ("test links carry messages; compact features, skip", "messages", COMPACT),
    ("the link stays in L; compact features, skip", "laplacian", COMPACT),
)


def _rows() -> tuple[Row, ...]:
    shown = RESULTS["paper"]
    rows = [
        Row(title, "paper", SMALL, options=options, seeds=THREE, published=shown) for title, options in READINGS.items()
    ]
    powers = {"constraints": "neumann", "ends": False}
    rows.append(
        Row(
            "LanczosNet's powers of L beside the basis, raw features",
            "lanczosnet",
            SMALL,
            options=powers,
            seeds=THREE,
            published=shown,
        )
    )
    letter = Row("Algorithm 2 to the letter: raw features, no labels, no skip", "paper", PLANETOID, options=LETTER)
    rows += split_off_pubmed(replace(letter, seeds=THREE, published=shown))
    rows += [
        Row(f"{title}, batches of 256", "paper", ("pubmed",), options=READINGS[title] | WIDE, published=shown)
        for title in ON_PUBMED
    ]
    return tuple(rows)


def _leave_one_out() -> tuple[Row, ...]:
    """`paper-query` with one of its changes taken back, and with fewer of them."""
    query, shown = READINGS[PAPER_QUERY], RESULTS["paper"]
    rows = [
        Row(
            title,
            "paper",
            PLANETOID,
            options={name: value for name, value in query.items() if name not in taken},
            seeds=FIVE,
            published=shown,
        )
        for title, taken in (BACK | LEAST).items()
    ]
    return tuple(part for row in rows for part in split_off_pubmed(row))


def _leaks() -> tuple[Row, ...]:
    shown = RESULTS["paper"]
    return tuple(
        Row(title, "paper", SMALL, options=options, leak=leak, seeds=THREE, published=shown)
        for title, leak, options in LEAKY
    )


BASES: dict[str, dict[str, Any]] = {
    "Neumann, random start, 10 steps (`paper`)": {},
    "the same, 20 steps": {"steps": 20},
    "the same, 40 steps": {"steps": 40},
    "no constraint, random start": {"constraints": "none"},
    "10 vertex-deleted, random start": {"constraints": "vertex_deleted"},
    "boundary column, random start": {"constraints": "neumann_boundary"},
    "boundary column, query start, normalised Laplacian": QUERY,
}
CHAIN: tuple[Section, ...] = (
    AccuracySection("Readings without a leak", _rows()),
    AccuracySection("`paper-query` with one of its six changes taken back", _leave_one_out()),
    AccuracySection("Readings with a leak: no results, but what would explain the numbers", _leaks()),
    EnergySection(
        "What a basis carries of the input",
        tuple(Row(title, "paper", (*SMALL, "pubmed"), options=options) for title, options in BASES.items()),
    ),
)
