"""LearnedConstraints: gradients, invariances, and the network that makes its own bases."""

import copy

import pytest
import torch

from llwlc import datasets
from llwlc.bases._config import BasisConfig
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.bases._encoded_links import EncodedSubgraphs, encode_pairs
from llwlc.constraints import by_name, neumann
from llwlc.errors import InputError
from llwlc.linalg._filter import spectral_filter
from llwlc.linalg._health import health
from llwlc.models._llwlc.scoring import Scorer
from llwlc.nn import LearnedConstraints, NetConfig
from llwlc.nn._learned_constraints import LearnedConstraintNet, build_network
from llwlc.subgraphs._batch import select
from llwlc.subgraphs._extraction import extract
from llwlc.training._node_features import NodeFeatures

SHAPE = NetConfig(pair_inputs=False, feature_dropout=0.0)
BASIS = BasisConfig(constraints="learned", steps=6)


def make_net(basis: BasisConfig = BASIS, config: NetConfig = SHAPE) -> LearnedConstraintNet:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return build_network(None, config, basis)


def links(count: int = 12, basis: BasisConfig = BASIS) -> EncodedSubgraphs:
    cora = datasets.load("cora")
    return encode_pairs(cora, cora.edges[:: len(cora.edges) // count][:count], basis, about="")


def test_every_weight_of_the_constraints_gets_a_gradient():
    net, data = make_net().train(), links()
    index = torch.arange(len(data))
    net(data.batch(index, data.draws(index, seed=0, epoch=0))).square().sum().backward()
    for parameter in net.constraints.parameters():
        assert parameter.grad.isfinite().all()
        assert parameter.grad.abs().max() > 0


def test_gradients_are_those_of_small_changes_where_the_basis_is_complete():
    subs = extract(datasets.load("cora"), datasets.load("cora").edges[:3], hops=1)
    learned = LearnedConstraints(2, 2).double()
    states, x = torch.stack([subs.dist_u, subs.dist_v], 1).double(), torch.ones(subs.num_nodes, 1).double()

    def smoothed(*parameters):
        columns = torch.func.functional_call(learned, dict(zip(names, parameters, strict=True)), (states,))
        basis = eigenbasis(subs, columns, complete=True, dtype=torch.float64)
        return spectral_filter(basis, lambda r: torch.exp(-r), x).square().sum()

    names, values = zip(*learned.named_parameters(), strict=True)
    assert torch.autograd.gradcheck(smoothed, [v.detach().requires_grad_() for v in values], fast_mode=True)


@pytest.mark.parametrize("constraints", ["learned", "neumann+learned"])
def test_bases_lie_in_the_null_space_of_fixed_and_learned_columns(constraints):
    basis = BasisConfig(constraints=constraints, steps=6)
    net, data = make_net(basis).double(), links(basis=basis)
    batch = data.batch(torch.arange(len(data))).to("cpu", torch.float64)
    with torch.no_grad():
        cons = net.columns(batch)
        assert health(net.solve(batch, torch.float64), cons).ok
    assert cons.count == (4 if constraints == "neumann+learned" else 2)
    if cons.count == 4:
        assert torch.equal(cons.columns[:, :2], neumann(batch.subs).columns)


def test_scores_are_those_of_torch_and_depend_on_neither_batch_nor_order():
    net, data = make_net().eval(), links()
    scorer = Scorer(net, NodeFeatures())
    found = scorer(data)
    specification = copy.deepcopy(net).double()
    with torch.no_grad():
        index = torch.arange(len(data))
        torch.testing.assert_close(
            found, specification(data.batch(index).to("cpu", torch.float64)), atol=2e-5, rtol=1e-5
        )
    cora = datasets.load("cora")
    pairs = cora.edges[:: len(cora.edges) // 12][:12]
    turned = torch.cat([*scorer.pairs(cora, pairs.flip(1).flip(0), BASIS)])
    torch.testing.assert_close(turned.flip(0), found, atol=2e-5, rtol=1e-5)
    alone = torch.cat([s for pair in pairs for s in scorer.pairs(cora, pair[None], BASIS)])
    torch.testing.assert_close(alone, found, atol=2e-5, rtol=1e-5)


def test_a_selection_of_subgraphs_is_that_of_the_pairs():
    cora = datasets.load("cora")
    pairs = cora.edges[:6]
    whole, few = extract(cora, pairs), extract(cora, pairs[[4, 1]])
    found = select(whole, torch.tensor([4, 1]))
    for name in ("ptr", "node", "row", "col", "u", "v", "hop", "dist_u", "dist_v"):
        assert torch.equal(getattr(found, name), getattr(few, name))


def test_what_cannot_be_is_refused_by_name():
    cora = datasets.load("cora")
    with pytest.raises(InputError, match="part of a fitted network"):
        by_name(extract(cora, cora.edges[:2]), "learned")
    for constraints, redraw in (("learned+vertex_deleted", None), ("learned+learned", None)):
        with pytest.raises(InputError, match="only with others that are fixed"):
            BasisConfig(constraints=constraints, redraw=redraw)
    with pytest.raises(InputError, match="only with others that are fixed"):
        BasisConfig(constraints="learned", start="random", redraw=True)
    for wrong in ({"in_channels": 0}, {"count": 0}, {"hidden_channels": 1.5}, {"ridge": -1.0}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} must be"):
            LearnedConstraints(**({"in_channels": 2} | wrong))


def test_the_module_prints_and_resets_as_modules_of_pyg_do():
    learned = LearnedConstraints(4, 3, ridge=0.1)
    assert str(learned) == "LearnedConstraints(4, 3, ridge=0.1)"
    before = learned.layers[0].weight.clone()
    learned.reset_parameters()
    assert not torch.equal(learned.layers[0].weight, before)
