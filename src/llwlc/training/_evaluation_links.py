"""The validation and test links that a fit looks at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from llwlc.splits._linksplit import LinkSplit

MAX_HARD_NEGATIVES = 100


def subsample_evaluation(split: LinkSplit, most: int | None, seed: int) -> LinkSplit:
    """The split with at most `most` validation links, test links and negatives of each, drawn at random, and of hard
    negatives at most `MAX_HARD_NEGATIVES` for each validation link; training links and message graphs stay."""
    rng = np.random.default_rng([seed, 14])
    parts: dict[str, Any] = {}
    if split.valid_neg.ndim == 3 and split.valid_neg.shape[1] > MAX_HARD_NEGATIVES:
        columns = torch.from_numpy(np.sort(rng.permutation(split.valid_neg.shape[1])[:MAX_HARD_NEGATIVES]))
        split = replace(split, valid_neg=split.valid_neg[:, columns])
    for stage in ("valid", "test") if most is not None else ():
        pos, neg = getattr(split, f"{stage}_pos"), getattr(split, f"{stage}_neg")
        positions = torch.from_numpy(np.sort(rng.permutation(len(pos))[:most]))
        others = positions if neg.ndim == 3 else torch.from_numpy(np.sort(rng.permutation(len(neg))[:most]))
        parts |= {f"{stage}_pos": pos[positions], f"{stage}_neg": neg[others]}  # hard negatives belong to their link
    return replace(split, **parts) if parts else split
