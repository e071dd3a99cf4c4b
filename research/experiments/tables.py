"""TABLES: one specification a table of the paper, and what goes beyond it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from llwlc.models._registry import MODELS
from research.counting.section import CountingSection
from research.counting.trial import GROUPS
from research.experiments import published
from research.experiments.accuracy_section import AccuracySection
from research.experiments.baselines_section import BaselinesSection
from research.experiments.cell import Cell
from research.experiments.chain import CHAIN, PAPER_QUERY, READINGS, THREE
from research.experiments.leads_section import LeadsSection
from research.experiments.names import EXTRACTION, LARGEST_TERM, MARKING
from research.experiments.other_sections import (
    CostSection,
    FiguresSection,
    GrowthSection,
    LinkTimeSection,
    SizesSection,
    WalltimeSection,
)
from research.experiments.presets_section import (
    BUDDY_ROWS,
    CHANGES,
    HEART_ROWS,
    LADDER,
    LEADS,
    OTHER_ROWS,
    PLANETOID,
    PRESET_ROWS,
    UNUSED_SEEDS,
)
from research.experiments.table import NOTHING, Row, Section, split_off_pubmed
from research.experiments.worth_section import WorthSection, make_worth_rows
from research.expressivity.transfer import TransferSection

UNAVAILABLE = {
    "ogbl-collab": (
        "its training links and features are not available here; its stand-ins are coauthor-cs (real, smaller; in"
        " `results`) and coauthor-like (generated, of its size; in `datasets`)."
    ),
    "ogbl-vessel": "not available here; its stand-in is vessel-sample, one real sample of 2,970 nodes (in `results`).",
}
TITLES = {
    "common-neighbors": "CN",
    "adamic-adar": "AA",
    "resource-allocation": "RA",
    "gcn": "GCN",
    "sage": "SAGE",
    "neognn": "Neo-GNN",
    "seal": "SEAL",
    "nbfnet": "NBFNet",
    "surelplus": "SUREL+",
    "buddy": "BUDDY",
    "mlp": "MLP",
    "gae": "GAE",
    "ncn": "NCN",
    "ncnc": "NCNC",
    "ocn": "OCN",
    "lanczosnet": "LanczosNet",
    "paper": "LLwLC, `paper`",
    "anchored": "LLwLC, `anchored`",
}
TENTH = {"fraction": 0.1}
BASELINE_PROTOCOLS = {
    "mlp": "ncn",
    "gae": "ncn",
    "ncn": "ncn",
    "ncnc": "ncn",
    "ocn": "ncn",
    "gcn": "buddy",
    "sage": "buddy",
    "seal": "buddy",
    "buddy": "buddy",
    "neognn": "buddy",
    "nbfnet": "buddy",
    "lanczosnet": "buddy",
}
"""The protocol that each baseline's published number belongs to."""


GRAPHS = {"cora-planetoid": "cora", "citeseer": "citeseer", "pubmed": "pubmed"}
"""Under `buddy` and `ncn`, Cora in the numbering of the public codes; and its name in the published tables."""
FAR = ("ogbl-collab", "ogbl-vessel")
NEAR = {"near": True}
"""Negatives near in space, as ogbl-vessel's are."""


def _results() -> AccuracySection:
    """Baselines under BUDDY's protocol, where the published numbers belong, and under ours; LLwLC under ours; all on
    the graphs that are not available, too.
    """
    published_by = {name: numbers for name, numbers in published.RESULTS.items() if name != "paper"}
    ours = published.RESULTS["paper"]
    rows = [
        Row(TITLES[name], name, data, protocol, published=numbers, published_under="buddy")
        for protocol, graphs in (("buddy", tuple(GRAPHS)), ("paper", PLANETOID))
        for name, numbers in published_by.items()
        if (data := tuple(x for x in graphs if GRAPHS.get(x, x) in numbers))
    ]
    rows += [Row(TITLES[name], name, PLANETOID, "paper") for name in ("mlp", "gae", "ncn", "ncnc", "ocn")]
    rows += [
        *split_off_pubmed(Row(TITLES["paper"], "paper", PLANETOID, "paper", published=ours)),
        *split_off_pubmed(
            Row("LLwLC, `paper-query`", "paper", PLANETOID, "paper", READINGS[PAPER_QUERY], seeds=THREE, published=ours)
        ),
        Row(TITLES["anchored"], "anchored", PLANETOID, "paper", seeds=UNUSED_SEEDS),
    ]
    rows += [
        Row(TITLES[name], name, data, "ogb", published=numbers, published_under="ogb")
        for name, numbers in published_by.items()
        if (data := tuple(x for x in FAR if x in numbers))
    ]
    whole = Row(TITLES["paper"], "paper", ("ogbl-collab",), "ogb", published=ours, published_under="ogb")
    tenth = replace(whole, title=f"{TITLES['paper']}, 10 % of the links", data=("ogbl-vessel",), options=TENTH)
    return AccuracySection(
        "Results on link prediction benchmarks (the paper's Table 2)",
        (*rows, whole, tenth, *_stand_ins()),
        absent=UNAVAILABLE,
    )


