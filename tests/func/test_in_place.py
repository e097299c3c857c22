"""Writing to the arguments of a transformed function, and detach() there."""

from __future__ import annotations

from typing import Any

import pytest

import torchlike as torch
from torchlike import func


def vector(*values: float) -> Any:
    return torch.tensor([float(v) for v in values])


def unrecorded(x: Any) -> Any:
    with torch.no_grad():
        x.mul_(3)
    return (x * x).sum()


def through_detach(x: Any) -> Any:
    x.detach().mul_(3)
    return (x * x).sum()


def through_data(x: Any) -> Any:
    x.data.mul_(3)
    return (x * x).sum()


def one_element(x: Any) -> Any:
    x.detach()[0] = 3
    x.data[1].mul_(3)
    return (x * x).sum()


@pytest.mark.parametrize("f", [unrecorded, through_detach, through_data, one_element])
@pytest.mark.parametrize("jitted", [False, True])
def test_reverse_mode(f: Any, jitted: bool) -> None:
    compiled = torch.jit if jitted else (lambda g: g)
    x = vector(1, 2)
    assert compiled(func.grad(f))(x).tolist() == [6, 12]
    assert x.tolist() == [3, 6]
    x = vector(1, 2)
    output, pull = func.vjp(f, x)
    (gradient,) = pull(torch.tensor(1.0))
    assert (output.item(), gradient.tolist(), x.tolist()) == (45, [6, 12], [3, 6])
    x = vector(1, 2)
    assert func.jacrev(f)(x).tolist() == [6, 12]
    assert x.tolist() == [3, 6]


@pytest.mark.parametrize(
    "run",
    [
        func.grad,
        lambda f: func.grad(lambda x: func.grad(f)(x).sum()),
        lambda f: lambda x: func.vjp(f, x),
        lambda f: lambda x: func.vmap(func.grad(f))(x[None]),
        lambda f: lambda x: func.grad(f)(x[:1]),
        lambda f: lambda x: func.grad(f)(x.clone().requires_grad_() * 1),
        lambda f: lambda x: func.grad(lambda x: func.vjp(f, x)[1](torch.tensor(1.0))[0].sum())(x),
    ],
)
@pytest.mark.parametrize("part", [slice(None), 0])
def test_a_variable_is_a_leaf(run: Any, part: Any) -> None:
    def f(x: Any) -> Any:
        x[part].mul_(2)
        return x.sum()

    x = vector(1, 2)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an"):
        run(f)(x)
    assert x.tolist() == [1, 2]


def test_arguments_that_are_not_differentiated() -> None:
    def f(x: Any, w: Any) -> Any:
        w.mul_(x)
        return (x * w).sum()

    x, w = vector(1, 2), vector(5, 5)
    assert func.grad(f)(x, w).tolist() == [10, 20]
    assert w.tolist() == [5, 10]


@pytest.mark.parametrize("jitted", [False, True])
def test_jvp(jitted: bool) -> None:
    def f(x: Any) -> Any:
        x.mul_(2)
        return x**2

    def run(x: Any, t: Any) -> Any:
        return func.jvp(f, (x,), (t,))

    x, t = vector(1, 2), vector(1, 1)
    output, derivative = (torch.jit(run) if jitted else run)(x, t)
    assert (output.tolist(), derivative.tolist()) == ([4, 16], [8, 16])
    assert (x.tolist(), t.tolist()) == ([2, 4], [2, 2])


def test_jvp_of_an_overwritten_argument() -> None:
    x, t = vector(1, 2), vector(1, 1)
    func.jvp(lambda x: x.zero_(), (x,), (t,))
    assert (x.tolist(), t.tolist()) == ([0, 0], [0, 0])


def test_jacfwd() -> None:
    def f(x: Any) -> Any:
        x.mul_(2)
        return x**2

    x = vector(1, 2)
    assert func.jacfwd(f)(x).tolist() == [[8, 0], [0, 16]]
    assert x.tolist() == [2, 4]


def test_vmap() -> None:
    def f(x: Any, y: Any) -> Any:
        x.mul_(2)
        return x * y

    x, y = vector(1, 2), vector(3, 4)
    assert func.vmap(f, (None, 0))(x, y).tolist() == [[6, 12], [8, 16]]
    assert x.tolist() == [2, 4]
    assert func.vmap(f, (0, None))(x, y).tolist() == [[12, 16], [24, 32]]
    assert x.tolist() == [4, 8]


WRITES = {
    "mul_": lambda x, y: x.mul_(y),
    "copy_": lambda x, y: x.copy_(y),
    "fill_": lambda x, y: x.fill_(y.sum()),
    "setitem": lambda x, y: x.__setitem__(0, y.sum()),
    "detached": lambda x, y: x.detach().mul_(y),
    "view": lambda x, y: x.view(1, 2).add_(y),
    "out": lambda x, y: torch.mul(y, 2, out=x),
}


