"""PyTorch's old signatures, with numbers before the tensors, eager and jitted."""

import warnings

import numpy as np
import pytest
from oracle import compare, source

import torchlike

torch = pytest.importorskip("torch")

CALLS = {
    "addcmul": lambda t, x, y: x.addcmul(3, y, y),
    "addcmul_": lambda t, x, y: x.clone().addcmul_(3, y, y),
    "addcdiv_": lambda t, x, y: x.clone().addcdiv_(-0.5, x, y),
    "torch.addcdiv": lambda t, x, y: t.addcdiv(x, 3, x, y),
    "torch.addmm": lambda t, x, y: t.addmm(2, x, 3, y, y),
    "torch.addmm beta": lambda t, x, y: t.addmm(2, x, y, y),
    "addmm": lambda t, x, y: x.addmm(2, 3, y, y),
    "addmm beta": lambda t, x, y: x.addmm(3, y, y),
    "addmm_": lambda t, x, y: x.clone().addmm_(2, 3, y, y),
    "addmv": lambda t, x, y: x[0].addmv(2, 3, y, y[0]),
    "torch.addmv": lambda t, x, y: t.addmv(2, x[0], y, y[0]),
    "addr": lambda t, x, y: x.addr(2, 3, y[0], y[0]),
    "baddbmm": lambda t, x, y: x[None].baddbmm(2, 3, y[None], y[None]),
    "addbmm": lambda t, x, y: x.addbmm(2, 3, y[None], y[None]),
    "today's": lambda t, x, y: t.addmm(x, y, y, beta=2, alpha=3) + t.addcmul(x, y, y, value=2),
}


def run(t, call):
    r = np.random.default_rng(0)
    x, y = (t.tensor(r.uniform(1, 2, (3, 3)).astype("f"), requires_grad=True) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says once that a signature is old
        out = call(t, x, y)
    return out, *t.autograd.grad(out.sum(), (x, y))


@pytest.mark.parametrize("name", CALLS)
def test_numbers_first(name):
    theirs = run(torch, CALLS[name])
    jitted = torchlike.jit(lambda: run(torchlike, CALLS[name]))()
    for a, b, c in zip(theirs, run(torchlike, CALLS[name]), jitted, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5)
        np.testing.assert_allclose(a.detach().numpy(), c.detach().numpy(), rtol=1e-5)


def test_too_many_numbers_are_refused():
    for t in (torch, torchlike):
        x = t.ones(2, 2)
        for wrong in ((1, 2, x, x), (1, x), (1, 2, 3, x, x, x)):
            with pytest.raises(TypeError):
                x.addcmul(*wrong)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: t.randint_like(x, high=9),
        lambda t, x: t.randint_like(x, 9),
        lambda t, x: t.randint_like(x, low=2, high=9),
        lambda t, x: t.randint(high=9, size=(2, 2)),
        lambda t, x: t.randint(3, 9, (2, 2)),
        lambda t, x: t.randint(9, (2, 2)),
        lambda t, x: t.randint(low=3, high=9, size=(2, 2)),
    ],
)
def test_ends_of_random_integers_by_name(call):
    drawn = []
    for t in (torch, torchlike):
        t.manual_seed(0)
        drawn.append(call(t, t.ones(2, 2)).tolist())
    assert drawn[0] == drawn[1]


def test_no_end_of_random_integers():
    for t in (torch, torchlike):
        with pytest.raises(TypeError):
            t.randint_like(t.ones(2))


def test_names_of_the_size_of_pieces():
    for t in (torch, torchlike):
        x = t.arange(6)
        pieces = [
            x.split(split_size=2),
            t.split(x, split_size_or_sections=2),
            t.split(tensor=x, split_size_or_sections=2, dim=-1),
        ]
        assert [[p.tolist() for p in made] for made in pieces] == [[[0, 1], [2, 3], [4, 5]]] * 3
        for wrong in (
            lambda x=x: x.split(split_size_or_sections=2),
            lambda x=x, t=t: t.split(x, split_size=2),
        ):
            with pytest.raises(TypeError):
                wrong()


CONSTRUCTORS = """
x = t.ones(2, requires_grad=True); y = t.Tensor(x); (y * 3).sum().backward(); (y, y.is_leaf, x.grad)
x = t.ones(2, requires_grad=True); y = t.FloatTensor(x); (y * 3).sum().backward(); x.grad
x = t.ones(2, requires_grad=True) * 2; x.new(x)
x = t.ones(2); t.FloatTensor(x)[0] = 3; t.Tensor(x)[1] = 4; x
S = type('S', (t.Tensor,), {}); x = t.ones(2, requires_grad=True); y = S(x); (y.requires_grad, y.is_leaf)
t.Tensor(t.ones(2), device='cpu')
t.ones(2).new(t.ones(2), device='cpu')
t.ones(2).new(t.ones(2, dtype=t.int32))
x = [0]; x.append(x); t.tensor(x)
x = [0]; x.append(x); t.tensor([[1, 2], x])
""".strip().splitlines()  # noqa: E501


@pytest.mark.parametrize("line", CONSTRUCTORS)
def test_of_the_old_constructors(line):
    function = source(line)
    compare(function, exact=True, words=0)


def test_a_list_that_holds_itself_further_down_is_refused():
    inner = []
    inner.append([0, inner])
    with pytest.raises(ValueError, match="too many dimensions"):
        torchlike.tensor([1, inner])


def test_an_old_constructor_in_jit():
    fn = torchlike.jit(lambda x: torchlike.autograd.grad((torchlike.Tensor(x) ** 2).sum(), x)[0])
    assert fn(torchlike.ones(2, requires_grad=True)).tolist() == [2, 2]