def _stand_ins() -> tuple[Row, ...]:
    """Graphs in the place of those that are not available; the sample of vessels with two kinds of negatives."""
    untrained = ("common-neighbors", "adamic-adar", "resource-allocation")
    sample = ("vessel-sample",)
    return (
        Row(f"{TITLES['paper']}, 10 % of the links", "paper", ("coauthor-cs",), "paper", TENTH),
        *(Row(TITLES[name], name, ("coauthor-cs", *sample), "paper") for name in untrained),
        *(Row(TITLES[name], name, sample, "paper") for name in ("surelplus", "paper", "anchored")),
        *(
            Row(f"{TITLES[name]}, negatives near in space", name, sample, "paper", NEAR)
            for name in (*untrained, "gcn", "sage", "seal", "surelplus", "buddy", "paper", "anchored")
        ),
    )


def _make_baseline_rows() -> tuple[Row, ...]:
    rows = [
        Row(name, name, tuple(GRAPHS), protocol, published_under=protocol)
        for name, protocol in BASELINE_PROTOCOLS.items()
    ]
    return (
        *rows,
        Row("ocn, weights by batch", "ocn-batch", tuple(GRAPHS), "ncn", published_under="ncn"),
        Row("surelplus", "surelplus", ("vessel-sample",), "paper", published_under="paper"),
        Row("buddy, 50 folds", "buddy", ("cora-planetoid",), "buddy", {"folds": 50}, published_under="buddy"),
        Row("gae, two minutes", "gae", ("ogbl-ddi",), "ogb", published_under="ogb"),
        Row("anchored of 58,797 parameters", "anchored-58797", ("cora-planetoid", "pubmed"), "ncn", seeds={}),
    )


LANCZOSNET = Row("LanczosNet itself (powers of L, raw features)", "lanczosnet", PLANETOID, seeds=THREE)


def _constrained(numbers: dict[str, dict[str, float]]) -> tuple[Row, ...]:
    none = Row("no constraint (the paper's LanczosNet)", "unconstrained", PLANETOID, published=numbers["unconstrained"])
    return *split_off_pubmed(none), *split_off_pubmed(Row("Neumann", "paper", PLANETOID, published=numbers["paper"]))


def _sweep(title: str, name: str, values: tuple[Any, ...], **fixed: Any) -> tuple[Row, ...]:
    rows = []
    for value in values:
        options = {**fixed, name: value}
        shown = title.format(str(value).replace("_", "-"))
        rows.append(Row(shown, "paper", ("cora", "citeseer"), options=options, seeds=THREE))
        rows.append(
            Row(
                f"{shown}, 10 % of the links",
                "paper",
                ("pubmed",),
                options=options | {"fraction": 0.1},
                seeds={"pubmed": (0,)},
            )
        )
    return tuple(rows)


