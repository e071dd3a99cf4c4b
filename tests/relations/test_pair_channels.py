"""Types that already join a pair and attributes of typed links, as channels: against loops, no leak, some gain."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from llwlc._cli.app import app
from llwlc.errors import InputError, RunFolderError
from llwlc.relations import RelationPredictor, Triples, read_triples
from llwlc.relations._factors import ComplexFactors
from llwlc.relations._pair_channels import SHRINK, TypedScorer, fit_weights


def exclusive(seed=0, num_nodes=40):
    """Every pair has one of four types, drawn by groups of source and target but for a tenth: a pair that has another
    type already has none of this one, which factors know only in part.
    """
    rng = np.random.default_rng(seed)
    group, table = rng.integers(0, 5, num_nodes), rng.integers(0, 4, (5, 5))
    facts = []
    for u in range(num_nodes):
        for v in range(num_nodes):
            if u != v and rng.random() < 0.9:
                kind = table[group[u], group[v]] if rng.random() < 0.7 else rng.integers(0, 4)
                facts.append((f"n{u:02}", f"type {kind}", f"n{v:02}"))
    return Triples.of(facts)


def random_scorer(attributes=0):
    rng = np.random.default_rng(1)
    triples = Triples.of([(f"n{a}", f"t{r}", f"n{b}") for a, r, b in rng.integers(0, [8, 3, 8], (60, 3))])
    values = rng.random((len(triples), attributes)) if attributes else None
    triples = replace(triples, attributes=values, attribute_names=("x", "y")[:attributes])
    factors = ComplexFactors(torch.randn(8, 6).double(), torch.randn(6, 6).double())
    return TypedScorer(factors, triples)


def test_channels_are_those_of_a_loop():
    scorer = random_scorer(attributes=2)
    rows, n, kinds = scorer.known.rows.tolist(), 8, 3
    known = {tuple(row) for row in rows}
    values = scorer.known.attributes
    values = (values - values.mean(0)) / values.std(0)

    def joins(step, u, v):
        return (u, step, v) in known if step < kinds else (v, step - kinds, u) in known

    def says(step, kind):
        pairs = [(u, v) for u in range(n) for v in range(n) if joins(step, u, v)]
        share = sum(row[1] == kind for row in rows) / n**2
        return np.log((sum((u, kind, v) in known for u, v in pairs) + SHRINK * share) / ((len(pairs) + SHRINK) * share))

    means = [
        np.mean([x for row, x in zip(rows, values, strict=True) for end in (row[0], row[2]) if end == v], 0)
        for v in range(n)
    ]
    for forward in (True, False):
        for node, kind in ((0, 0), (3, 2), (5, 1)):
            scores = scorer.factors.targets(np.array([node]), np.array([kind])).numpy()
            found = scorer.channels(np.array([node]), np.array([kind]), scores, forward=forward)[0]
            for other in range(n):
                u, v = (node, other) if forward else (other, node)
                steps = [s for s in range(2 * kinds) if joins(s, u, v) and s != kind]
                ratios = [says(s, kind) for s in steps]
                between = [values[rows.index([u, s, v] if s < kinds else [v, s - kinds, u])] for s in steps]
                expected = [max(ratios, default=0), min(ratios, default=0), np.log1p(len(steps))]
                for at in (0, 1):
                    expected += [
                        abs(means[node][at] - means[other][at]),
                        np.mean([x[at] for x in between]) if between else 0,
                    ]
                np.testing.assert_allclose(found[other, 1:], expected, atol=1e-9)


def test_a_link_of_the_type_itself_is_no_channel():
    """What is known of the asked link must not tell it: channels are those without it, up to what types say."""
    scorer = random_scorer()
    row = scorer.known.rows[7]
    without = TypedScorer(scorer.factors, scorer.known.select(np.arange(len(scorer.known)) != 7))
    node, kind, other = (row[at : at + 1] for at in range(3))
    scores = scorer.factors.targets(node, kind).numpy()
    one, two = (s.channels(node, kind, scores, forward=True)[0, int(other[0])] for s in (scorer, without))
    assert one[3] == two[3]
    assert (one[1] == 0) == (two[1] == 0)


def test_joining_types_help_where_types_exclude_each_other():
    model = RelationPredictor(epochs=20).fit(exclusive())
    assert model.weights_ is not None
    assert model.metrics_["mrr"] > model.factor_metrics_["mrr"] + 0.03
    joined = {(h, t) for h, _, t in model.triples_.rows.tolist()}
    best = model.triples_.find([link[:3] for link in model.recommend("type 1", top=30)])
    assert np.mean([(h, t) in joined for h, _, t in best.tolist()]) < 0.1


def test_channels_are_left_out_where_they_say_nothing():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, 40)
    pairs = [(u, v) for u in range(40) for v in range(40) if group[u] == group[v] and u != v]
    facts = [(f"n{u}", f"type {rng.integers(2)}", f"n{v}") for u, v in pairs]
    few = Triples.of(facts[:100])
    assert RelationPredictor(epochs=2).fit(few).weights_ is None
    scorer = random_scorer()
    assert fit_weights(scorer, scorer.known.rows[:20], scorer.known.rows, seed=0) is None


def test_attributes_of_typed_links_are_channels_and_do_not_leak(tmp_path):
    rng = np.random.default_rng(3)
    heat = rng.random(250)
    lines, count = [], 0
    for u in range(250):
        for v in range(u + 1, 250):
            if abs(heat[u] - heat[v]) < 0.03 and rng.random() < 0.3:
                lines.append(f"n{u},{'ab'[count % 2]},n{v},{(heat[u] + heat[v]) / 2 + rng.normal(0, 0.02):.4f}")
                count += 1
    file, run = tmp_path / "typed.csv", tmp_path / "run"
    file.write_text("source,type,target,heat\n" + "\n".join(lines) + "\n")
    triples = read_triples(file, link_attributes=["heat"])
    assert triples.attribute_names == ("heat",)
    assert triples.unused == ()
    model = RelationPredictor(epochs=15).fit(triples)
    plain = RelationPredictor(epochs=15).fit(read_triples(file))
    assert model.metrics_["mrr"] > plain.metrics_["mrr"] + 0.02
    # the attributes of held-out links are not read: with others, everything measured is the same
    order = np.random.default_rng([0, 41]).permutation(len(triples))
    held, changed = round(0.1 * len(triples)), triples.attributes.copy()
    changed[order[: 2 * held]] = 1e3
    other = replace(triples, attributes=changed)
    assert RelationPredictor(epochs=15).fit(other).metrics_ == model.metrics_
    model.save(run)
    again = RelationPredictor.load(run)
    assert again.recommend(top=5) == model.recommend(top=5)
    shell = CliRunner()
    added = tmp_path / "added.csv"
    added.write_text("source,type,target,heat\nnew,a,n1,0.5\n")
    done = shell.invoke(app, ["recommend", str(run), "--add", str(added), "--node", "new", "--top", "2"])
    assert done.exit_code == 0, done.output
    with pytest.raises(InputError, match="fitted with the link attributes heat, and the added links have none"):
        model.with_links(Triples.of([("new", "a", "n1")]))
    about = run / "relations.json"
    about.write_text(about.read_text().replace('"attributes": ["heat"]', '"attributes": []'))
    with pytest.raises(RunFolderError, match="cannot be right"):
        RelationPredictor.load(run)
