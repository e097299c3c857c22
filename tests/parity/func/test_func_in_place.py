"""Writes inside the functions of ``torch.func``, and ``detach`` there, against PyTorch: the same
results and the same tensors afterwards, or the same error."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from oracle import compare

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402


def _multiply(x: Any) -> Any:
    x.mul_(2)
    return x**2


def _through_detach(x: Any) -> Any:
    x.detach().mul_(2)
    return x**2


def _through_data(x: Any) -> Any:
    x.data.mul_(2)
    return x**2


def _element(x: Any) -> Any:
    x[0] = 5.0
    return x**2


def _element_of_detached(x: Any) -> Any:
    x.detach()[0] = 5.0
    return x**2


def _detached_and_kept(x: Any) -> Any:
    y = x * 3
    part = y.detach()
    y.add_(1)
    return y * part


def _detached_in_place(x: Any) -> Any:
    y = x * 3
    y.detach_()
    return y * x


def _view(x: Any) -> Any:
    y = x * 1
    y.view(2, 1).mul_(3)
    return y * x


def _zeroed(x: Any) -> Any:
    y = x * 2
    x.detach().zero_()
    return y + x


def _into_made(x: Any) -> Any:
    y = x.new_zeros(2, 2) + 1
    y[0] = x * x
    return y.sum(0) * x


FUNCTIONS = (
    _multiply,
    _through_detach,
    _through_data,
    _element,
    _element_of_detached,
    _detached_and_kept,
    _detached_in_place,
    _view,
    _zeroed,
    _into_made,
)


#: Where torchlike lets go of every level's history, PyTorch of the innermost's: docs/autograd.md.
OF_ONE_LEVEL = {
    ("hessian", _detached_in_place),
    ("grad of grad", _detached_in_place),
    ("vmap of grad", _detached_in_place),
    ("grad of grad", _through_data),
}


def _sum(f: Any) -> Any:
    return lambda x: f(x).sum()


TRANSFORMS: dict[str, Any] = {
    "grad": lambda T, f, x: T.func.grad(_sum(f))(x),
    "vjp": lambda T, f, x: (lambda o, pull: (o, *pull(T.ones(2))))(*T.func.vjp(f, x)),
    "jvp": lambda T, f, x: T.func.jvp(f, (x,), (T.ones(2),)),
    "vmap": lambda T, f, x: T.func.vmap(f)(T.stack([x, x])),
    "vmap, unbatched": lambda T, f, x: T.func.vmap(lambda x, y: f(x) * y, (None, 0))(x, T.ones(3)),
    "jacfwd": lambda T, f, x: T.func.jacfwd(f)(x),
    "jacrev": lambda T, f, x: T.func.jacrev(f)(x),
    "hessian": lambda T, f, x: T.func.hessian(_sum(f))(x),
    "grad of grad": lambda T, f, x: T.func.grad(lambda x: T.func.grad(_sum(f))(x).sum())(x),
    "vmap of grad": lambda T, f, x: T.func.vmap(T.func.grad(_sum(f)))(T.stack([x, x])),
    "grad of vmap": lambda T, f, x: T.func.grad(lambda x: T.func.vmap(f)(T.stack([x, x])).sum())(x),
    "jvp of vmap": lambda T, f, x: T.func.jvp(T.func.vmap(f), (T.ones(2, 2),), (T.ones(2, 2),)),
}


def _run(T: Any, transform: str, f: Any) -> Any:
    x = T.tensor([1.0, 2.0])
    try:
        found = TRANSFORMS[transform](T, f, x)
    except RuntimeError as error:
        return str(error)[:40]
    many = found if isinstance(found, tuple) else (found,)
    return [t.tolist() for t in many], x.tolist()


CASES = [(t, f) for t in TRANSFORMS for f in FUNCTIONS if (t, f) not in OF_ONE_LEVEL]


@pytest.mark.parametrize(("transform", "f"), CASES, ids=lambda x: getattr(x, "__name__", x))
def test_writes(transform: str, f: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's: some ops have no batching rule
        expected = _run(torch, transform, f)
    assert _run(torchlike, transform, f) == expected


def _times_the_sum(x: Any, b: Any) -> Any:
    b.mul_(x.sum())
    return x * b


def _gives_what_it_wrote(x: Any, b: Any) -> Any:
    b.mul_(x.sum())
    return b


def _gives_views_of_it(x: Any, b: Any) -> Any:
    part = b[1:]
    b.copy_(x * x)
    return part * b[:1], b[0]


BESIDE = [_times_the_sum, _gives_what_it_wrote, _gives_views_of_it]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("function", BESIDE)
@pytest.mark.parametrize("transform", ["grad", "grad_and_value", "jacrev"])
def test_writes_to_an_argument_that_is_not_differentiated_by(transform, function, compiled):
    found = []
    for t in (torch, torchlike):
        x, b = t.arange(3.0) + 1, t.ones(3)

        def scalar(x, b, t=t):
            made = function(x, b)
            return sum((m**2).sum() for m in (made if isinstance(made, tuple) else (made,)))

        def run(x, b, t=t, scalar=scalar):
            return getattr(t.func, transform)(function if transform == "jacrev" else scalar)(x, b)

        result = (t.jit(run) if compiled and t is torchlike else run)(x, b)
        leaves = result if isinstance(result, tuple) else (result,)
        found.append([[r.tolist() for r in leaves], b.tolist(), b.requires_grad, b.grad_fn])
    assert found[0] == found[1]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("through", ["detach", "data", "no_grad"])
def test_a_detached_value_does_not_leave_jvp_in_a_captured_tensor(through, compiled):
    for t in (torch, torchlike):
        x, b = t.arange(3.0), t.ones(3)

        def f(v, t=t, b=b):
            if through == "no_grad":
                with t.no_grad():
                    b.mul_(v.detach().sum())
            else:
                (b if through == "detach" else b.data).mul_(v.sum().detach())
            return v * b

        def run(x, t=t, f=f):
            return t.func.jvp(f, (x,), (x,))

        with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
            (t.jit(run) if compiled and t is torchlike else run)(x)
        assert b.tolist() == [1, 1, 1]


@pytest.mark.parametrize("dims", [(0, 0), (1, 0), (1, 2)], ids=str)
def test_a_result_that_is_an_argument_shares_its_memory(dims):
    def f(t):
        given = t.arange(24.0).reshape(2, 3, 4)
        same, more = t.vmap(lambda x: (x, x + 1), dims[0], dims[1])(given)
        given.mul_(2)
        seen = same.clone()
        same.add_(1)
        return seen, more, given, same.stride(), same._is_view()

    compare(f, jitted=True)


def test_an_argument_that_is_written_and_given_back():
    def f(t):
        leaf = t.arange(6.0).reshape(2, 3).requires_grad_()
        given = leaf * 2
        same = t.vmap(lambda x: x.mul_(3))(given)
        same.sum().backward()
        return same.detach(), given.detach(), leaf.grad

    compare(f, jitted=True)
