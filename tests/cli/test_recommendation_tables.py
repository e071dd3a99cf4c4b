"""Lists on the terminal: whole at 80 columns, however long names are."""

import pytest

from llwlc._cli import tables
from llwlc.ranking import Recommendation, Recommendations


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("name", ["Ada", "Mia Braun-Gruber", "ENSG00000139618_BRCA2_of_the_reference_genome"])
def test_a_list_shows_whole_headings_and_numbers_in_80_columns(name, directed, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    link = Recommendation(
        f"a{name}", f"b{name}", 0.0, 0.312, 0.204, 0.417, 0.0, 3, 2, direction=0.718 if directed else None
    )
    tables.show_links(Recommendations((link,), directed=directed), "The likeliest missing link")
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    wanted = ("probability", "90 % range", "neighbours", "0.312", "0.204–0.417", "3")
    last = ("direction", "0.718") if directed else ("distance", "2")
    assert [text for text in (*wanted, *last) if text not in shown] == []
