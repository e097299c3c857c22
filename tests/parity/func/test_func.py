"""torch.func against PyTorch's: the same functions of functions, eagerly and compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402
from torchlike._runtime import trees  # noqa: E402

_RNG = np.random.default_rng(0)


def _random(*shape: int) -> np.ndarray:
    return _RNG.standard_normal(shape).astype(np.float32)


X, W, V = _random(4, 3), _random(3, 3), _random(3)
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}


def case(*arrays: Any) -> Callable[..., Any]:
    """Register ``fn(T, F, *tensors)``, T being PyTorch or torchlike and F its torch.func."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        CASES[fn.__name__.strip("_")] = fn, arrays
        return fn

    return register


# -- gradients -------------------------------------------------------------------------------------


@case(X)
def _grad(T, F, x):
    return F.grad(lambda a: (a.sin() * a).sum())(x)


@case(np.float32(0.3))
def _grad_of_grad(T, F, x):
    return F.grad(F.grad(lambda a: a.sin() * a))(x)


@case(np.float32(0.3))
def _inner_grad_of_an_outer_variable(T, F, x):
    return F.grad(lambda a: F.grad(lambda b: a * a * b * b)(a) * a)(x)


@case(X)
def _has_aux(T, F, x):
    return F.grad_and_value(lambda a: (a.sum(), a * 2), has_aux=True)(x)


@case(X, W)
def _argnums(T, F, x, w):
    return F.grad(lambda a, b: (a @ b).sin().sum(), argnums=(0, 1))(x, w)


@case(X)
def _a_tree(T, F, x):
    return F.grad(lambda d: (d["b"] * d["a"][0]).sum())({"b": x, "a": [x * 2, x]})


@case(X)
def _writes_inside(T, F, x):
    def f(a):
        y = a * 2
        y[0].mul_(3)
        y[1] = a[2] * a[3]
        return y.sum()

    return F.grad(f)(x)


@case(V, W)
def _vjp(T, F, v, w):
    out, pull = F.vjp(lambda a: (w @ a).relu().softmax(0), v)
    return out, pull(w[0]), pull(w[1])


@case(V, W)
def _vjp_of_two(T, F, v, w):
    out, pull = F.vjp(lambda a, b: {"p": b @ a, "s": a.sum()}, v, w)
    return out, pull({"p": v, "s": v[0]})


@case(V, W)
def _jacrev(T, F, v, w):
    return F.jacrev(lambda a: (w @ a).tanh())(v)


@case(V, W)
def _jacrev_trees(T, F, v, w):
    return F.jacrev(lambda a, b: {"y": b @ a, "z": a.sum() * b}, argnums=(0, 1))(v, w)


@case(V, W)
def _jacrev_in_chunks(T, F, v, w):
    return F.jacrev(lambda a: (w @ a).tanh(), chunk_size=2)(v)


# -- tangents --------------------------------------------------------------------------------------


@case(V, W)
def _jvp(T, F, v, w):
    return F.jvp(lambda a: (w @ a).relu().softmax(0), (v,), (w[0],))


@case(X)
def _jvp_of_scans_and_choices(T, F, x):
    return F.jvp(lambda a: a.cumsum(0).max(0)[0], (x,), (x * 2,))


@case(X)
def _jvp_with_aux(T, F, x):
    return F.jvp(lambda a: (a.sin(), a * 2), (x,), (x,), has_aux=True)


@case(V, W)
def _jacfwd(T, F, v, w):
    return F.jacfwd(lambda a: (w @ a).tanh())(v)


@case(V, W)
def _jacfwd_trees(T, F, v, w):
    return F.jacfwd(lambda a, b: {"y": b @ a, "z": a.sum() * b}, argnums=(0, 1))(v, w)


@case(V, W)
def _hessian(T, F, v, w):
    return F.hessian(lambda a: (w @ a).tanh().sum())(v)