@pytest.mark.parametrize("write", WRITES)
def test_vmap_refuses_to_write_many_into_one(write: str) -> None:
    def f(x: Any, y: Any) -> Any:
        WRITES[write](x, y)
        return x.sum()

    x, y = vector(1, 2), torch.ones(3, 2)
    words = "fallback path doesn't work on out=" if write == "out" else "not being vmapped over"
    with pytest.raises(RuntimeError, match=words):
        func.vmap(f, (None, 0))(x, y)


def test_detach_shares_memory() -> None:
    def f(x: Any) -> Any:
        part = x.detach()
        part.mul_(5)
        part[0] = 7
        return x**2

    x = torch.ones(3, 2)
    assert func.vmap(f)(x).tolist() == [[49, 25]] * 3
    assert x.tolist() == [[7, 5]] * 3
    x = vector(1, 2)
    output, derivative = func.jvp(f, (x,), (vector(1, 1),))
    # The tangent is as it was.
    assert (output.tolist(), derivative.tolist()) == ([49, 100], [14, 20])
    assert x.tolist() == [7, 10]


def test_detach_of_a_view_sees_later_writes() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        last = y[1:].detach()
        y.mul_(3)
        last.add_(1)
        return y, last

    y, last = func.vmap(f)(torch.ones(3, 2))
    assert (y.tolist(), last.tolist()) == ([[6, 7]] * 3, [[7]] * 3)
    (y, last), (dy, dlast) = func.jvp(f, (torch.ones(2),), (torch.ones(2),))
    assert (y.tolist(), last.tolist()) == ([6, 7], [7])
    assert (dy.tolist(), dlast.tolist()) == ([6, 6], [0])


def test_detach_stops_gradients_of_every_level() -> None:
    x = torch.ones(3, 2, requires_grad=True)
    func.vmap(lambda a: (a.detach() * a).sum())(x).sum().backward()
    assert x.grad.tolist() == [[1, 1]] * 3
    found = func.grad(lambda x: func.vmap(lambda a: (a.detach() * a).sum())(x).sum())(x.detach())
    assert found.tolist() == [[1, 1]] * 3


def test_writes_through_detach_keep_the_gradient() -> None:
    def f(a: Any) -> Any:
        y = a * 2
        y.detach().add_(1)
        return y

    x = torch.ones(3, 2, requires_grad=True)
    y = func.vmap(f)(x)
    assert y.tolist() == [[3, 3]] * 3
    y.sum().backward()
    assert x.grad.tolist() == [[2, 2]] * 3


def test_detach_in_place() -> None:
    def f(x: Any) -> Any:
        y = x * 3
        y.detach_()
        return y * x

    x = vector(1, 2)
    assert func.jvp(f, (x,), (vector(1, 1),))[1].tolist() == [3, 6]
    assert func.grad(lambda x: f(x).sum())(x).tolist() == [3, 6]
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        func.vmap(f)(x)


def test_backward_inside() -> None:
    def f(x: Any) -> Any:
        y = (x * x).sum()
        y.backward()
        return y

    for run in (func.grad(f), lambda x: func.vjp(f, x), lambda x: func.linearize(f, x)):
        with pytest.raises(RuntimeError, match="called inside a functorch transform"):
            run(vector(1, 2))
    x = vector(1, 2).requires_grad_()
    f(x)  # and not afterwards
    assert x.grad.tolist() == [2, 4]


@pytest.mark.parametrize("jitted", [False, True])
def test_forward_mode_into_tensors_made_inside(jitted: bool) -> None:
    outside = torch.zeros(3)

    def f(x: Any) -> Any:
        made = torch.zeros(3)
        made[1] = x[1] * 2
        copy = outside.clone()
        first = copy[0]
        copy.add_(x)
        return made * x, first * x

    def run(x: Any) -> Any:
        each = func.vmap(lambda a: func.jvp(f, (a,), (x,)))(x[None])
        return func.jvp(f, (x,), (x,)), func.jacfwd(f)(x), each

    x = vector(1, 2, 3)
    pushed, jacobian, each = (torch.jit(run) if jitted else run)(x)
    (made, first), (d_made, d_first) = pushed
    assert (made.tolist(), first.tolist()) == ([0, 8, 0], [1, 2, 3])
    assert (d_made.tolist(), d_first.tolist()) == ([0, 16, 0], [2, 4, 6])
    assert jacobian[0].tolist() == [[0, 0, 0], [0, 8, 0], [0, 0, 0]]
    assert jacobian[1].tolist() == [[2, 0, 0], [2, 1, 0], [3, 0, 1]]
    assert [t.tolist() for pair in each for t in pair] == [
        [t.tolist()] for pair in pushed for t in pair
    ]
    assert outside.tolist() == [0, 0, 0]


def test_forward_mode_refuses_what_was_made_outside() -> None:
    x, outside = vector(1, 2), torch.zeros(2)
    for view in (lambda: outside, outside.detach, lambda: outside[:]):
        with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
            func.jvp(lambda a, view=view: view().add_(a), (x,), (x,))

    def inner(a: Any) -> Any:
        b = a * 2
        return func.jvp(lambda c: b.detach().add_(c), (x,), (x,))[1]

    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        func.jvp(inner, (x,), (x,))
