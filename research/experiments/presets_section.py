"""Our presets under each protocol, and the steps from the paper's network to `anchored`."""

from __future__ import annotations

from typing import Any

from research.experiments.published import HEART, HEART_HEURISTICS, RESULTS, SEAL_AUC
from research.experiments.table import Row

PLANETOID = ("cora", "citeseer", "pubmed")
UNUSED_SEEDS = {name: tuple(range(30, 35)) for name in ("cora", "citeseer")} | {"pubmed": (30, 31, 32)}
"""Seeds that were not used when the options of `anchored` were chosen."""
FURTHER_SEEDS = {name: tuple(range(10, 20)) for name in ("cora", "citeseer")} | {"pubmed": (10, 11, 12)}
"""Further such seeds."""
PRESET_ROWS = tuple(
    row
    for protocol in ("ncn", "seal", "paper")
    for row in (
        Row("`paper`", "paper", PLANETOID if protocol == "paper" else ("cora", "citeseer"), protocol),
        Row(
            "`anchored`",
            "anchored",
            PLANETOID,
            protocol,
            seeds={data: (*FURTHER_SEEDS[data], *UNUSED_SEEDS[data]) for data in PLANETOID}
            if protocol == "ncn"
            else UNUSED_SEEDS,
        ),
        Row(
            "`anchored` of 58,797 parameters, no constraints",
            "anchored-58797",
            ("cora", "citeseer"),
            protocol,
            {"constraints": "none"},
            seeds={},
        ),
        *(
            (
                Row(
                    "`anchored` of 58,797 parameters, both Neumann columns",
                    "anchored-58797",
                    ("cora",),
                    protocol,
                    {"constraints": "neumann"},
                ),
                Row(
                    "`anchored` of 58,797 parameters, dropout 0.5",
                    "anchored-58797",
                    ("pubmed",),
                    protocol,
                    {"dropout": 0.5, "feature_dropout": 0.5},
                ),
                Row(
                    "`anchored` of 58,797 parameters, thinned copies",
                    "anchored-58797",
                    ("pubmed",),
                    protocol,
                    {"copies": 4},
                ),
            )
            if protocol == "ncn"
            else ()
        ),
    )
)
"""`anchored-58797`: `anchored` before it had exact statistics of a pair as inputs. Its lines stay; it cannot be run
again under that name.
"""
BUDDY_ROWS = (
    Row(
        "`anchored`",
        "anchored",
        PLANETOID,
        "buddy",
        seeds=FURTHER_SEEDS,
        published=RESULTS["buddy"],
        published_under="buddy",
    ),
)
"""Rows that are compared with BUDDY's published figures, under its own protocol."""
HEART_ROWS = (
    Row(
        "`anchored`",
        "anchored",
        PLANETOID,
        "heart",
        seeds=FURTHER_SEEDS,
        published=HEART,
        published_under="heart, published negatives",
    ),
    *(
        Row(
            name,
            name,
            PLANETOID,
            "heart",
            seeds=FURTHER_SEEDS,
            published=known,
            published_under="heart, published negatives",
        )
        for name, known in HEART_HEURISTICS.items()
    ),
)
OTHER_GRAPHS = ("usair", "celegans", "ns", "power", "coauthor-cs", "vessel-sample")
OTHER_SEEDS = dict.fromkeys(OTHER_GRAPHS, (30, 31, 32)) | {"vessel-sample": (0,)}
OTHER_ROWS = (
    Row(
        "`anchored`",
        "anchored",
        OTHER_GRAPHS,
        "paper",
        seeds=OTHER_SEEDS,
        published=SEAL_AUC,
        published_under="SEAL's own splits, 10 % held out",
    ),
    *(
        Row(name, name, OTHER_GRAPHS, "paper", seeds=OTHER_SEEDS)
        for name in ("adamic-adar", "resource-allocation", "pagerank")
    ),
)
"""Graphs that no option of `anchored` was chosen on, and on which nothing is set by hand."""
CHANGES: dict[str, dict[str, Any]] = {
    "`anchored`": {},
    "the epoch chosen by HR@100": {"select": "hits@100"},
    "three negatives a link, balanced": {"negatives": 3},
    "features' dropout 0.7": {"feature_dropout": 0.7},
    "features' dropout 0.3": {"feature_dropout": 0.3},
    "the common neighbours' filtered features, summed": {"common": True, "filtered_channels": 58},
    "one block": {"blocks": 1},
    "one block, 80 features": {"blocks": 1, "features": 80},
    "filters at a third of the rate": {"filter_rate": 0.33},
    "filters at three times the rate": {"filter_rate": 3.0},
    "a fifth of the edges left out in copies": {"edge_dropout": 0.2},
    "three tenths of the edges left out in copies": {"edge_dropout": 0.3},
    "eight thinned copies": {"copies": 8},
    "slower moving average (0.999)": {"average": 0.999},
    "without the moving average": {"average": 0.0},
    "without thinned copies": {"copies": 0},
    "without exact statistics of the pair, nor outputs for candidates": {"pair_inputs": False, "ranking": False},
    "without outputs for candidates": {"ranking": False, "select": "auc"},
    "without cosines of the filtered ends": {"cosines": False},
    "without constraints": {"constraints": "none"},
}
"""Changes of `anchored` that were tried on small graphs; from "without" on, things that stayed are taken out."""
LARGE_CHANGES: dict[str, dict[str, Any]] = {
    "`anchored`": {},
    "the epoch chosen by HR@100": {"select": "hits@100"},
    "three negatives a link, balanced": {"negatives": 3},
    "150 epochs, patience 40": {"epochs": 150, "patience": 40},
    "features' dropout 0.3": {"feature_dropout": 0.3},
    "slower moving average (0.999)": {"average": 0.999},
    "one block, 80 features": {"blocks": 1, "features": 80},
    "thinned copies": {"copies": 4},
    "the common neighbours' filtered features, summed": {"common": True, "filtered_channels": 58},
}
"""The same on Pubmed, in large batches."""
LEAD_SEEDS = {name: tuple(range(5)) for name in ("cora", "citeseer")} | {"pubmed": (0, 1, 2)}
LEADS = tuple(
    Row(title, "anchored", data, "ncn", options, seeds=LEAD_SEEDS)
    for data, changes in ((("cora", "citeseer"), CHANGES), (("pubmed",), LARGE_CHANGES))
    for title, options in changes.items()
)
STEPS: list[tuple[str, dict[str, Any]]] = [
    ("+ normalised Laplacian, query start", {"laplacian": "normalized", "start": "query"}),
    ("+ boundary column only", {"constraints": "neumann_boundary"}),
    ("+ four filters, skip, jumping knowledge", {"filters": 4, "skip": True, "jumping": True}),
    ("+ distance-class pooling, ends read out", {"pooling": "class", "ends": True, "head": 32}),
    (
        "+ compact features, filtered at the ends",
        {"features": 64, "filtered_channels": 64, "node_features": False},
    ),
    ("+ cosines of the filtered ends", {"cosines": True}),
    (
        "+ moving average, thinned copies",
        {"average": 0.99, "copies": 4, "learning_rate": 2e-3, "epochs": 40, "patience": 10},
    ),
]


def _ladder() -> tuple[Row, ...]:
    rows = [
        Row("no constraint (`unconstrained`)", "unconstrained", ("cora",), "ncn"),
        Row("`paper`", "paper", ("cora",), "ncn"),
        Row("`paper`, 10 vertex-deleted, redrawn", "paper", ("cora",), "ncn", {"constraints": "vertex_deleted"}),
    ]
    options: dict[str, Any] = {}
    for title, change in STEPS:
        options = options | change
        rows.append(Row(title, "paper", ("cora",), "ncn", options))
    return tuple(rows)


LADDER = _ladder()
