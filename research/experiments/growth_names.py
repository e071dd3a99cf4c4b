"""What a cell of growth measures beside `random graphs`, by the name in the place of its dataset."""

LARGEST_TERM = "random graphs, one term the largest"
EXTRACTION = "extraction"
