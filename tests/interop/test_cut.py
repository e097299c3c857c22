"""A tensor that requires grad, given to JAX: a warning, once, where a gradient is lost."""

import linecache
import warnings

import flax.linen
import jax
import jax.numpy as jnp
import optax
import pytest
from flax import nnx

import torchlike as torch
from torchlike._core import errors
from torchlike.interop import cut

LINEAR = torch.nn.Linear(3, 2)
X = torch.rand(4, 3)
Y = LINEAR(X)  # has a history
LEAF = torch.rand(2, requires_grad=True)
PARAMETERS = dict(LINEAR.named_parameters())
DENSE = flax.linen.Dense(2)
VARIABLES = DENSE.init(jax.random.key(0), jnp.ones((1, 2)))
NNX = nnx.Linear(2, 3, rngs=nnx.Rngs(0))


@pytest.fixture(autouse=True)
def nothing_was_said(monkeypatch):
    monkeypatch.setattr(errors, "_given", set())


def heard(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [w for w in found if str(w.message) == cut.WORDS]


def double(x):
    return x * 2


LOST = {
    "a function of jnp": lambda: jnp.sin(Y),
    "asarray": lambda: jnp.asarray(Y),
    "array of a list": lambda: jnp.array([Y, Y]),
    "array + tensor": lambda: jnp.ones(2) + Y,
    "tensor + array": lambda: Y + jnp.ones(2),
    "einsum": lambda: jnp.einsum("ij->i", Y),
    "jax.nn": lambda: jax.nn.relu(Y),
    "jax.jit": lambda: jax.jit(double)(Y),
    "jax.vmap": lambda: jax.vmap(jnp.sin)(Y),
    "tree.map": lambda: jax.tree.map(jnp.sin, {"y": Y}),
    "a view": lambda: jnp.sin(Y[0]),
    "linen": lambda: DENSE.apply(VARIABLES, Y),
    "nnx": lambda: NNX(Y),
    "a leaf": lambda: jnp.sin(LEAF),
    "vmap of a leaf": lambda: jax.vmap(jnp.sin)(LEAF),
    "jax.jit of a leaf": lambda: jax.jit(double)(LEAF),
    "a parameter": lambda: jnp.cosh(LINEAR.bias),
    "asarray of a parameter": lambda: jnp.asarray(LINEAR.bias),
    "while captured": lambda: torch.jit(lambda x: torch.from_jax(jnp.sin(LINEAR(x))))(X),
}


@pytest.mark.parametrize("name", LOST)
def test_a_lost_gradient_is_told_at_the_users_line(name):
    (found,) = heard(LOST[name])
    assert found.category is UserWarning
    assert found.filename == __file__
    assert linecache.getline(__file__, found.lineno).strip().startswith(f'"{name}": lambda')


def under_no_grad():
    with torch.no_grad():
        return jnp.sin(Y)


def through_a_module(module):
    return jnp.sum(jnp.sin(module(X)))


def of_parameters(parameters):
    return jnp.sum(jnp.sin(parameters["bias"].jax()))


def train(parameters):
    gradients = jax.grad(of_parameters)(parameters)
    return jax.tree.map(lambda p, g: p - g, parameters, gradients)


WANTED_OR_NONE = {
    "detached": lambda: jnp.sin(Y.detach()),
    "no_grad": under_no_grad,
    "jax()": lambda: jnp.sin(Y.jax()),
    "from_jax_function": lambda: torch.from_jax_function(jnp.sin)(Y),
    "from_jax_function of flax": lambda: torch.from_jax_function(DENSE.apply)(VARIABLES, Y),
    "no gradient": lambda: jnp.sin(X),
    "jax.grad": lambda: jax.grad(lambda t: jnp.sum(t.jax()))(Y),
    "jax.grad of a leaf": lambda: jax.grad(lambda t: jnp.sum(jnp.sin(t)))(LEAF),
    "jax.vjp": lambda: jax.vjp(double, LEAF),
    "jax.jvp": lambda: jax.jvp(double, (LEAF,), (LEAF,)),
    "jax.hessian": lambda: jax.hessian(lambda t: jnp.sum(jnp.sin(t)))(LEAF),
    "a module": lambda: jax.grad(through_a_module)(LINEAR),
    "a module under jax.jit": lambda: jax.jit(jax.grad(through_a_module))(LINEAR),
    "parameters": lambda: jax.jit(train)(PARAMETERS),
    "tree.map of parameters": lambda: jax.tree.map(jnp.zeros_like, PARAMETERS),
    "tree.map of a leaf": lambda: jax.tree.map(jnp.zeros_like, LEAF),
    "optax": lambda: optax.adamw(1e-3).init(PARAMETERS),
    "ops": lambda: (LINEAR(X) * LEAF).sum().backward(),
    "a compiled step": lambda: torch.jit(lambda x: (LINEAR(x) * LEAF).sum())(X),
    "from_jax_function, captured": lambda: torch.jit(
        lambda x: torch.from_jax_function(jnp.sin)(LINEAR(x))
    )(X),
    "to_jax_function": lambda: jax.grad(torch.to_jax_function(lambda m: m(X).sin().sum()))(LINEAR),
}


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("name", WANTED_OR_NONE)
def test_nothing_is_said_where_no_gradient_is_lost(name):
    assert heard(WANTED_OR_NONE[name]) == []


def test_it_is_said_once():
    assert len(heard(lambda: [jnp.sin(Y), jnp.cos(Y), jnp.sin(LEAF)])) == 1
    assert heard(lambda: jnp.sin(Y)) == []


def test_what_it_advises_has_the_gradient():
    y = torch.rand(3, requires_grad=True)
    torch.from_jax_function(lambda v, x: DENSE.apply(v, x).sum())(VARIABLES, y[:2]).backward()
    expected = VARIABLES["params"]["kernel"].sum(1)
    torch.testing.assert_close(y.grad[:2], torch.from_jax(expected), rtol=1e-5, atol=1e-6)
