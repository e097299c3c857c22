"""Functions of NaNs that the compiler knows give PyTorch's values, eagerly and compiled."""

import numpy as np
import pytest

import torchlike as tl
from torchlike.compiler import set_first_calls

torch = pytest.importorskip("torch")
NAN, INF = float("nan"), float("inf")

FUNCTIONS = {
    "exp": lambda t, x: x.exp(),
    "exp2": lambda t, x: x.exp2(),
    "expm1": lambda t, x: x.expm1(),
    "sinh": lambda t, x: x.sinh(),
    "cosh": lambda t, x: x.cosh(),
    "tanh": lambda t, x: x.tanh(),
    "sigmoid": lambda t, x: x.sigmoid(),
    "softmax": lambda t, x: t.softmax(x, 0),
    "log_softmax": lambda t, x: t.log_softmax(x, 0),
    "logsumexp": lambda t, x: t.logsumexp(x, 0),
    "logcumsumexp": lambda t, x: t.logcumsumexp(x, 0),
    "logaddexp": lambda t, x: t.logaddexp(x, x),
    "pow": lambda t, x: x**2.5,
    "rpow": lambda t, x: 2.5**x,
    "softplus": lambda t, x: t.nn.functional.softplus(x),
    "elu": lambda t, x: t.nn.functional.elu(x),
    "selu": lambda t, x: t.nn.functional.selu(x),
    "silu": lambda t, x: t.nn.functional.silu(x),
    "gelu": lambda t, x: t.nn.functional.gelu(x, approximate="tanh"),
    "mish": lambda t, x: t.nn.functional.mish(x),
    "log": lambda t, x: x.log(),
    "sin": lambda t, x: x.sin(),
    "lgamma": lambda t, x: x.lgamma(),
    "erfinv": lambda t, x: x.erfinv(),
}
MADE = {
    "product": lambda t, x, flag: x * NAN,
    "sum": lambda t, x, flag: x + NAN,
    "chosen": lambda t, x, flag: t.where(flag, NAN, x),
    "filled": lambda t, x, flag: x.masked_fill(flag, NAN),
    "infinities": lambda t, x, flag: x.masked_fill(flag, INF) - INF,
    "root": lambda t, x, flag: x.masked_fill(flag, -1.0).sqrt(),
    "full": lambda t, x, flag: t.full((5,), NAN),
    "finite": lambda t, x, flag: x * 0.5,
}


def values(t, name, data, run):
    """A function of each of MADE and its gradient, as run's program gives them."""

    def program(x, flag):
        found = [FUNCTIONS[name](t, make(t, x, flag)) for make in MADE.values()]
        sum(y.sum() for y in found[:-1]).backward()
        return found

    x = t.tensor(data, requires_grad=True)
    found = run(program)(x, t.tensor(True))
    return [y.detach().numpy() for y in found], x.grad.numpy()


def compared(name, run):
    data = np.array([-2.0, -0.5, 0.0, 0.5, 2.0], np.float32)
    expected, gradient = values(torch, name, data, lambda f: f)
    found, own = values(tl, name, data, run)
    for make, a, b in zip(MADE, found, expected, strict=True):
        np.testing.assert_allclose(a, b, 1e-5, 1e-6, err_msg=make)
    np.testing.assert_allclose(own, gradient, 1e-5, 1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_eager(name):
    with set_first_calls("numpy"):
        compared(name, lambda f: f)


@pytest.mark.sampled(every=3, rest="full")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_eager_and_compiled(name):
    with set_first_calls("compiled"):
        compared(name, lambda f: f)


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jit(name):
    compared(name, tl.jit)


@pytest.mark.parametrize("name", ["exp", "sinh", "softmax"])
def test_torch_compile(name):
    compared(name, tl.compile)


@pytest.mark.parametrize("name", ["exp", "exp2", "sinh", "cosh", "sigmoid"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_dtypes(name, dtype):
    x = tl.ones(7, dtype=getattr(tl, dtype))
    assert tl.jit(lambda x: FUNCTIONS[name](tl, x * NAN))(x).isnan().all()


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("name", ["exp", "cosh", "softmax"])
def test_vmap_and_loops(name):
    function = FUNCTIONS[name]

    def rows(x):
        return tl.func.vmap(lambda row: function(tl, row * NAN))(x)

    def turns(x):
        return tl.while_loop(
            lambda i, x: i < 2, lambda i, x: (i + 1, function(tl, x + NAN)), (tl.tensor(0), x)
        )[1]

    def chosen(x):
        return tl.cond(x.sum() > 0, lambda x: function(tl, x * NAN), lambda x: x + 0, (x,))

    x = tl.ones(3, 5)
    for program in (rows, turns, chosen, tl.func.grad(lambda x: function(tl, x * NAN).sum())):
        for run in (program, tl.jit(program)):
            assert run(x).isnan().all()
