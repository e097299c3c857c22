"""What several places read is computed once: work of compiled chains, counted in XLA's text."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparing import close

import torchlike as torch
from benchmarks.hlo_work import work
from benchmarks.workloads.pieces import LAST, PIECES, Chain
from torchlike._runtime.computed_once import apart, computed_once

#: Computed element by element and dear, or a long chain of what is cheap.
PRODUCERS = ("gelu", "softplus", "silu", "sine", "conv", "depthwise", "max_pool3", "avg_pool3")
#: What reads an element at several places, or several times.
READERS = (
    *("conv", "depthwise", "conv_transpose", "max_pool", "max_pool3", "avg_pool", "avg_pool3"),
    *("lp_pool", "adaptive_pool", "local_response", "unfold", "windows", "bilinear", "bicubic"),
    *("trilinear", "linear_resize", "grid_sample", "reflect", "neighbours", "diff", "cumsum"),
    *("softmax", "log_softmax", "batch_norm", "group_norm", "layer_norm", "standardize"),
    *("logsumexp", "var", "normalize", "bag_mean", "embedding_bag", "index_select", "cumprod"),
)
#: More than the work of its parts that a chain may take.
MORE = 1.3
PAIRS = [
    pytest.param(kind, first, second, id=f"{kind}-{first}-{second}")
    for kind in ("rows", "signal", "image", "volume")
    for first, second in itertools.product(PRODUCERS, READERS)
    if kind in PIECES[first].kinds and kind in PIECES[second].kinds and first not in LAST
]
pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="XLA's fusion on the CPU")
_alone: dict[tuple[str, str], float] = {}


def work_of(kind, *names):
    chain = Chain(kind, names)
    compiled = torch.jit(chain.torch(torch))
    compiled(*map(torch.tensor, chain.arrays(1)))
    program = compiled.latest
    return work(program.forward.lower(*program.inputs.avals).compile().as_text())


def alone(kind, name):
    if (kind, name) not in _alone:
        _alone[kind, name] = work_of(kind, name)
    return _alone[kind, name]


@pytest.mark.sampled(every=20, rest="full")
@pytest.mark.parametrize(("kind", "first", "second"), PAIRS)
def test_a_chain_takes_the_work_of_its_parts(kind, first, second):
    parts = alone(kind, first) + alone(kind, second)
    assert work_of(kind, first, second) <= MORE * parts


@pytest.mark.parametrize(
    ("kind", "names", "once"),
    [
        ("rows", ("softplus", "windows"), True),
        ("image", ("tanh", "lp_pool"), True),
        ("image", ("max_pool", "max_pool"), True),
        ("rows", ("tanh", "sigmoid"), False),
    ],
)
def test_what_is_read_more_than_once_or_in_parts_is_put_apart(kind, names, once):
    chain = Chain(kind, names)
    arrays = chain.arrays(1)
    f = torch.jit(chain.torch(torch))
    f(*map(torch.tensor, arrays))
    program = f.latest
    text = str(program.forward.trace(*program.inputs.avals).jaxpr)
    assert ("while[" in text) == once


@pytest.mark.parametrize(
    ("kind", "names"), [("rows", ("softplus", "windows")), ("image", ("sine", "lp_pool"))]
)
def test_values_and_gradients_are_those_of_eager_code(kind, names):
    chain = Chain(kind, names)
    function = chain.torch(torch)

    def both(x):
        y = function(x)
        return y, *torch.autograd.grad(y.square().sum(), x)

    x = torch.tensor(chain.arrays(1)[0], requires_grad=True)
    for found, expected in zip(torch.jit(both)(x), both(x), strict=True):
        close(found, expected)


def _twice(x):
    y = jnp.tanh(x) * x
    return y[1:] + y[:-1], jnp.sum(y)


def test_a_program_with_nothing_to_gain_is_itself():
    small = jax.make_jaxpr(_twice)(jnp.ones((8, 8), "float32")).jaxpr
    plain = jax.make_jaxpr(lambda x: jnp.tanh(x) * x + 1)(jnp.ones((512, 512), "float32")).jaxpr
    assert computed_once(small) is small
    assert computed_once(plain) is plain


def test_a_chain_of_shifted_sums_is_planned_in_a_moment():
    """Each link doubles the places at which the first value is read: 2 ** 40 of them."""

    def shifted(x):
        for _ in range(40):
            x = x[1:] + x[:-1]
        return x

    before = jax.make_jaxpr(shifted)(jnp.ones((8192, 16), "float32"))
    after = computed_once(before.jaxpr)
    assert 0 < len(after.eqns) - len(before.eqns) < 40


def test_other_equations_read_what_was_put_apart():
    x = np.linspace(-2, 2, 512 * 512, dtype=np.float32).reshape(512, 512)
    before = jax.make_jaxpr(_twice)(x)
    after = computed_once(before.jaxpr)
    assert [e.primitive.name for e in after.eqns].count("custom_jvp_call") == 1
    for found, expected in zip(
        jax.core.eval_jaxpr(after, before.consts, x), _twice(x), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8"])
def test_apart_changes_no_value(dtype):
    x = jnp.arange(6).astype(dtype)
    np.testing.assert_array_equal(jax.jit(apart)(x), x)
    np.testing.assert_array_equal(jax.vmap(apart)(x), x)


@pytest.mark.parametrize("of", [jax.grad, jax.jacfwd])
def test_apart_has_the_gradient_of_the_identity(of):
    assert of(lambda x: apart(x * x))(3.0) == 6.0
