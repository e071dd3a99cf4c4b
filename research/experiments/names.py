"""What cells of growth and separation measure beside the first of their kind, by the name in the dataset's place."""

LARGEST_TERM = "random graphs, one term the largest"
EXTRACTION = "extraction"
MARKING = "marking"
