"""What each option of a preset means, for help texts: the values it may have, and a line about it."""

from __future__ import annotations

from typing import NamedTuple


class OptionHelp(NamedTuple):
    values: str
    meaning: str


OPTION_HELP = {
    "hops": OptionHelp("1 to 127", "steps from the two ends up to which nodes belong to the subgraph around a link"),
    "constraints": OptionHelp("names below, joined by +", "the subspace that bases are kept out of"),
    "count": OptionHelp("0 to 4096, or all", "deleted vertices, each a constraint, of vertex_deleted"),
    "steps": OptionHelp("1 to 4096", "eigenvectors of a link's basis"),
    "start": OptionHelp("a name below", "the vector that the Lanczos recurrence begins with"),
    "laplacian": OptionHelp("normalized or combinatorial", "the matrix whose eigenvectors are taken"),
    "max_nodes_per_hop": OptionHelp("1 or more, none for all", "nodes that a hop keeps, drawn at random where there are more"),
    "draw_by": OptionHelp("name or number", "what random draws know a node by; number: as runs of older versions did"),
    "distance_cap": OptionHelp("1 to 21", "distances from the ends that the network tells apart"),
    "redraw": OptionHelp("true or false", "each epoch draws random starts and deleted vertices anew; unless told, deleted vertices alone"),
    "labels": OptionHelp("distance, drnl or none", "what the network knows of where a node stands to the two ends"),
    "node_features": OptionHelp("true or false", "features are part of every node's input"),
    "powers": OptionHelp("1 to 64", "powers of an eigenvalue that a filter reads"),
    "sort_channel": OptionHelp("true or false", "rows are sorted by a last block of one channel, as SEAL's are"),
    "use_validation": OptionHelp("true or false", "train on validation links too and keep the last epoch"),
    "sources": OptionHelp("1 or more", "nodes whose lists a fit looks for candidates on; all unless told"),
    "blocks": OptionHelp("1 to 64", "blocks of the network"),
    "channels": OptionHelp("1 to 65536", "width of a block"),
    "filters": OptionHelp("1 to 65536", "learned functions of the eigenvalues in a block"),
    "filter_hidden": OptionHelp("1 to 65536", "width of the small network that is such a function"),
    "skip": OptionHelp("true or false", "each block adds its input to its output"),
    "jumping": OptionHelp("true or false", "the readout sees all blocks, not the last alone"),
    "pooling": OptionHelp("a name below", "how the rows of a subgraph become one"),
    "ends": OptionHelp("true or false", "the readout sees the rows of the two ends"),
    "filtered_channels": OptionHelp("0 to 65536", "width of the ends' filtered features in the readout; 0: none"),
    "cosines": OptionHelp("true or false", "the readout sees the cosines between the ends' filtered features"),
    "pair_inputs": OptionHelp("true or false", "the readout sees common neighbours, degrees and the cosine of raw features"),
    "ranking": OptionHelp("true or false", "a second output, for candidates, by which recommend ranks"),
    "head": OptionHelp("1 to 65536", "width of the last layers"),
    "dropout": OptionHelp("0 to below 1", "share of the last layers' inputs that a training step leaves out"),
    "feature_dropout": OptionHelp("0 to below 1", "the same of the features"),
    "epochs": OptionHelp("1 to 1,000,000", "passes over the training links at most"),
    "learning_rate": OptionHelp("above 0, at most 1000", "length of a training step"),
    "batch_size": OptionHelp("2 or more", "links and non-links of a training step"),
    "patience": OptionHelp("1 or more", "epochs without a better validation score before training stops"),
    "select": OptionHelp("both, auc, mrr or hits@K", "the validation score that chooses the epoch; both: the mean AUC among random pairs and candidates"),
    "negative_pool": OptionHelp("1 to 1000", "non-links drawn once, for each training link; each epoch takes others of them"),
    "candidate_pool": OptionHelp("0 to 1000", "candidates drawn once as non-links, for each training link"),
    "hard_share": OptionHelp("0 to 1", "share of the non-links that are hard, as HeaRT draws them"),
    "copies": OptionHelp("0 to 1000", "further copies of the training subgraphs, each without other links"),
    "edge_dropout": OptionHelp("0 to below 1", "share of the links that such a copy lacks"),
    "average": OptionHelp("0 to below 1", "decay of the moving average of the weights that is kept; 0: none"),
    "features": OptionHelp("0 to 65536, or raw", "columns that a graph's features are condensed to; 0: leave features out; raw: as they are"),
    "budget": OptionHelp("1 or more", "candidates that each node may propose"),
    "evaluated": OptionHelp("1 or more", "validation links, test links and non-links of each that are scored; all unless told"),
    "shortlist": OptionHelp("1 or more", "candidates that the network ranks; 10,000, or four a link, unless told"),
    "measured": OptionHelp("1 or more", "candidates looked at to measure a fit's recommendations"),
    "judged": OptionHelp("1 or more", "training links of which it is found out whether they would be candidates"),
    "weighed": OptionHelp("1 or more", "validation links by which the sources of candidates are weighed"),
}  # fmt: skip
"""By name; a test compares with the options that `--set` takes."""