SWEEPS = (
    Row("Neumann", "paper", ("cora", "citeseer"), seeds=THREE),
    Row("Neumann, 10 % of the links", "paper", ("pubmed",), options={"fraction": 0.1}),
    *_sweep("{} vertex-deleted, redrawn", "count", (1, 3), constraints="vertex_deleted"),
    *_sweep("10 {}, redrawn", "constraints", ("vertex_deleted",)),
    *_sweep("{} vertex-deleted, redrawn", "count", (30,), constraints="vertex_deleted"),
    *_sweep("Neumann, {} blocks", "blocks", (1, 3, 4)),
    *_sweep("Neumann, {} steps", "steps", (5, 20, 40)),
    *_sweep("Neumann, {} hops", "hops", (1, 3)),
    *_sweep("Neumann, labels {}", "labels", ("none",)),
    *_sweep("no constraint, labels {}", "labels", ("none",), constraints="none"),
    *_sweep("10 vertex-deleted, labels {}", "labels", ("none",), constraints="vertex_deleted"),
)
SHARES = (0.01, 0.05, 0.1)


def _shares(
    method: str, data: tuple[str, ...], under: str, protocol: str = "paper", options: Mapping[str, Any] | None = None
) -> tuple[Row, ...]:
    plain = Row(TITLES[method], method, data, protocol, options=options or {}, published_under=under)
    shares = tuple(replace(plain, options={"fraction": share, **plain.options}) for share in SHARES)
    whole = replace(plain, seeds=UNUSED_SEEDS if method == "anchored" else None)
    return *shares, *(split_off_pubmed(whole) if method == "paper" and "pubmed" in data else (whole,))


def _thinned(method: str) -> tuple[Row, ...]:
    """A share of the links is all that is known: messages are thinned too."""
    title = f"{TITLES[method]}, messages thinned too"
    return tuple(Row(title, method, ("pubmed",), options={"kept": share}) for share in SHARES)


