"""Derivatives of functions rather than of tensors: jacobian, hessian, vjp, jvp, hvp, vhp.

All are built on ``grad``: a Jacobian row by row, a forward derivative by the "double backward
trick" (the vjp is linear in its cotangent, so its own vjp is the jvp). ``torchlike.func`` has the
same as transformations, which XLA can compile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike.autograd.backward import grad, stacked
from torchlike.autograd.grad_mode import enable_grad
from torchlike.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _as_tensors(values: Any, name: str, what: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether a tuple was given, and the tensors. TypeError for anything else."""
    many = isinstance(values, tuple)
    found = values if many else (values,)
    for i, t in enumerate(found):
        if not isinstance(t, Tensor):
            at = f" at index {i}" if many else ""
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the "
                f"value{at} has type {type(t)}."
            )
    return many, found


def _inputs(inputs: Any, name: str, create_graph: bool) -> tuple[bool, tuple[Tensor, ...]]:
    """Fresh tensors with the inputs' values: part of the outer graph only with ``create_graph``."""
    many, given = _as_tensors(inputs, name, "inputs")
    if create_graph:
        return many, tuple(t.view_as(t) for t in given)
    return many, tuple(t.detach().requires_grad_() for t in given)


def _vector(v: Any, like: tuple[Tensor, ...], many: bool, name: str, of: str) -> Any:
    """The given vector checked against what it multiplies, or ones for a single element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if {of} is a single Tensor with a single element."
            )
        return None
    v_many, found = _as_tensors(v, name, "v")
    if len(found) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(found)}."
            if many or v_many else "The given v should contain a single Tensor."
        )  # fmt: skip
    for i, (a, b) in enumerate(zip(found, like, strict=True)):
        if a.shape != b.shape:
            raise RuntimeError(
                f"Entry {i} in v has invalid size: should be {b.shape} but got {a.shape}."
            )
    return found


def _gradients(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], cotangents: Any, create_graph: bool,
    strict: bool, name: str, *, retain_graph: bool | None = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """``grad``, with zeros for what does not depend; RuntimeError for that if ``strict``."""
    cotangents = (None,) * len(outputs) if cotangents is None else cotangents
    used = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if o.requires_grad]
    if strict and len(used) < len(outputs):
        at = next(i for i, o in enumerate(outputs) if not o.requires_grad)
        raise RuntimeError(
            f"Output {at} of the user-provided function does not require gradients. The outputs "
            "must be computed in a differentiable manner from the input when running in strict "
            "mode."
        )
    found: tuple[Tensor | None, ...] = (None,) * len(inputs)
    if used:
        found = grad(
            [o for o, _ in used], inputs, [c for _, c in used], allow_unused=True,
            create_graph=create_graph, retain_graph=retain_graph,
        )  # fmt: skip
    result = []
    for i, (g, x) in enumerate(zip(found, inputs, strict=True)):
        if g is None and strict:
            raise RuntimeError(
                f"The output of the user-provided function is independent of input {i}. This is "
                f"not allowed in strict mode of {name}."
            )
        result.append(x.detach().clone().zero_() if g is None else g)
    return tuple(result)


def _results(many: bool, tensors: Sequence[Tensor], create_graph: bool) -> Any:
    found = tuple(t if create_graph else t.detach() for t in tensors)
    return found if many else found[0]


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """``(func(*inputs), vᵀ J)``: the outputs, and ``v`` times the Jacobian.

    ``v`` has the outputs' shapes, and may be left out for one element. With ``create_graph`` the
    results can be differentiated; with ``strict`` an output that does not depend on an input is a
    RuntimeError instead of zeros.
    """
    with enable_grad():
        many, x = _inputs(inputs, "vjp", create_graph)
        y_many, y = _as_tensors(func(*x), "vjp", "outputs of the user-provided function")
        v = _vector(v, y, y_many, "vjp", "the user-provided function's output")
        found = _gradients(y, x, v, create_graph, strict, "vjp")
    return _results(y_many, y, create_graph), _results(many, found, create_graph)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """``(func(*inputs), J v)``: the outputs, and the Jacobian times ``v`` (of the inputs' shapes).

    By the double backward trick; ``torchlike.func.jvp`` costs one forward pass.
    """
    with enable_grad():
        many, x = _inputs(inputs, "jvp", create_graph)
        v = _vector(v, x, many, "jvp", "the input")
        y_many, y = _as_tensors(func(*x), "jvp", "outputs of the user-provided function")
        cotangents = tuple(t.detach().clone().zero_().requires_grad_() for t in y)
        pulled = _gradients(y, x, cotangents, True, strict, "jvp")
        found = _gradients(pulled, cotangents, v, create_graph, strict, "jvp")
    return _results(y_many, y, create_graph), _results(y_many, found, create_graph)


def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian: for each output and input, a tensor of shape ``output.shape + input.shape``.

    Nested tuples where outputs or inputs are tuples. A backward pass for each output element; with
    ``vectorize`` one pass, mapped over them. ``strategy`` makes no difference here.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode" and (create_graph or not vectorize):
        raise NotImplementedError(
            "torch.autograd.functional.jacobian: strategy='forward-mode' goes with vectorize=True "
            "and without create_graph"
        )
    with enable_grad():
        many, x = _inputs(inputs, "jacobian", create_graph)
        y_many, y = _as_tensors(func(*x), "jacobian", "outputs of the user-provided function")
        block_of = _mapped_jacobian_of if vectorize else _jacobian_of
        blocks = [block_of(t, x, create_graph, strict) for t in y]
    rows = tuple(_results(many, block, create_graph) for block in blocks)
    return rows if y_many else rows[0]


def _jacobian_of(
    y: Tensor, x: tuple[Tensor, ...], create_graph: bool, strict: bool
) -> tuple[Tensor, ...]:
    rows = [
        _gradients((element,), x, None, create_graph, strict, "jacobian", retain_graph=True)
        for element in y.reshape(-1).unbind(0)
    ]
    shapes = [(*y.shape, *t.shape) for t in x]
    if not rows:
        return tuple(t.new_zeros(s) for t, s in zip(x, shapes, strict=True))
    return tuple(
        stacked(column).view(s) for column, s in zip(zip(*rows, strict=True), shapes, strict=True)
    )


def _mapped_jacobian_of(
    y: Tensor, x: tuple[Tensor, ...], create_graph: bool, strict: bool
) -> tuple[Tensor, ...]:
    n = y.numel()
    if strict or not n or not y.requires_grad:
        return _jacobian_of(y, x, create_graph, strict)
    unit = y.detach().new_zeros((n, n))
    unit.diagonal().fill_(1)
    found = grad(
        (y,), x, (unit.view(n, *y.shape),), True, create_graph, is_grads_batched=True,
        materialize_grads=True,
    )  # fmt: skip
    return tuple(
        g.reshape(*y.shape, *t.shape) for g, t in zip(found, x, strict=True) if g is not None
    )


def _scalar(func: Callable[..., Any], name: str) -> Callable[..., Tensor]:
    """``func`` with its result checked: one tensor with one element."""

    def checked(*x: Any) -> Tensor:
        y = func(*x)
        many, found = _as_tensors(y, name, "outputs of the user-provided function")
        if many:
            raise RuntimeError(f"The function given to {name} should return a single Tensor")
        if found[0].numel() != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {name} should contain a single "
                "element"
            )
        return found[0].squeeze()

    return checked


def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Hessian of a function with one element as its result: for each pair of inputs a tensor of
    shape ``input.shape + other.shape``."""
    many, _ = _as_tensors(inputs, "hessian", "inputs")
    checked = _scalar(func, "hessian")

    def gradient(*x: Tensor) -> Any:
        # x requires grad here: jacobian's own inputs.
        return jacobian(checked, x if many else x[0], create_graph=True, strict=strict)

    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    return jacobian(gradient, inputs, create_graph, strict, vectorize)


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """``(func(*inputs), vᵀ H)`` for a function with one element as its result."""
    with enable_grad():
        many, x = _inputs(inputs, "vhp", create_graph)
        v = _vector(v, x, many, "vhp", "the input")
        y = _scalar(func, "vhp")(*x)
        first = _gradients((y,), x, None, True, strict, "vhp")
        found = _gradients(first, x, v, create_graph, strict, "vhp")
    return _results(False, (y,), create_graph), _results(many, found, create_graph)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """``(func(*inputs), H v)`` for a function with one element as its result.

    Equals ``vhp``, as Hessians are symmetric, at twice the cost; kept for functions whose second
    derivatives are not.
    """
    with enable_grad():
        many, x = _inputs(inputs, "hvp", create_graph)
        v = _vector(v, x, many, "hvp", "the input")
        y = _scalar(func, "hvp")(*x)
        first = _gradients((y,), x, None, True, strict, "hvp")
        cotangents = tuple(t.detach().clone().zero_().requires_grad_() for t in x)
        pulled = _gradients(first, x, cotangents, True, strict, "hvp")
        found = _gradients(pulled, cotangents, v, create_graph, strict, "hvp")
    return _results(False, (y,), create_graph), _results(many, found, create_graph)
