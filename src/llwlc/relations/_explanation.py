"""TypedExplanation: why a typed link has its score, as text, JSON or HTML."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from llwlc._support.html_table import html_table
from llwlc._support.text import html_text
from llwlc.relations._evidence import Pattern

POPULATION = "if {share:.3g} % of the triples are links, and the others have one end replaced by a random node"
NOTE = (
    "The score comes from the factors of the nodes and of the type and, where hidden links showed that it helps, from"
    " the types that already join the two and from our network's score of the pair. Patterns are counted among the"
    " known links, this one left out: they show what supports the link in the data; those of several steps are no input"
    " of the score."
)


def describe_population(prior: float) -> str:
    """The population that a probability refers to.

    >>> describe_population(0.5)
    'if 50 % of the triples are links, and the others have one end replaced by a random node'
    """
    return POPULATION.format(share=100 * prior)


@dataclass(frozen=True)
class TypedExplanation:
    """Why a link of a `type` from `source` to `target` has its score.

    `probability`: that it is a link, where the share `prior` of the triples are links. `known`: whether it is one of
    the known links. `target_rank` of `num_targets`: the place of the target among all nodes that could complete source
    and type, known answers left out; `source_rank` of `num_sources`: the same of the source. `source_links`: the
    known links of the type from the source, `target_links`: to the target. `patterns`: ways from source to target, and
    how often they come with a link of the type; `base`: the share of linked pairs among the candidates of the type.
    `network`: our network's score of the pair, whatever the type, in standard deviations from the mean of all pairs,
    None where it is no input; `network_weight`: what a standard deviation counts.

    >>> from llwlc.relations import RelationPredictor, Triples
    >>> facts = [(f"p{i}", "cites", f"p{j}") for i in range(12) for j in range(i)]
    >>> facts += [(target, "cited by", source) for source, _, target in facts]
    >>> why = RelationPredictor(epochs=2).fit(Triples.of(facts)).explain("p3", "p1", "cites")
    >>> why.known, why.target_links, why.to_text().splitlines()[0]
    (True, 10, 'p3 – cites → p1')
    """

    source: str
    type: str
    target: str
    score: float
    probability: float
    known: bool
    prior: float
    target_rank: float
    num_targets: int
    source_rank: float
    num_sources: int
    source_links: int
    target_links: int
    base: float
    patterns: tuple[Pattern, ...]
    network: float | None = None
    network_weight: float = 0.0

    def to_text(self, top: int = 8) -> str:
        """The explanation as text.

        Args:
            top: rows of each table.
        """
        lines = [f"{self.source} – {self.type} → {self.target}", *self._facts(), ""]
        if not self.patterns:
            lines.append("No path of one or two links leads from the source to the target.")
        else:
            lines.append("Ways from the source to the target, and how many pairs joined so have a link of the type:")
            for steps, share, count, via in self._rows(top):
                lines.append(f"  {share:>6}  {count:<13} {steps}{f'   via {via}' if via else ''}")
            lines.append(f"  {100 * self.base:5.1f} %  of all candidate pairs of the type, for comparison")
        return "\n".join([*lines, "", NOTE]) + "\n"

    def _facts(self) -> list[str]:
        place = "rank {:g} of {:,}"
        facts = [
            f"probability {self.probability:.3f} {describe_population(self.prior)}",
            f"score {self.score:+.2f}" + (" (the link is known; the factors were trained on it)" if self.known else ""),
            f"the target among all targets: {place.format(self.target_rank, self.num_targets)}; the source among all"
            f" sources: {place.format(self.source_rank, self.num_sources)} (known links left out)",
            f"known links of this type: {self.source_links:,} from the source, {self.target_links:,} to the target",
        ]
        if self.network is not None:
            added = self.network_weight * self.network
            facts.append(
                f"our network's score of the pair, whatever the type: {self.network:+.2f} standard deviations from the"
                f" mean of all pairs, which adds {added:+.2f} to the log-odds against the mean pair at either end"
            )
        return facts

    def _rows(self, top: int) -> list[tuple[str, str, str, str]]:
        rows = []
        for p in self.patterns[:top]:
            via = ", ".join(p.via[:3]) + (f" and {len(p.via) - 3} more" if len(p.via) > 3 else "")
            share = f"{100 * p.share:.1f} %" if p.pairs else "–"
            rows.append(
                (", ".join(p.steps), share, f"{p.linked:,} of {p.pairs:,}" if p.pairs else "no other pair", via)
            )
        return rows

    def as_dict(self) -> dict[str, object]:
        """All numbers as plain values, and `facts` as sentences."""
        patterns = [pattern._asdict() for pattern in self.patterns]
        return asdict(self) | {"patterns": patterns, "facts": self._facts(), "note": NOTE}

    def to_json(self) -> str:
        """The explanation as JSON."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2) + "\n"

    def to_html(self, top: int = 8) -> str:
        """The explanation as a page that fetches and runs nothing.

        Args:
            top: rows of each table.
        """
        title = html_text(f"{self.source} – {self.type} → {self.target}")
        table = html_table("Patterns", ("from source to target", "linked", "pairs", "via"), self._rows(top))
        facts = "".join(f"<li>{html_text(fact)}</li>" for fact in self._facts())
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
            f"<title>{title}</title></head><body><h1>{title}</h1><ul>{facts}</ul>{table}"
            f"<p>{100 * self.base:.1f} % of all candidate pairs of the type are linked.</p><p>{html_text(NOTE)}</p>"
            "</body></html>\n"
        )
