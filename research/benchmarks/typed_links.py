"""Filtered MRR and Hits@K of typed links on a folder with train.txt, valid.txt and test.txt, as PyKEEN carries them.

    pip download --no-deps pykeen && unzip pykeen-*.whl 'pykeen/datasets/*'
    python research/benchmarks/typed_links.py pykeen/datasets/umls
    python research/benchmarks/typed_links.py pykeen/datasets/kinships

Lines are source, type and target behind tabs. The epoch is chosen on valid.txt; ranks are those of PyKEEN's protocol:
both ends asked for, links of all three files filtered, ties counting half. Two lines for each seed on stdout: the
factors alone, and with the types that already join a pair (the same where validation links do not gain by them).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

# a script finds modules beside itself only
sys.path.insert(0, str(Path(__file__).parents[2]))

from llwlc.relations import RelationPredictor, Triples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    parts = {}
    for name in ("train", "valid", "test"):
        lines = (given.folder / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        parts[name] = [tuple(line.split("\t")) for line in lines]
    triples = Triples.of([triple for part in parts.values() for triple in part])  # type: ignore[misc]
    row = {tuple(numbers): at for at, numbers in enumerate(triples.rows.tolist())}
    valid, test = (np.array([row[tuple(t)] for t in triples.find(parts[name]).tolist()]) for name in ("valid", "test"))
    for seed in range(given.seeds):
        model = RelationPredictor(seed=seed).fit(triples, valid=valid, test=test)
        for what, metrics in (("factors alone", model.factor_metrics_), ("with joining types", model.metrics_)):
            values = "  ".join(f"{name} {100 * value:.2f}" for name, value in metrics.items())
            print(f"{given.folder.name}  seed {seed}  epoch {model.epoch_}  {what}  {values}", flush=True)


if __name__ == "__main__":
    main()
