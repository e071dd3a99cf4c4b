"""The scores of all candidates of a run's graph beside their bases, and a list of recommendations, one after the other:
a figure of research/notes/2026-11-19-speed.md.

llwlc fit cora --plan full --out run
taskset -c 0 python research/benchmarks/list_speed.py run --threads 1
python research/benchmarks/list_speed.py run --threads 2
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    from llwlc import LinkPredictor
    from llwlc.bases._encoded_links import encode_chunk
    from llwlc.models._llwlc.scoring import CANDIDATES_OUTPUT, CHUNK, Scorer
    from llwlc.ranking._ranking import find_candidates, retriever_of

    model = LinkPredictor.load(options.run, device="cpu")
    fitted, graph = model.fitted_, model.graph_
    pairs = find_candidates(retriever_of(graph, fitted.features, fitted.ranking.candidates, device="cpu")).pairs
    scorer, basis = Scorer(fitted.model.fitted, fitted.features), fitted.model.basis
    model.recommend(top=10)  # compiles, and makes the lists
    bases = seconds(lambda: [encode_chunk(graph, part, basis) and None for part in torch.split(pairs, CHUNK)])
    scores = seconds(lambda: [None for _ in scorer.pairs(graph, pairs, basis, CANDIDATES_OUTPUT)])
    listed = seconds(lambda: model.recommend(top=100))
    print(
        f"{len(pairs):,} candidates, {options.threads} threads: bases {bases:.2f} s, scores {scores:.2f} s"
        f" ({scores / bases:.2f} x), 100 recommendations {listed:.2f} s"
    )


if __name__ == "__main__":
    main()