@case(V, W)
def _reverse_over_reverse(T, F, v, w):
    return F.jacrev(F.jacrev(lambda a: (w @ a).tanh().sum()))(v)


@case(V, W)
def _forward_over_forward(T, F, v, w):
    return F.jacfwd(F.jacfwd(lambda a: (w @ a).tanh().sum()))(v)


@case(V, W)
def _reverse_over_forward(T, F, v, w):
    return F.jacrev(F.jacfwd(lambda a: (w @ a).tanh().sum()))(v)


@case(V, W)
def _grad_of_jvp(T, F, v, w):
    return F.grad(lambda a: F.jvp(lambda b: (w @ b).tanh(), (a,), (a,))[1].sum())(v)


@case(V, W)
def _jvp_of_grad(T, F, v, w):
    return F.jvp(F.grad(lambda a: (w @ a).tanh().sum()), (v,), (w[0],))


# -- vmap ------------------------------------------------------------------------------------------


@case(X, W)
def _per_sample_gradients(T, F, x, w):
    return F.vmap(F.grad(lambda w, a: (w @ a).tanh().sum()), in_dims=(None, 0))(w, x)


@case(X, W)
def _grad_through_vmap(T, F, x, w):
    return F.grad(lambda w: F.vmap(lambda a: (w @ a).tanh().sum())(x).sum())(w)


@case(X, W)
def _grad_vmap_grad(T, F, x, w):
    return F.grad(lambda w: F.vmap(F.grad(lambda a: (w @ a).tanh().sum()))(x).sum())(w)


@case(X, W)
def _vmap_hessian(T, F, x, w):
    return F.vmap(F.hessian(lambda a: (w @ a).tanh().sum()))(x)


@case(X)
def _vmap_of_vmap(T, F, x):
    return F.vmap(F.vmap(lambda a: a * 2, in_dims=0), in_dims=1, out_dims=1)(x)


@case(X, W)
def _dims(T, F, x, w):
    return F.vmap(lambda a, b: a.sum() * b, in_dims=(1, 0), out_dims=1)(x, w)


@case(X)
def _a_tuple_of_one_for_one_output(T, F, x):
    return F.vmap(lambda a: a * 2, out_dims=(1,))(x), F.vmap(lambda a: (a,), out_dims=(1,))(x)


@case(X)
def _dims_in_trees(T, F, x):
    f = F.vmap(
        lambda d, c: {"o": d["a"] + d["b"], "p": c},
        in_dims=({"a": 0, "b": None}, 1),
        out_dims={"o": 0, "p": 1},
    )
    return f({"a": x, "b": x[0]}, x.t())


@case(X)
def _chunks(T, F, x):
    return F.vmap(lambda a: a * 2, chunk_size=3)(x)


@case(X)
def _write_to_the_argument(T, F, x):
    y = x.clone()
    return F.vmap(lambda a: a.mul_(2)[1:])(y), y


@case(X)
def _write_to_zeros_like(T, F, x):
    def f(a):
        z = T.zeros_like(a)
        z[:1] = a[1:2]
        return z

    return F.vmap(f)(x)


@case(X)
def _write_to_new_zeros(T, F, x):
    def f(a):
        z = a.new_zeros(5)
        z[0] = a[0]
        return z

    return F.vmap(f)(x)


@case(X)
def _an_index_for_each(T, F, x):
    i = T.tensor([0, 1, 2, 0])
    return F.vmap(lambda a, k: a[k])(x, i), F.vmap(lambda k: x[k])(i)


@case(X)
def _index_ops(T, F, x):
    i = T.tensor([[0], [1], [2], [0]])
    return F.vmap(lambda a, k: (a.gather(0, k), a.scatter(0, k, 5.0), a.take(k)))(x, i)


@case(X)
def _order_ops(T, F, x):
    return F.vmap(lambda a: (a.sort().values, a.max(0).values, a.topk(2).indices))(x)


@case(X)
def _einsum(T, F, x):
    return F.vmap(lambda a: T.einsum("i,j->ij", a, a))(x)


