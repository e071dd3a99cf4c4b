"""What each option of a preset means, for help texts: the values it may have, and a line about it."""

from __future__ import annotations

from typing import NamedTuple


class OptionHelp(NamedTuple):
    values: str
    meaning: str


OPTION_HELP = {
    "hops": OptionHelp("1 to 127", "steps from the two ends up to which nodes belong to the subgraph around a link"),
    "constraints": OptionHelp("names below, joined by +", "linear constraints that every basis vector satisfies"),
    "count": OptionHelp("0 to 4096, or all", "number of deleted vertices, each a constraint, for vertex_deleted"),
    "steps": OptionHelp("1 to 4096", "number of eigenvectors of a link's basis"),
    "start": OptionHelp("a name below", "the vector that the Lanczos recurrence begins with"),
    "laplacian": OptionHelp("normalized or combinatorial", "the matrix whose eigenvectors are taken"),
    "max_nodes_per_hop": OptionHelp("1 or more, none for all", "most nodes that a hop adds to the subgraph; more are sampled at random"),
    "draw_by": OptionHelp("name or number", "what identifies a node in random draws; number: as in runs of older versions"),
    "cap_by": OptionHelp("window or pair", "how max_nodes_per_hop samples; pair: as in runs of older versions, slower at nodes of many links"),
    "distance_cap": OptionHelp("1 to 21", "distances from the ends are distinguished up to this one"),
    "stored_bits": OptionHelp("16 or 32", "bits of each number of the bases that training keeps; 16 take little more than half the room"),
    "redraw": OptionHelp("true or false", "whether random starts and deleted vertices are redrawn in each epoch; by default deleted vertices are"),
    "labels": OptionHelp("distance, drnl or none", "how a node's distances to the two ends are encoded for the network"),
    "node_features": OptionHelp("true or false", "whether features are part of every node's input"),
    "powers": OptionHelp("1 to 64", "number of powers of an eigenvalue that a filter reads"),
    "sort_channel": OptionHelp("true or false", "whether the readout sorts rows by a last block of one channel, as SEAL does"),
    "use_validation": OptionHelp("true or false", "whether to train on validation links too, and keep the last epoch"),
    "sources": OptionHelp("1 or more", "number of nodes that propose candidates during a fit; by default all"),
    "blocks": OptionHelp("1 to 64", "number of blocks of the network"),
    "channels": OptionHelp("1 to 65536", "width of a block"),
    "filters": OptionHelp("1 to 65536", "number of learned functions of the eigenvalues in a block"),
    "filter_hidden": OptionHelp("1 to 65536", "hidden width of the small network that is such a function"),
    "skip": OptionHelp("true or false", "whether each block adds its input to its output"),
    "jumping": OptionHelp("true or false", "whether the readout sees the output of all blocks, not only of the last"),
    "pooling": OptionHelp("a name below", "how the rows of a subgraph are combined into one"),
    "ends": OptionHelp("true or false", "whether the readout sees the rows of the two ends"),
    "filtered_channels": OptionHelp("0 to 65536", "width of the ends' filtered features in the readout; 0: none"),
    "cosines": OptionHelp("true or false", "whether the readout sees the cosines between the ends' filtered features"),
    "common": OptionHelp("true or false", "whether the readout sees the sum of the common neighbours' filtered features; slower"),
    "pair_inputs": OptionHelp("true or false", "whether the readout sees common neighbours, degrees and the cosine of raw features"),
    "ranking": OptionHelp("true or false", "whether a second output, for candidates, is trained, by which recommend ranks"),
    "head": OptionHelp("1 to 65536", "width of the last layers"),
    "dropout": OptionHelp("0 to below 1", "dropout in the last layers: share of inputs that a training step leaves out"),
    "feature_dropout": OptionHelp("0 to below 1", "dropout of the features"),
    "epochs": OptionHelp("1 to 1,000,000", "most passes over the training links"),
    "learning_rate": OptionHelp("above 0, at most 1000", "length of a training step"),
    "filter_rate": OptionHelp("above 0, at most 1000", "the filters' learning rate, as a multiple of learning_rate"),
    "batch_size": OptionHelp("2 or more", "number of links and non-links in a training step"),
    "patience": OptionHelp("1 or more", "epochs without a better validation score before training stops"),
    "select": OptionHelp("both, auc, mrr or hits@K", "the validation score that chooses the epoch; both: the mean AUC among random pairs and candidates"),
    "negatives": OptionHelp("1 to 1000", "non-links for each link of a training step, all together of the links' weight"),
    "negative_pool": OptionHelp("1 to 1000", "non-links for each training link, drawn once; each epoch uses different ones of them"),
    "candidate_pool": OptionHelp("0 to 1000", "non-links among the candidates for each training link, drawn once"),
    "hard_share": OptionHelp("0 to 1", "share of the non-links that are hard, as HeaRT draws them"),
    "copies": OptionHelp("0 to 1000", "further copies of the training subgraphs, each with different links left out"),
    "edge_dropout": OptionHelp("0 to below 1", "share of the links that is left out in such a copy"),
    "average": OptionHelp("0 to below 1", "decay of the moving average of the weights that is kept; 0: none"),
    "features": OptionHelp("0 to 65536, or raw", "number of columns that features are reduced to; 0: features are not used; raw: as they are"),
    "budget": OptionHelp("1 or more", "most candidates that a node may propose"),
    "evaluated": OptionHelp("1 or more", "most validation links, test links and non-links of each that are scored; by default all"),
    "shortlist": OptionHelp("1 or more", "candidates that the network ranks; by default 10,000, or four times the number of links"),
    "measured": OptionHelp("1 or more", "most candidates that are ranked to measure a fit's recommendations"),
    "judged": OptionHelp("1 or more", "most training links that are tested for being candidates"),
    "weighed": OptionHelp("1 or more", "validation links that set the weights of the sources of candidates"),
}  # fmt: skip
"""By name; a test compares with the options that `--set` takes."""
