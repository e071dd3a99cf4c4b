"""How good recommendations are: links hidden by a protocol, candidates found on what is left, ranked, beside every
heuristic; and whether predicted probabilities are observed.

    python research/benchmarks/recommend.py cora citeseer --seeds 30-34 --device cuda --processes 4
    python research/benchmarks/recommend.py cora citeseer --model gae --seeds 30-34 --device cuda
    python research/benchmarks/recommend.py ns power --seeds 30-32 --again
    python research/benchmarks/recommend.py --show

One line a run is appended to research/results/recommend.jsonl; a finished cell is not run again, unless `--again` asks
for a line that takes the place of the stored one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from llwlc._cli.options import parse_seeds

OURS = "llwlc"
RESULTS = Path(__file__).parents[1] / "results" / "recommend.jsonl"


def measure(name: str, seed: int, protocol: str, device: str, method: str) -> dict:
    """One run: fit, then the lists measured with all held-out links as truth, and the probabilities with test links
    alone.
    """
    import torch

    from llwlc import datasets, splits
    from llwlc._fitting.fit import fit_model
    from llwlc.heuristics._registry import HEURISTICS
    from llwlc.models import make
    from llwlc.ranking._evaluation import estimate_precision, hide_links, rank_hidden, report_ranking
    from llwlc.ranking._list_quality import compute_list_quality
    from llwlc.ranking._ranking import find_candidates, make_candidate_scorer, rank, retriever_of
    from llwlc.splits._negatives import pair_number
    from llwlc.training._resources import Resources

    graph = bipartite() if name == "bipartite" else datasets.load(name)
    split = splits.make(graph, protocol=protocol, seed=seed)
    fitted = fit_model(make(method), graph, split, seed=seed, resources=Resources(torch.device(device)))
    features, score_candidates = fitted.features, make_candidate_scorer(fitted.model)
    held = hide_links(split, "held-out")
    report = report_ranking(rank_hidden(held, features, score_candidates, fitted.ranking, device=device), title=OURS)
    # which heuristic is best is decided on validation links
    n, pairs = (
        graph.num_nodes,
        find_candidates(retriever_of(held.graph, features, fitted.ranking.candidates, device=device)).pairs,
    )
    valid = {}
    for heuristic in HEURISTICS.records():
        if heuristic.applies_to(graph):
            hit = torch.isin(pair_number(pairs, n), pair_number(split.valid_pos, n))
            score = heuristic.load()(held.graph, pairs).double().numpy()
            valid[heuristic.title] = compute_list_quality(
                score, hit.numpy(), pairs.numpy(), split.valid_pos.numpy()
            ).average_precision.value
    test = hide_links(split, "test")
    found = find_candidates(retriever_of(test.graph, features, fitted.ranking.candidates, device=device))
    keep = ~torch.isin(pair_number(found.pairs, n), pair_number(split.valid_pos, n))
    found = type(found)(found.pairs[keep], found.score[keep], found.length)
    ranked = rank(test.graph, found, features, score_candidates, fitted.ranking)
    rho = len(test.links) / test.graph.num_edges
    true = torch.isin(pair_number(ranked.pairs, n), pair_number(test.links, n)).double()
    said = torch.sigmoid(ranked.log_ratio + torch.tensor(rho).log())
    return {
        "data": name,
        "method": method,
        "protocol": protocol,
        "seed": seed,
        "hits@100": fitted.metrics["hits@100"],
        "auc": fitted.metrics["auc"],
        "num_negatives": fitted.metrics["num_negatives"],
        "parameters": fitted.metrics.parameters,
        "seconds": fitted.metrics.seconds,
        "candidates": str(fitted.ranking.candidates),
        "held_out": report.as_dict(),
        "heuristics_on_validation": valid,
        "top200": [*estimate_precision(ranked, fitted.ranking, rho, 200), float(true[:200].mean())],
        "bins": [[float(said[at : at + 100].mean()), float(true[at : at + 100].mean())] for at in range(0, 1000, 100)],
    }


def bipartite():
    """600 users and 400 items with tastes: links by the match of six hidden traits and by popularity, no features."""
    import numpy as np
    import torch

    from llwlc.graph._graph import Graph

    rng = np.random.default_rng(0)
    users, items = rng.dirichlet(np.ones(6) * 0.3, 600), rng.dirichlet(np.ones(6) * 0.3, 400)
    chance = (users @ items.T) ** 2 * rng.pareto(2.0, 400)[None] * (0.3 + rng.random(600)[:, None])
    pairs = np.argwhere(rng.random(chance.shape) < chance * 6_000 / chance.sum())
    return Graph.from_edges(torch.from_numpy(pairs + np.array([0, 600])), num_nodes=1000)


def stored(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def cell_of(run: dict) -> tuple[str, str, int, str]:
    return run["data"], run["protocol"], run["seed"], run.get("method", OURS)


def store(path: Path, run: dict) -> None:
    """Appends a run, or puts it in the place of that of the same cell."""
    runs = stored(path)
    at = next((i for i, other in enumerate(runs) if cell_of(other) == cell_of(run)), len(runs))
    runs[at : at + 1] = [run]
    fresh = path.with_suffix(".new")
    fresh.write_text("".join(json.dumps(one) + "\n" for one in runs))
    fresh.replace(path)


def show(path: Path) -> None:
    """The table of all stored runs, mean ± standard deviation over seeds, in percent."""
    runs = stored(path)
    print(
        "| graph | method | protocol, seeds | found | AP | AP best heuristic (by validation) | paired difference ± s.e."
        " | P@200, best heuristic | P@1000, best heuristic | HR@100 |"
    )
    print("| --- " * 10 + "|")
    for key in dict.fromkeys((run["data"], run["protocol"], run.get("method", OURS)) for run in runs):
        own = [run for run in runs if (run["data"], run["protocol"], run.get("method", OURS)) == key]
        methods = [run["held_out"]["methods"] for run in own]
        votes = [max(run["heuristics_on_validation"], key=run["heuristics_on_validation"].get) for run in own]
        best = statistics.mode(votes)
        ours = [100 * m["llwlc"]["average_precision"]["value"] for m in methods]
        theirs = [100 * m[best]["average_precision"]["value"] for m in methods]
        gain = [a - b for a, b in zip(ours, theirs, strict=True)]
        error = statistics.stdev(gain) / len(gain) ** 0.5 if len(gain) > 1 else 0.0
        cells = []
        for top in ("200", "1000"):
            per = {
                name: statistics.mean(100 * m[name]["precision"].get(top, {"value": 0})["value"] for m in methods)
                for name in methods[0]
            }
            baseline = max((name for name in per if name != "llwlc"), key=per.get)
            cells.append(f"{per['llwlc']:.1f}, {per[baseline]:.1f} ({baseline})")
        recall = statistics.mean(100 * run["held_out"]["found"] / run["held_out"]["hidden"] for run in own)
        hits = [100 * run["hits@100"] for run in own]
        seeds = [run["seed"] for run in own]
        print(
            f"| {key[0]} | {key[2]} | {key[1]}, {min(seeds)}–{max(seeds)} | {recall:.1f} | {_spread(ours)} |"
            f" {_spread(theirs)} ({best}) | {statistics.mean(gain):.2f} ± {error:.2f} | {cells[0]} | {cells[1]} |"
            f" {_spread(hits)} |"
        )
    print()
    print(
        "| graph | method | best 200 of each run: said, true (range covers) | best 1000 in ten bins, all runs: said /"
        " true | error, points |"
    )
    print("| --- " * 5 + "|")
    for name, method in dict.fromkeys((run["data"], run.get("method", OURS)) for run in runs):
        own = [run for run in runs if (run["data"], run.get("method", OURS)) == (name, method)]
        said, true = (statistics.mean(100 * run["top200"][at] for run in own) for at in (0, 3))
        covered = sum(run["top200"][1] <= run["top200"][3] <= run["top200"][2] for run in own)
        bins = [[statistics.mean(100 * run["bins"][at][side] for run in own) for side in (0, 1)] for at in range(10)]
        off = statistics.mean(abs(a - b) for a, b in bins)
        print(
            f"| {name} | {method} | {said:.1f}, {true:.1f} ({covered} of {len(own)}) |"
            f" {', '.join(f'{a:.0f} / {b:.0f}' for a, b in bins)} | {off:.1f} |"
        )


def _spread(values: list[float]) -> str:
    return f"{statistics.mean(values):.2f}" + (f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*")
    parser.add_argument("--model", default=OURS, help="a baseline instead of our network")
    parser.add_argument("--seeds", default="5", help="how many, from 0, or which, as in 30-34")
    parser.add_argument("--protocol", default="ncn")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--again", action="store_true", help="run finished cells too")
    parser.add_argument("--show", action="store_true", help="print the stored lines and run nothing")
    parser.add_argument(
        "--one", action="store_true", help="print the line of the first cell, for the processes that this script starts"
    )
    arguments = parser.parse_args()
    if arguments.one:
        print(
            json.dumps(
                measure(
                    arguments.data[0],
                    parse_seeds(arguments.seeds)[0],
                    arguments.protocol,
                    arguments.device,
                    arguments.model,
                )
            )
        )
        return
    done = set() if arguments.again else {cell_of(run) for run in stored(arguments.out)}
    cells = [
        (name, seed)
        for name in arguments.data
        for seed in parse_seeds(arguments.seeds)
        if not arguments.show and (name, arguments.protocol, seed, arguments.model) not in done
    ]

    lock = threading.Lock()

    def work(cell: tuple[str, int]) -> None:
        name, seed = cell
        command = [
            sys.executable,
            __file__,
            name,
            "--seeds",
            f"{seed}-{seed}",
            "--protocol",
            arguments.protocol,
            "--device",
            arguments.device,
            "--model",
            arguments.model,
            "--one",
        ]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            print(f"{name} {seed} failed:\n{ran.stderr[-2000:]}", flush=True)
            return
        with lock:
            store(arguments.out, json.loads(ran.stdout.strip().splitlines()[-1]))
        print(f"{name} {seed} done", flush=True)

    with ThreadPoolExecutor(arguments.processes) as pool:
        list(pool.map(work, cells))
    show(arguments.out)


if __name__ == "__main__":
    main()