@case(_random(3, 2, 2))
def _decompositions(T, F, x):
    return F.vmap(lambda a: (T.linalg.inv(a), T.linalg.solve(a, a[0]), T.linalg.det(a)))(x)


@case(X)
def _losses(T, F, x):
    y = T.tensor([0, 1, 2, 0])
    return F.vmap(T.nn.functional.cross_entropy)(x, y)


@case(X)
def _the_same_numbers_for_all(T, F, x):
    T.manual_seed(0)
    return F.vmap(lambda a: a + T.rand(3), randomness="same")(x)


# -- modules ---------------------------------------------------------------------------------------


def _net(T):
    T.manual_seed(0)
    return T.nn.Sequential(T.nn.Linear(3, 4), T.nn.Tanh(), T.nn.Linear(4, 2))


@case(X)
def _functional_call(T, F, x):
    m = _net(T)
    p = dict(m.named_parameters())

    def loss(p, x):
        return F.functional_call(m, p, (x,)).square().sum()

    return F.vmap(F.grad(loss), in_dims=(None, 0))(p, x), F.grad(loss)(p, x)


@case(X)
def _ensemble(T, F, x):
    nets = [_net(T) for _ in range(3)]
    p, b = F.stack_module_state(nets)
    out = F.vmap(lambda p, b, x: F.functional_call(nets[0], (p, b), (x,)), (0, 0, None))(p, b, x)
    return out, T.autograd.grad(out.square().sum(), tuple(p.values()))


@case(_random(3, 1, 2, 5, 5), _random(4, 2, 3, 3))
def _convolution(T, F, x, w):
    f = F.grad(lambda w, x: T.nn.functional.conv2d(x, w).sin().sum())
    return F.vmap(f, in_dims=(None, 0))(w, x)


@case(_random(3, 4, 3))
def _batch_norm_without_statistics(T, F, x):
    return F.vmap(F.replace_all_batch_norm_modules_(T.nn.BatchNorm1d(3)))(x)


@case(_random(3, 2, 4, 4))
def _attention(T, F, x):
    return F.vmap(lambda q: T.nn.functional.scaled_dot_product_attention(q, q, q))(x)


# -- with autograd outside -------------------------------------------------------------------------


@case(X)
def _backward_through_vmap_grad(T, F, x):
    w = T.ones(3, requires_grad=True)
    g = F.vmap(F.grad(lambda a: (a * w).sin().sum()))(x)
    return g, T.autograd.grad(g.sum(), w)


@case(X)
def _backward_to_the_arguments(T, F, x):
    x = x.clone().requires_grad_()
    g = F.vmap(F.grad(lambda a: (a * a).sin().sum()))(x)
    return T.autograd.grad(g.sum(), x)


@case(X)
def _backward_through_jvp(T, F, x):
    x = x.clone().requires_grad_()
    y, t = F.jvp(lambda a: (a * a).sin(), (x,), (T.ones(4, 3),))
    return y, T.autograd.grad(t.sum(), x)


def _numbers(result: Any) -> list[np.ndarray]:
    return [t.detach().numpy() for t in trees.leaves(result)]


@pytest.mark.sampled(every=8, of=lambda p: p["compiled"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_same_as_pytorch(name: str, compiled: bool) -> None:
    fn, arrays = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own: its jvp uses torch.jit, its vmap loops
        theirs = _numbers(fn(torch, torch.func, *map(torch.tensor, arrays)))

    def ours(*tensors: Any) -> Any:
        return fn(torchlike, torchlike.func, *tensors)

    f = torchlike.jit(ours) if compiled else ours
    found = _numbers(f(*map(torchlike.tensor, arrays)))
    assert len(found) == len(theirs)
    for a, b in zip(found, theirs, strict=True):
        assert a.shape == b.shape
        # Relative to the largest: sums that cancel have errors of the size of their parts.
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6 * max(1.0, float(abs(b).max())))
