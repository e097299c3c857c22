"""What torch.func refuses, in PyTorch's types and words."""

from __future__ import annotations

from typing import Any

import pytest

import torchlike as torch
from torchlike import func

X = torch.tensor([[1.0, 2.0], [3.0, -4.0], [5.0, 6.0]])


def _write_to_outside(a: Any) -> Any:
    return torch.zeros(2).add_(a)


def _keep(kept: list[Any]) -> Any:
    def f(a: Any) -> Any:
        kept.append(a)
        return a

    return f


@pytest.mark.parametrize(
    ("f", "error", "words"),
    [
        (lambda a: a.sum().item(), RuntimeError, "calling .item\\(\\) on a Tensor"),
        (lambda a: a if a.sum() > 0 else -a, RuntimeError, "data-dependent control flow"),
        (_write_to_outside, RuntimeError, "`self` not being vmapped over"),
        (lambda a: a + torch.rand(2), RuntimeError, "randomness error mode"),
        (lambda a: torch.dropout(a, 0.5, True), RuntimeError, "randomness error mode"),
        (lambda a: 3, ValueError, "must only return Tensors, got type <class 'int'>"),
        (lambda a: a.nonzero(), RuntimeError, "dynamic shape"),
        (lambda a: a[a > 0], RuntimeError, "dynamic shape"),
        (lambda a: a.numpy(), RuntimeError, "doesn't have storage"),
        (lambda a: a.sum().backward(), RuntimeError, "inside a functorch transform"),
    ],
)
def test_inside_vmap(f: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        func.vmap(f)(X)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: func.vmap(lambda a: a)(3), "cannot vmap over non-Tensor arguments"),
        (lambda: func.vmap(lambda a: a, in_dims=3)(X), "expected in_dim to satisfy -2 <= in_dim"),
        (lambda: func.vmap(lambda a: a, in_dims=(0, 1))(X), "not compatible with the structure"),
        (lambda: func.vmap(lambda a: a, in_dims=None)(X), "expected `in_dims` to be int"),
        (lambda: func.vmap(lambda a: a, in_dims=[0])(X), "expected `in_dims` to be int"),
        (lambda: func.vmap(lambda a, b: a)(X, X[:2]), "same size in the mapped dimension"),
        (lambda: func.vmap(lambda a: a, in_dims=(None,))(X), "at least one Tensor"),
        (lambda: func.vmap(lambda: 3)(), "got no inputs"),
        (lambda: func.vmap(lambda a: a, out_dims=(0, 0))(X), "not compatible with the structure"),
        (lambda: func.vmap(lambda a: a, out_dims="a")(X), "must be an int, None"),
        (lambda: func.vmap(lambda a: a, out_dims=None)(X), "can not return a BatchedTensor"),
        (lambda: func.vmap(lambda a: a, chunk_size=0), "chunk_size should be None or greater"),
    ],
)
def test_arguments_of_vmap(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_other_arguments_of_vmap() -> None:
    with pytest.raises(RuntimeError, match="Only allowed values for randomness"):
        func.vmap(lambda a: a, randomness="x")
    with pytest.raises(IndexError, match="Dimension out of range"):
        func.vmap(lambda a: a, out_dims=5)(X)


def test_a_tensor_that_escaped() -> None:
    kept: list[Any] = []
    func.vmap(_keep(kept))(X)
    with pytest.raises(RuntimeError, match="escaped from inside"):
        kept[0] + 1
    func.jvp(_keep(kept), (X,), (X,))
    with pytest.raises(RuntimeError, match="escaped from inside"):
        kept[1] + 1


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda a: a * 2, "Expected f\\(\\*args\\) to return a scalar Tensor, got tensor with 2"),
        (lambda a: 3, "Expected f\\(\\*args\\) to return a Tensor, got <class 'int'>"),
        (lambda a: (a.sum(), a), "Expected f\\(\\*args\\) to return a Tensor"),
        (lambda a: a.mul_(2).sum(), "leaf Variable that requires grad"),
    ],
)
def test_inside_grad(f: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        func.grad(f)(X.clone())


def test_arguments_of_grad() -> None:
    with pytest.raises(RuntimeError, match="Got argnum=3, but only 1 positional inputs"):
        func.grad(lambda a: a.sum(), argnums=3)(X)
    with pytest.raises(RuntimeError, match=r"\(output, aux\) if has_aux is True"):
        func.grad(lambda a: a.sum(), has_aux=True)(X)
    with pytest.raises(RuntimeError, match="floating point dtype can require gradients"):
        func.grad(lambda a: a.sum())(X.long())
    with pytest.raises(ValueError, match="must be Tensor, got <class 'float'>"):
        func.grad(lambda a: a.sum())(3.0)


def test_vjp_and_jvp() -> None:
    with pytest.raises(RuntimeError, match="different size than that of the original"):
        func.jvp(lambda a: a, (X,), (X[0],))
    with pytest.raises(RuntimeError, match="Expected primals to be a tuple"):
        func.jvp(lambda a: a, X, X)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        func.vjp(lambda a: a * 1, X)[1](X[0])
    with pytest.raises(RuntimeError, match="to return only tensors"):
        func.vjp(lambda a: 3, X)
    outside = torch.zeros(2)
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        func.jvp(lambda a: outside.add_(a[0]), (X,), (X,))
    with pytest.raises(RuntimeError, match="independent of the inputs"):
        func.jvp(lambda a: outside, (X,), (X,), strict=True)


@pytest.mark.parametrize("output", [None, (), [None, None]])
def test_nothing_to_differentiate(output: Any) -> None:
    for run in (func.jacrev, func.jacfwd, lambda f: lambda x: func.vjp(f, x)):
        with pytest.raises(RuntimeError, match="that has non-empty output"):
            run(lambda x: output)(X)


@pytest.mark.parametrize("transform", [func.jacrev, func.jacfwd])
def test_jacobians_are_real(transform: Any) -> None:
    with pytest.raises(RuntimeError, match=r"Expected all inputs to be real .* input idx: 0"):
        transform(lambda x: x.real)(X + 1j)
    with pytest.raises(RuntimeError, match=r"Expected all outputs to be real .* input idx: 1"):
        transform(lambda x: (x, x + 1j))(X)
    with pytest.raises(RuntimeError, match="Expected all inputs to be real"):
        func.hessian(lambda x: x.abs().sum())(X + 1j)


def test_chunks_of_a_jacobian() -> None:
    for chunk_size in (0, -1):
        with pytest.raises(ValueError, match="`chunk_size` should be greater than 0"):
            func.jacrev(torch.sin, chunk_size=chunk_size)

    class AsksForValues(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x * 2, y * 3

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return (g * 2 if g.nonzero().numel() else g), h * 3

    def f(x: Any, y: Any) -> Any:
        return AsksForValues.apply(x, y)

    x, y = torch.ones(2), torch.ones(3)
    with pytest.raises(RuntimeError, match="vmap"):
        func.jacrev(f, (0, 1))(x, y)
    rows = func.jacrev(f, (0, 1), chunk_size=1)(x, y)
    assert [[part.tolist() for part in row] for row in rows] == [
        [(torch.eye(2) * 2).tolist(), torch.zeros(2, 3).tolist()],
        [torch.zeros(3, 2).tolist(), (torch.eye(3) * 3).tolist()],
    ]


def test_modules() -> None:
    m = torch.nn.Linear(2, 2)
    ones = torch.ones(2, 2)
    with pytest.raises(RuntimeError, match="Unexpected key"):
        func.functional_call(m, {"foo": ones}, X, strict=True)
    with pytest.raises(ValueError, match="appeared in multiple dictionaries"):
        func.functional_call(m, ({"weight": ones}, {"weight": ones}), X)
    with pytest.raises(ValueError, match="list/tuple of dicts"):
        func.functional_call(m, 3, X)
    with pytest.raises(RuntimeError, match="at least one model, got 0"):
        func.stack_module_state([])
    with pytest.raises(RuntimeError, match="same class"):
        func.stack_module_state([m, torch.nn.ReLU()])
    with pytest.raises(RuntimeError, match="same training/eval mode"):
        func.stack_module_state([m, torch.nn.Linear(2, 2).eval()])
    with pytest.raises(RuntimeError, match="invalid argument for remove=x"):
        func.functionalize(lambda x: x, remove="x")


def test_after_an_error_nothing_is_left() -> None:
    with pytest.raises(RuntimeError):
        func.vmap(lambda a: a.sum().item())(X)
    assert torch.rand(2).shape == (2,)  # outside of any vmap again
    assert func.vmap(lambda a: a * 2)(X).equal(X * 2)
