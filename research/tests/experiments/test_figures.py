"""The graphs of the figures."""

from research.experiments.figures import make_rows


def test_what_tells_the_figures_graphs_apart():
    found = {(asked, by): answer for asked, by, answer in make_rows()}
    rook = "4×4 rook and Shrikhande"
    assert found[rook, "3-WL (2-FWL)"] == "not told apart"
    assert found[rook, "spectra under 3 vertex-deleted columns"] == "not told apart"
    assert found[rook, "spectra under 4 vertex-deleted columns"] == "told apart"
    assert found[rook, "spectra under Neumann constraints"] == "told apart"
    assert found["C₁₀ and two C₅ (Figure 1)", "spectra of L"] == "told apart"
    ring = "pairs of C₆ (Figure 2)"
    assert found[ring, "spectra of enclosing subgraphs"] == "not told apart: two apart and opposite"
    assert found[ring, "spectra under Neumann constraints"] == "all three told apart"
