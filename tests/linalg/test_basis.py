"""Eigenbasis as a value: taken apart, put together, moved, saved, with the gradients that it has."""

import pytest
import torch

from graphs import batch_of, families
from llwlc import constraints
from llwlc.bases import eigenbasis
from llwlc.errors import InputError
from llwlc.linalg import Eigenbasis, spectral_filter

F64 = torch.float64
FIELDS = ("values", "vectors", "mask", "residual", "ptr")
GRAPHS = list(families().values())


def some(**options) -> Eigenbasis:
    subs = batch_of(GRAPHS)
    return eigenbasis(subs, constraints.neumann(subs), steps=5, **options)


def assert_same(one: Eigenbasis, other: Eigenbasis) -> None:
    for name in FIELDS:
        assert torch.equal(getattr(one, name), getattr(other, name)), name


def test_parts_are_the_bases_of_their_graphs():
    basis = some()
    n = len(GRAPHS)
    assert len(basis) == n
    selections = {
        "slice": (slice(3, 7), range(3, 7)),
        "step": (slice(None, None, -2), range(n)[::-2]),
        "mask": (torch.arange(n) % 3 == 0, range(0, n, 3)),
        "numbers": ([2, 2, -1], [2, 2, n - 1]),
        "tensor": (torch.tensor([5, 0]), [5, 0]),
        "one": (4, [4]),
        "none": ([], []),
    }
    for which, numbers in selections.values():
        taken = basis[which]
        assert taken.num_graphs == len(numbers)
        assert torch.equal(taken.vectors, basis.vectors[basis.rows(which)])
        for b, number in enumerate(numbers):
            rows, own = (slice(*x.tolist()) for x in (basis.ptr[number : number + 2], taken.ptr[b : b + 2]))
            assert torch.equal(taken.vectors[own], basis.vectors[rows])
            assert torch.equal(taken.values[b], basis.values[number])
    assert_same(Eigenbasis.concat(list(basis)), basis)
    assert torch.equal(torch.bincount(basis.graph, minlength=n), basis.ptr.diff())


def test_concat_fills_up_with_dead_columns():
    one, two = some(), batch_of([GRAPHS[0]])
    wide = eigenbasis(two, steps=9)
    both = Eigenbasis.concat([one, wide])
    assert both.steps == 9
    assert_same(both[-1], wide)
    x = torch.randn(len(both.vectors), 2, generator=torch.Generator().manual_seed(0))
    halves = x.split([len(one.vectors), 40])
    apart = [spectral_filter(p, torch.exp, part) for p, part in zip([one, wide], halves, strict=True)]
    torch.testing.assert_close(spectral_filter(both, torch.exp, x), torch.cat(apart))


def test_gradients_survive_selection_concat_and_to():
    subs = batch_of(GRAPHS[:4])
    columns = torch.randn(subs.num_nodes, 2, dtype=F64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    x = torch.randn(subs.num_nodes, 2, dtype=F64, generator=torch.Generator().manual_seed(1))
    basis = eigenbasis(subs, columns, complete=True, dtype=F64)

    def gradient(made: Eigenbasis) -> torch.Tensor:
        y = spectral_filter(made, lambda r: torch.exp(-r), x)
        return torch.autograd.grad(y.square().sum(), columns, retain_graph=True)[0]

    expected = gradient(basis)
    for other in (basis[:], Eigenbasis.concat([basis[:1], basis[1:]]), basis.to("cpu"), basis.to(dtype=F64)):
        torch.testing.assert_close(gradient(other), expected, atol=1e-10, rtol=0)
    assert basis.detach().tape is None


def test_to_takes_either_or_both():
    basis = some()
    assert basis.to(F64).values.dtype == basis.to(dtype=F64).vectors.dtype == basis.to("cpu", F64).residual.dtype == F64
    assert basis.to("cpu").values.dtype == torch.float32
    uniform = Eigenbasis.uniform(basis.values[:2], torch.ones(6, 5), basis.mask[:2], basis.residual[:2])
    assert uniform.to("cpu", F64).slots.at is None


def test_a_basis_survives_saving_and_loading(tmp_path):
    basis, path = some(), tmp_path / "basis.safetensors"
    basis.save(path)
    assert_same(Eigenbasis.load(path), basis)
    empty = basis[[]]
    empty.save(path)
    assert_same(Eigenbasis.load(path), empty)
    assert [p.name for p in tmp_path.iterdir()] == ["basis.safetensors"]


def test_bad_files_are_refused(tmp_path):
    from safetensors.torch import save_file

    path = tmp_path / "basis.safetensors"
    with pytest.raises(InputError, match=r"there is no file"):
        Eigenbasis.load(path)
    path.write_bytes(b"nonsense")
    with pytest.raises(InputError, match="not a safetensors file, or damaged"):
        Eigenbasis.load(path)
    save_file({"weight": torch.ones(2)}, path)
    with pytest.raises(InputError, match="holds weight, not an Eigenbasis"):
        Eigenbasis.load(path)
    tensors = {name: getattr(some(), name) for name in FIELDS}
    for name, wrong in (("mask", tensors["mask"][:2]), ("ptr", tensors["ptr"].flip(0)), ("vectors", torch.ones(3))):
        save_file({**tensors, name: wrong.contiguous()}, path)
        with pytest.raises(InputError, match="do not belong together"):
            Eigenbasis.load(path)
    columns = torch.ones(len(tensors["vectors"]), 1, dtype=F64, requires_grad=True)
    with pytest.raises(InputError, match=r"carries gradients.*basis\.detach\(\)"):
        eigenbasis(batch_of(GRAPHS), columns, complete=True).save(path)


WRONG = {
    "there is no graph 10 in a basis of 10": lambda b: b[10],
    "got 'values'": lambda b: b["values"],
    "one entry for each of the 10 graphs": lambda b: b[torch.ones(3, dtype=torch.bool)],
    "rows and columns are in basis.vectors": lambda b: b[torch.zeros(2, 2).long()],
    "one or more Eigenbasis, got none": lambda b: Eigenbasis.concat([]),
    "one or more Eigenbasis, got Tensor": lambda b: Eigenbasis.concat([b.values]),
    "to be put together differ: torch.float32 on cpu and torch.float64 on cpu": lambda b: Eigenbasis.concat(
        [b, b.to(dtype=F64)]
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_calls_are_told_what_to_give(message):
    with pytest.raises(InputError, match=message):
        WRONG[message](some())
