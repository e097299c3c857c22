"""Gradients against finite differences, to any order; results and gradients that are finite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core import dtypes
from torchlike.autograd.backward import grad
from torchlike.autograd.gradcheck import GradcheckError, gradcheck
from torchlike.tensor import Tensor
from torchlike.testing.observation import observe, total
from torchlike.testing.trees import copied, named_leaves, named_tensors


def assert_gradients(
    fn: Callable[..., Any],
    *args: Any,
    order: int = 1,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    forward: bool = False,
) -> None:
    """Raise AssertionError unless derivatives up to this order agree with finite differences.

    Floating point and complex arguments are copied in double precision, contiguous, and
    differentiated; the others are given as they are. Of order 2 the gradient is the function
    whose derivatives are checked, and so on.

    Args:
      fn: a function of tensors that gives a tensor or a tuple of them.
      args: its arguments.
      order: 1 or more; each costs as many calls more as there are elements.
      eps, atol, rtol: as in ``torch.autograd.gradcheck``.
      forward: whether forward-mode derivatives are checked, too.

    Raises:
      AssertionError: a derivative differs.
      ValueError: no argument can be differentiated, or an order below 1.

    Example:
      >>> torchlike.testing.assert_gradients(lambda x: x * x, torch.tensor([1.0, 2.0]))
    """
    if order < 1:
        raise ValueError(f"order must be 1 or more, not {order}")
    inputs = tuple(_double(a) if _is_differentiable(a) else a for a in args)
    wanted = [i for i, a in enumerate(inputs) if _is_differentiable(a)]
    if not wanted:
        raise ValueError("assert_gradients expects a floating point or complex tensor to differ by")
    for reached in range(1, order + 1):
        try:
            gradcheck(
                _tensors_of(fn), inputs, eps=eps, atol=atol, rtol=rtol, check_forward_ad=forward
            )
        except GradcheckError as error:
            raise AssertionError(f"derivatives of order {reached}: {error}") from None
        fn = _gradient(fn, wanted)


def _tensors_of(fn: Callable[..., Any]) -> Callable[..., tuple[Tensor, ...]]:
    """Wrap ``fn`` so that its results are the tensors among what it gives, whatever tree they are
    in."""
    return lambda *args: tuple(named_tensors(fn(*args), "result").values())


def _is_differentiable(x: Any) -> bool:
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


def _double(t: Tensor) -> Tensor:
    kind = dtypes.complex128 if t.is_complex() else dtypes.float64
    return t.detach().to(kind).clone().contiguous().requires_grad_()


def _gradient(fn: Callable[..., Any], wanted: list[int]) -> Callable[..., Any]:
    """Return the gradient of a weighted sum of a function's results, as a function."""

    def gradient(*args: Any) -> tuple[Tensor, ...]:
        leaves = named_leaves(fn(*args), "").values()
        loss = total([t for t in leaves if isinstance(t, Tensor)])
        inputs = [args[i] for i in wanted]
        if loss is None:
            return tuple(x * 0 for x in inputs)
        found = grad(loss, inputs, create_graph=True, allow_unused=True)
        return tuple(x * 0 if g is None else g for g, x in zip(found, inputs, strict=True))

    return gradient


def assert_finite(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Raise AssertionError where ``fn(*args, **kwargs)`` gives or leaves NaN or an infinity: in its
    results, in gradients of them, in arguments that it writes.

    It finds the NaN in a gradient whose value looks right, as of ``where(x > 0, x.sqrt(), 0)`` at
    0. What the function raises is raised.

    Args:
      fn: a function or module.
      args, kwargs: its arguments, which are copied.

    Raises:
      AssertionError: something is not finite; the message names it.

    Example:
      >>> torchlike.testing.assert_finite(torch.sqrt, torch.ones(2, requires_grad=True))
      >>> try:
      ...     torchlike.testing.assert_finite(torch.sqrt, torch.zeros(2, requires_grad=True))
      ... except AssertionError:
      ...     print("the gradient at 0 is not finite")
      the gradient at 0 is not finite
    """
    a, k = copied(args, kwargs)
    found = observe(fn, a, k)
    if "error" in found:
        raise found["error"]
    for name, t in found.items():
        if not isinstance(t, Tensor) or bool(t.isfinite().all()):
            continue
        bad = (~t.isfinite()).nonzero()
        raise AssertionError(
            f"{name} is not finite at {tuple(bad[0].tolist())}: {t[tuple(bad[0])].item()} "
            f"({bad.shape[0]} of {t.numel()} elements)"
        )
