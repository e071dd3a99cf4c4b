"""`python -m llwlc.datasets [NAME ...]`: the statistics of the named graphs, or of all that are available, as a
Markdown table.
"""

from __future__ import annotations

import sys

from llwlc.datasets import Statistics, load, names, statistics
from llwlc.errors import LLwLCError

HEADER = (
    "| graph | nodes | edges | features | 2m/n | largest degree | isolated | 1-hop nodes | 2-hop nodes | over links |"
)


def format_row(name: str, s: Statistics) -> str:
    (a, b), (c, d) = s.one_hop, s.two_hop
    over = f"all {s.links:,}" if s.links == s.edges else f"{s.links:,} sampled"
    counts = f"{s.nodes:,} | {s.edges:,} | {s.features:,} | {s.degree:.2f} | {s.largest_degree:,} | {s.isolated:,}"
    return f"| {name} | {counts} | {a:.1f} ± {b:.1f} | {c:.1f} ± {d:.1f} | {over} |"


def main(requested: list[str]) -> int:
    failed = False
    print(HEADER)
    print("|" + " --- |" * (HEADER.count("|") - 1))
    for name in requested or names():
        try:
            print(format_row(name, statistics(load(name))), flush=True)
        except LLwLCError as error:
            # a graph that was named must be available; without names, the missing ones are skipped
            failed = failed or bool(requested)
            print(error, file=sys.stderr)
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
