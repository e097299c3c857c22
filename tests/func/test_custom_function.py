"""Custom Functions inside vmap, grad and jvp."""

from __future__ import annotations

import functools
import gc
import weakref
from typing import Any, ClassVar

import comparing
import pytest

import torchlike as torch
from torchlike import func

X = torch.tensor([[1.0, 2.0], [3.0, -4.0], [5.0, 6.0]])


class Tripled(torch.autograd.Function):
    """``2 * a`` whose backward says ``3 * a``: so it shows which rule was used."""

    @staticmethod
    def forward(a: Any) -> Any:
        return a * 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3 * ctx.saved_tensors[0]


class Generated(Tripled):
    generate_vmap_rule = True


class WithRule(Tripled):
    @staticmethod
    def vmap(info: Any, in_dims: Any, a: Any) -> Any:
        assert info == (3, "error")
        assert in_dims == (0,)
        return WithRule.apply(a), 0


class WithJvp(Tripled):
    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return t * 5 * ctx.saved_tensors[0]


class OldStyle(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any) -> Any:
        return a * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3


close = functools.partial(comparing.close, rtol=1e-6)


@pytest.mark.parametrize("f", [Generated, WithRule])
def test_mapped(f: Any) -> None:
    close(func.vmap(f.apply)(X), X * 2)
    close(func.vmap(func.grad(lambda a: f.apply(a).sum()))(X), 3 * X)
    close(func.grad(lambda x: func.vmap(f.apply)(x).sum())(X), 3 * X)


@pytest.mark.parametrize("f", [Generated, WithRule])
def test_backward_outside_of_vmap(f: Any) -> None:
    x = X.clone().requires_grad_()
    func.vmap(f.apply)(x).sum().backward()
    close(x.grad, 3 * X)
    x = X.clone().requires_grad_()
    func.vmap(func.grad(lambda a: f.apply(a).sum()))(x).sum().backward()
    close(x.grad, torch.full_like(X, 3.0))


class Scaled(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(a: Any, scale: Any, power: int) -> Any:
        return a**power * scale, a.sum()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        a, scale, ctx.power = inputs
        ctx.save_for_backward(a, scale)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, g: Any, _: Any) -> Any:
        a, scale = ctx.saved_tensors
        return g * ctx.power * a ** (ctx.power - 1) * scale, (g * a**ctx.power).sum(), None


def test_what_all_examples_share_gets_the_sum() -> None:
    def total(x: Any, scale: Any) -> Any:
        y, s = func.vmap(lambda a: Scaled.apply(a, scale, 2))(x)
        assert not s.requires_grad
        return y.sum()

    scale = torch.tensor(3.0)
    dx, dscale = func.grad(total, argnums=(0, 1))(X, scale)
    close(dx, 2 * X * 3)
    close(dscale, (X**2).sum())


def test_pushed_forward() -> None:
    y, t = func.jvp(WithJvp.apply, (X,), (X,))
    close(y, X * 2)
    close(t, 5 * X * X)
    with pytest.raises(NotImplementedError, match="must implement the jvp function"):
        func.jvp(Tripled.apply, (X,), (X,))


def test_gradients_alone_need_nothing() -> None:
    close(func.grad(lambda a: Tripled.apply(a).sum())(X), 3 * X)
    close(func.grad(lambda a: OldStyle.apply(a).sum())(X), torch.full_like(X, 3.0))


def test_refusals() -> None:
    class Both(WithRule):
        generate_vmap_rule = True

    class OneReturn(Tripled):
        @staticmethod
        def vmap(info: Any, in_dims: Any, a: Any) -> Any:
            return a

    class TooFew(Tripled):
        @staticmethod
        def vmap(info: Any, in_dims: Any, a: Any) -> Any:
            return (a, a), (0,)

    class NotOne(Tripled):
        @staticmethod
        def vmap(info: Any, in_dims: Any, a: Any) -> Any:
            return a, (0,)

    for f, words in (
        (TooFew, r"out_dims=\(0,\) to be compatible .* a tuple of 2"),
        (NotOne, r"out_dims=\(0,\) to be compatible .* Tensor"),
        (Tripled, "does not have vmap support"),
        (Both, "both generate_vmap_rule=True and an overridden vmap"),
        (OneReturn, "Expected the vmap staticmethod to have two returns"),
        (OldStyle, "must override the setup_context staticmethod"),
    ):
        with pytest.raises(RuntimeError, match=words):
            func.vmap(f.apply)(X)


