"""PyKEEN's own TuckER on Kinships and UMLS, under the protocol of `typed_links.py`: the environment is PyKEEN's.

    python -m venv pykeen && pykeen/bin/pip install -c constraints.txt pykeen
    pykeen/bin/python research/benchmarks/typed_links_pykeen.py tucker umls --seeds 3

It has the options that PyKEEN's benchmarking study found for it on Kinships (Ali et al., TPAMI 2022;
github.com/pykeen/benchmarking, the pipeline of its best replicate), number of epochs included. UMLS is no part of the
study: there the epoch is chosen on the validation links, by PyKEEN's early stopping with the study's settings. One line
for each seed on stdout.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

STUDY: dict[str, dict[str, Any]] = {
    "tucker": {
        "model": "tucker",
        "model_kwargs": {
            "embedding_dim": 128,
            "relation_dim": 128,
            "apply_batch_normalization": True,
            "dropout_0": 0.3717155796980186,
            "dropout_1": 0.23638446679266747,
            "dropout_2": 0.23486228175526835,
        },
        "loss": "bceaftersigmoid",
        "optimizer": "adam",
        "optimizer_kwargs": {"lr": 0.0010986447422378814},
        "training_loop": "lcwa",
        "training_kwargs": {"batch_size": 256, "label_smoothing": 0.04212612629156071, "num_epochs": 301},
        "dataset_kwargs": {"create_inverse_triples": True},
    },
}
STOPPER = {"stopper": "early", "stopper_kwargs": {"frequency": 50, "patience": 2, "relative_delta": 0.002}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=STUDY)
    parser.add_argument("graph", choices=("kinships", "umls"))
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    from pykeen.pipeline import pipeline  # its own environment

    chosen = {} if given.graph == "kinships" else STOPPER
    for seed in range(given.seeds):
        begin = time.process_time()
        result = pipeline(
            dataset=given.graph, random_seed=seed, device="cpu", use_tqdm=False, **STUDY[given.model], **chosen
        )
        names = {"mrr": "inverse_harmonic_mean_rank"} | {f"hits@{k}": f"hits_at_{k}" for k in (1, 3, 10)}
        values = {title: result.get_metric(f"both.realistic.{name}") for title, name in names.items()}
        line = {
            "graph": given.graph,
            "model": f"PyKEEN {given.model}",
            "seed": seed,
            "epochs": len(result.losses),
            **values,
        }
        print(json.dumps(line | {"core_seconds": round(time.process_time() - begin)}), flush=True)


if __name__ == "__main__":
    main()
