"""What a run says about itself: the result table and the model card."""

from __future__ import annotations

from llwlc.graph.graph import Graph
from llwlc.metrics import Evaluation
from llwlc.splits.linksplit import LinkSplit
from llwlc.training.fit import Fitted

COLUMNS = ("method", "HR@50", "HR@100", "HR, FPR 1%", "MRR", "AUC", "AP")
_KEYS = ("hits@50", "hits@100", "hits@fpr0.01", "mrr", "auc", "ap")


def result_rows(fitted: Fitted) -> list[tuple[str, ...]]:
    """One row a method, ours first, then the scores that need no training, all on the same test links."""
    methods = {"llwlc": fitted.metrics.test, **fitted.metrics.heuristics}
    return [(name, *(_cell(found, key) for key in _KEYS)) for name, found in methods.items()]


def _cell(found: Evaluation, key: str) -> str:
    """In percent; a dash for HR@K without more than K negatives, which is 100 or nearly so for anything."""
    k = key.removeprefix("hits@")
    if k.isdigit() and int(k) >= found.num_negatives:
        return "–"
    return f"{100 * found[key]:.2f}"


FEW = 20  # with fewer validation links, probabilities are rough: the notes say so


def result_notes(fitted: Fitted, split: LinkSplit) -> str:
    """What the numbers of the table mean: protocol, negatives, false-positive rates, calibration."""
    m = fitted.metrics
    told = [k for k in (50, 100) if k < m.test.num_negatives]
    rates = (
        ", ".join(f"HR@{k} at {100 * m[f'hits@{k}_fpr']:.3g} %" for k in told) or "HR@K not told by so few negatives"
    )
    hard = split.test_neg.ndim == 3
    kind = (
        f"{split.test_neg.shape[1]} hard negatives for each"
        if hard
        else f"{m.test.num_negatives:,} negatives in one pool"
    )
    few = len(split.valid_pos) < FEW
    return (
        f"protocol {split.protocol}, seed {split.seed}; {m.test.num_positives:,} test links against {kind}; in percent; "
        f"false-positive rate of {rates}; calibration error {100 * m.calibration_error:.1f} % at a prior of "
        f"{m.calibration_prior:.2g}; {m.parameters:,} parameters, {m.epochs} epochs, "
        f"{m.seconds:.0f} seconds"
        + (f"; only {len(split.valid_pos)} validation links, so probabilities are rough" if few else "")
    )


def model_card(fitted: Fitted, graph: Graph, split: LinkSplit) -> str:
    """MODEL_CARD.md."""
    basis, rows = fitted.preset.basis, result_rows(fitted)
    table = ["| " + " | ".join(COLUMNS) + " |", "| " + " | ".join(["---"] * len(COLUMNS)) + " |"]
    table += ["| " + " | ".join(row) + " |" for row in rows]
    features = "no node features" if fitted.features is None else f"{fitted.features.shape[1]} compact node features"
    notes = "".join(f"- {note}\n" for note in split.notes)
    return f"""# Model card

A link predictor of `llwlc`: around each candidate pair the {basis.hops}-hop enclosing subgraph, {basis.steps} Lanczos vectors of its
{basis.laplacian} Laplacian (start: {basis.start}; constraints: {basis.constraints}), learned spectral filters, a small network.

- Graph: {graph.num_nodes:,} nodes, {graph.num_edges:,} links, {features}.
- Trained on {len(split.train_pos):,} links; epoch chosen and probabilities calibrated on {len(split.valid_pos):,} validation links;
  measured once on test links. Scores and recommendations afterwards use all known links.
{notes}
## Measured

{result_notes(fitted, split)}.

{chr(10).join(table)}

HR@K is OGB's: the share of test links that score above the K-th best negative, so K stands for another false-positive rate on every
graph and compares only within one protocol.

## Use

    llwlc score RUN pairs.csv -o scores.csv --prior 0.01
    llwlc recommend RUN --top 100 -o top.csv

`probability` is calibrated for the stated prior, the share of true links among the candidates. Links are undirected; a node that has no
link yet is scored by its features alone.
"""