class Product(torch.autograd.Function):
    """What it saves for forward has another meaning than what it saves for backward."""

    @staticmethod
    def forward(a: Any, b: Any) -> Any:
        return a * b

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(output, *inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return g * b, g * a

    @staticmethod
    def jvp(ctx: Any, da: Any, db: Any) -> Any:
        output, a, b = ctx.saved_tensors
        close(output, a * b)
        return da * b + db * a


def test_what_is_saved_for_forward_is_another_list() -> None:
    a, b = X.clone().requires_grad_(), (X + 1).requires_grad_()
    da, db = torch.autograd.grad(Product.apply(a, b).sum(), (a, b))
    close(da, X + 1)
    close(db, X)
    close(func.jvp(Product.apply, (X, X + 1), (X, X))[1], X * (X + 1) + X * X)


def test_tangents_are_counted() -> None:
    class TooMany(Tripled):
        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t, t

    with pytest.raises(RuntimeError, match=r"number of forward gradients \(expected 1 but got 2"):
        func.jvp(TooMany.apply, (X,), (X,))


class Mixin:
    """Stands after Function among the bases of the class below."""


class WithNumber(torch.autograd.Function, Mixin):
    generate_vmap_rule = True

    @staticmethod
    def forward(a: Any, factor: int) -> Any:
        return a * factor, factor, None

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor = inputs[1]

    @staticmethod
    def vjp(ctx: Any, g: Any, *_: Any) -> Any:
        return g * ctx.factor, None


def test_outputs_that_are_no_tensors() -> None:
    seen = []

    def f(a: Any) -> Any:
        product, *others = WithNumber.apply(a, 3)
        seen.append(others)
        return product

    close(func.vmap(f)(X), 3 * X)
    assert seen == [[3, None]]
    close(func.grad(lambda x: func.vmap(f)(x).sum())(X), torch.full_like(X, 3.0))


def _used_class() -> Any:
    class Local(Generated):
        pass

    close(func.grad(lambda x: func.vmap(Local.apply)(x).sum())(X), 3 * X)
    return weakref.ref(Local)


def test_classes_are_collected() -> None:
    gone = _used_class()
    gc.collect()
    assert gone() is None


class InPlace(torch.autograd.Function):
    """Three times its argument, in place."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x.mul_(3)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return t.mul_(3)

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        return InPlace.apply(x), in_dims[0]


@pytest.mark.parametrize("jitted", [False, True])
def test_in_place_functions_inside_transforms(jitted: bool) -> None:
    def f(x: Any) -> Any:
        y = x.clone()
        part = y[:1]
        returned = InPlace.apply(y)
        return x * 1, y * returned, part * 1

    def run(x: Any) -> Any:
        one = x.new_ones(2)
        return [
            func.vmap(f)(x.expand(1, 2)),
            *func.jvp(f, (x,), (one,)),
            func.jvp(func.grad(lambda x: f(x)[1].sum()), (x,), (one,)),
        ]

    x = torch.tensor([1.0, 2.0])
    mapped, outputs, tangents, second = (torch.jit(run) if jitted else run)(x)
    assert [t.tolist() for t in mapped] == [[[1, 2]], [[9, 36]], [[3]]]
    assert [t.tolist() for t in outputs] == [[1, 2], [9, 36], [3]]
    assert [t.tolist() for t in tangents] == [[1, 1], [18, 36], [3]]
    assert [t.tolist() for t in second] == [[18, 36], [18, 18]]
    assert x.tolist() == [1, 2]
    assert func.vmap(InPlace.apply)(x).tolist() == [3, 6] == x.tolist()


class Weighted(torch.autograd.Function):
    """``x + a * b`` of ``(x, [a, {"b": b}])``; backward knows of x alone."""

    seen: ClassVar[list[Any]] = []

    @staticmethod
    def forward(x: Any, rest: Any) -> Any:
        return x + rest[0] * rest[1]["b"]

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any, rest: Any) -> Any:
        Weighted.seen.append(in_dims)
        return Weighted.apply(x, rest), 0


def test_tensors_in_lists_are_mapped() -> None:
    x, one = torch.tensor([1.0, 2.0]), torch.tensor(3.0)

    def f(x: Any, a: Any, b: Any) -> Any:
        return Weighted.apply(x, [a, {"b": b}])

    Weighted.seen.clear()
    assert func.vmap(f)(x, x, x).tolist() == [2, 6]
    assert func.vmap(f, (None, 0, None))(one, x, one).tolist() == [6, 9]
    assert func.vmap(func.grad(f), (0, 0, None))(x, x, one).tolist() == [1, 1]
    assert Weighted.seen == [
        (0, [0, {"b": 0}]),
        (None, [0, {"b": None}]),
        (0, [0, {"b": None}]),
    ]