WALLTIME_ROWS = (
    *_shares("paper", PLANETOID, "paper"),
    *_shares("anchored", ("pubmed",), "paper"),
    *(row for name in ("gcn", "buddy", "seal") for row in _shares(name, ("pubmed",), "buddy")),
    *_thinned("paper"),
    *_thinned("seal"),
    *(row for row in _shares("paper", ("ogbl-vessel",), "ogb", "ogb") if row.options),
    *(Row(TITLES[name], name, ("ogbl-vessel",), "ogb", published_under="ogb") for name in ("gcn", "buddy", "seal")),
    *_shares("paper", ("vessel-sample",), "paper", options=NEAR),
    *(Row(TITLES[name], name, ("vessel-sample",), options=NEAR) for name in ("gcn", "buddy", "seal")),
)
VESSEL_TIMES = tuple(row for row in _shares("paper", ("vessel-like",), "paper") if row.options)
"""Epochs on the generated graph of ogbl-vessel's size; nobody's accuracy is measured there."""
TABLES: Mapping[str, tuple[Section, ...]] = {
    "results": (_results(),),
    "neumann": (
        AccuracySection(
            "AUC with and without Neumann constraints",
            (*_constrained(published.NEUMANN), replace(LANCZOSNET, published=published.NEUMANN["unconstrained"])),
            metric="auc",
        ),
    ),
    "constraints": (
        AccuracySection(
            "Different subgraph constraints (the paper's rows)",
            (
                *_constrained(published.CONSTRAINTS),
                *split_off_pubmed(
                    Row(
                        "10 vertex-deleted, redrawn each epoch",
                        "paper",
                        PLANETOID,
                        options={"constraints": "vertex_deleted"},
                        published=published.CONSTRAINTS["vertex-deleted"],
                    )
                ),
                replace(LANCZOSNET, published=published.CONSTRAINTS["unconstrained"]),
                *(
                    Row(
                        title,
                        "paper",
                        ("ogbl-collab",),
                        "ogb",
                        options=options,
                        published=published.CONSTRAINTS[key],
                        published_under="ogb",
                    )
                    for title, key, options in (
                        ("no constraint (the paper's LanczosNet)", "unconstrained", {"constraints": "none"}),
                        ("Neumann", "paper", {}),
                        ("10 vertex-deleted, redrawn each epoch", "vertex-deleted", {"constraints": "vertex_deleted"}),
                        ("Neumann, three blocks", "more blocks", {"blocks": 3}),
                    )
                ),
            ),
            absent=UNAVAILABLE,
        ),
        AccuracySection("Beyond the paper: columns, blocks, steps, hops, no distance labels", SWEEPS),
    ),
    "walltime": (
        WalltimeSection("Wall time and shares of the training links", WALLTIME_ROWS, only_timed=VESSEL_TIMES),
    ),
    "complexity": (
        GrowthSection(
            "How the time for a basis grows",
            Cell("growth", "random graphs"),
            {"nodes": "1", "edges": "1", "κ": "1", "k": "2 in k²n, 3 in k³"},
        ),
        GrowthSection(
            "How the time for a basis grows where the term of the quantity is the largest",
            Cell("growth", LARGEST_TERM),
            {"nodes": "1", "edges": "1", "k": "2 in k²n, 3 in k³"},
        ),
        GrowthSection(
            "How the time of extraction grows",
            Cell("growth", EXTRACTION),
            {
                "Neumann: largest degree × boundary": "1",
                "Neumann: edges of the subgraph": NOTHING,
                "10 vertex-deleted, sparse: n": "1",
                "10 vertex-deleted, dense: n": "3",
                "all n vertex-deleted, sparse: n": "1",
                "all n vertex-deleted, dense: n": "3",
            },
            column="stated",
        ),
        LinkTimeSection(
            "Time a link (the paper's Table 1a)",
            tuple(Row(TITLES[name], name, ("cora",), published_under="paper") for name in published.LINK_TIME),
        ),
    ),
    "datasets": (
        SizesSection(
            "Datasets (the paper's appendix)",
            (*PLANETOID, "ogbl-collab", "ogbl-vessel", "coauthor-cs", "vessel-sample", "coauthor-like"),
        ),
    ),
    "figures": (
        FiguresSection("The graphs of the figures", Cell("separation", "figures")),
        FiguresSection("Marking beside deletion: pairs told apart", Cell("separation", MARKING)),
    ),
    "chain": CHAIN,
    "accuracy": (
        AccuracySection("Presets by protocol", PRESET_ROWS, more={"MRR": "mrr", "ECE": "calibration_error"}),
        AccuracySection("Under BUDDY's protocol; published: BUDDY's", BUDDY_ROWS),
        AccuracySection("HeaRT's hard negatives, regenerated; published: the best known", HEART_ROWS, metric="mrr"),
        AccuracySection("Other graphs, the same preset; published: SEAL's AUC", OTHER_ROWS, metric="auc"),
    ),
    "ladder": (AccuracySection("From the paper's network to `anchored`, one change after the other", LADDER),),
    "leads": (
        LeadsSection("Changes of `anchored`, decided on validation links", LEADS[: len(CHANGES)]),
        LeadsSection("The same on a large graph", LEADS[len(CHANGES) :]),
    ),
    "worth": tuple(
        WorthSection(f"What constraints gain in {network}{how}", make_worth_rows(method), by_graph)
        for method, network in (("anchored", "the default network"), ("paper", "the paper's network"))
        for by_graph, how in ((False, ""), (True, ", by graph"))
    ),
    "counting": tuple(
        CountingSection(f"Counting {group} of random graphs, normalised error", group) for group in GROUPS
    ),
    "transfer": (TransferSection("BREC's pairs, by a network that was trained on other pairs"),),
    "baselines": (
        BaselinesSection("Baselines under the protocol of their published numbers", _make_baseline_rows()),
        CostSection(
            "What a fit costs, one at a time (`ncn`, seed 0)",
            tuple(
                Row(TITLES[name], name, ("cora-planetoid", *(() if name == "nbfnet" else ("pubmed",))), "ncn")
                for name in ("anchored", *BASELINE_PROTOCOLS)
            ),
        ),
    ),
}
"""The tables by the name that `python -m research reproduce` takes."""


def with_own_models(sections: Sequence[Section]) -> tuple[Section, ...]:
    """The sections of a table with a row for each model that is no part of this package, on their datasets and under
    their protocol.
    """
    own = [record for record in MODELS.records() if not record.builtin]

    def extended(section: Section) -> Section:
        if not own or not isinstance(section, AccuracySection):
            return section
        first = section.rows[0]
        data = tuple(dict.fromkeys(name for row in section.rows for name in row.data))
        rows = (Row(record.title, record.name, data, first.protocol) for record in own)
        return replace(section, rows=(*section.rows, *rows))

    return tuple(map(extended, sections))
