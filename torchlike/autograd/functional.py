"""Derivatives of functions rather than of tensors: jacobian, hessian, vjp, jvp, hvp, vhp.

All are built on ``grad``: a Jacobian row by row, a forward derivative by the "double backward
trick" (the vjp is linear in its cotangent, so its own vjp is the jvp). ``torchlike.func`` has the
same as transformations, which XLA can compile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike._ops.shape.joining import stack
from torchlike.autograd.backward import grad
from torchlike.autograd.functional_tuples import (
    _as_tuple,
    _construct_standard_basis_for,
    _grad_postprocess,
    _grad_preprocess,
    _tuple_postprocess,
)
from torchlike.autograd.grad_mode import enable_grad
from torchlike.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


#: What a vector stands beside, in the error where it was left out.
_INPUT = "the input to the user-provided function is"


def _inputs(inputs: Any, name: str, create_graph: bool) -> tuple[bool, tuple[Tensor, ...]]:
    """Return whether a tuple was given, and fresh tensors with the inputs' values, which require
    grad."""
    many, given = _as_tuple(inputs, "inputs", name)
    return many, _grad_preprocess(given, create_graph, True)


def _vector(
    v: Any, like: tuple[Tensor, ...], many: bool, name: str, of: str
) -> tuple[Any, ...] | None:
    """Return the given vector checked against what it multiplies, or ones for a single element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if {of} a single Tensor with a single element."
            )
        return None
    v_many, found = _as_tuple(v, "v", name)
    if len(found) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(found)}."
            if many
            else "The given v should contain a single Tensor."
        )
    for i, (a, b) in enumerate(zip(found, like, strict=True)):
        if a.shape != b.shape:
            entry = f"Entry {i} in v" if many or v_many else "v"
            raise RuntimeError(f"{entry} has invalid size: should be {b.shape} but got {a.shape}.")
    return found


def _require_grad(tensors: Sequence[Tensor], refusal: str, advice: str) -> None:
    """Raise RuntimeError for the first tensor that does not require grad, as strict mode asks."""
    for i, t in enumerate(tensors):
        if not t.requires_grad:
            raise RuntimeError(f"{refusal.format(i)} {advice}")


def _check_outputs(outputs: Sequence[Tensor], strict: bool) -> None:
    if strict:
        _require_grad(
            outputs,
            "Output {} of the user-provided function does not require gradients.",
            "The outputs must be computed in a differentiable manner from the input when running "
            "in strict mode.",
        )


def _check_jacobian(first: Sequence[Tensor], strict: bool) -> None:
    if strict:
        _require_grad(
            first,
            "While computing the hessian, found that the jacobian of the user-provided "
            "function with respect to input {} is independent of the input. This is not allowed in "
            "strict mode.",
            "The function must be twice differentiable by each of its inputs.",
        )


def _gradients(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    cotangents: Any,
    create_graph: bool,
    strict: bool,
    *,
    what: str = "The output",
    of: str = "jacobian",
    retain_graph: bool | None = None,
    recorded: bool | None = None,
) -> tuple[Tensor, ...]:
    """Compute ``grad``, with zeros for what does not depend; RuntimeError for that if ``strict``.

    ``what`` names the outputs in that error, ``of`` the derivatives that have to depend on the
    inputs in turn where the caller asked for their graph (``recorded``: by default create_graph).
    """
    cotangents = (None,) * len(outputs) if cotangents is None else cotangents
    used = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if o.requires_grad]
    found: tuple[Tensor | None, ...] = (None,) * len(inputs)
    if used:
        found = grad(
            [o for o, _ in used],
            inputs,
            [c for _, c in used],
            allow_unused=True,
            create_graph=create_graph,
            retain_graph=retain_graph,
        )
    if strict:
        for i, g in enumerate(found):
            if g is None:
                raise RuntimeError(
                    f"{what} of the user-provided function is independent of input {i}. This is "
                    "not allowed in strict mode."
                )
            if (create_graph if recorded is None else recorded) and not g.requires_grad:
                raise RuntimeError(
                    f"The {of} of the user-provided function is independent of input {i}. This is "
                    "not allowed in strict mode when create_graph=True."
                )
    return tuple(
        x.detach().clone().zero_() if g is None else g for g, x in zip(found, inputs, strict=True)
    )


def _results(many: bool, tensors: Sequence[Tensor], create_graph: bool) -> Any:
    return _tuple_postprocess(_grad_postprocess(tuple(tensors), create_graph), many)


def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Compute ``(func(*inputs), vᵀ J)``: the outputs, and ``v`` times the Jacobian.

    ``v`` has the outputs' shapes, and may be left out for one element. With ``create_graph`` the
    results can be differentiated; with ``strict`` an output that does not depend on an input is a
    RuntimeError instead of zeros.
    """
    with enable_grad():
        many, x = _inputs(inputs, "vjp", create_graph)
        y_many, y = _as_tuple(func(*x), "outputs of the user-provided function", "vjp")
        _check_outputs(y, strict)
        v = _vector(v, y, y_many, "vjp", "the user-provided function returns")
        found = _gradients(y, x, v, create_graph, strict)
    return _results(y_many, y, create_graph), _results(many, found, create_graph)


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Compute ``(func(*inputs), J v)``: the outputs, and the Jacobian times ``v`` (of the inputs'
    shapes).

    By the double backward trick; ``torchlike.func.jvp`` costs one forward pass.
    """
    with enable_grad():
        many, x = _inputs(inputs, "jvp", create_graph)
        v = _vector(v, x, many, "jvp", _INPUT)
        y_many, y = _as_tuple(func(*x), "outputs of the user-provided function", "jvp")
        _check_outputs(y, strict)
        found = _pushed(y, x, v, create_graph, strict, "The output", "jacobian")
    return _results(y_many, y, create_graph), _results(y_many, found, create_graph)


def _pushed(
    y: Sequence[Tensor],
    x: Sequence[Tensor],
    v: Any,
    create_graph: bool,
    strict: bool,
    what: str,
    of: str,
) -> tuple[Tensor, ...]:
    """Compute the derivative of ``y`` along ``v``, by the double backward trick."""
    cotangents = tuple(t.detach().clone().zero_().requires_grad_() for t in y)
    pulled = _gradients(y, x, cotangents, True, strict, what=what, recorded=False)
    found = _gradients(pulled, cotangents, v, create_graph, False)
    if strict and create_graph:
        # It requires grad in any case, for the cotangents' sake: the inputs are asked for.
        _gradients(found, x, found, False, strict, what=f"The {of}", retain_graph=True)
    return found


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Compute the Jacobian: for each output and input, a tensor of shape ``output.shape +
    input.shape``.

    Nested tuples where outputs or inputs are tuples. A backward pass for each output element; with
    ``vectorize`` one pass, mapped over them. ``strategy`` makes no difference here.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strict and vectorize:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
            "supported together. Please either set `strict=False` or `vectorize=False`."
        )
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
            "only implemented for `vectorize=True`."
        )
    if strategy == "forward-mode" and create_graph:
        raise NotImplementedError(
            "torch.autograd.functional.jacobian: strategy='forward-mode' goes without create_graph"
        )
    with enable_grad():
        many, x = _inputs(inputs, "jacobian", create_graph)
        y_many, y = _as_tuple(func(*x), "outputs of the user-provided function", "jacobian")
        _check_outputs(y, strict)
        block_of = _mapped_jacobian_of if vectorize else _jacobian_of
        blocks = [block_of(t, i, x, create_graph, strict) for i, t in enumerate(y)]
    rows = tuple(_results(many, block, create_graph) for block in blocks)
    return rows if y_many else rows[0]


def _jacobian_of(
    y: Tensor, i: int, x: tuple[Tensor, ...], create_graph: bool, strict: bool
) -> tuple[Tensor, ...]:
    """Compute the blocks of output number ``i``, one for each input."""
    rows = [
        _gradients((element,), x, None, create_graph, strict, what=f"Output {i}", retain_graph=True)
        for element in y.reshape(-1).unbind(0)
    ]
    shapes = [(*y.shape, *t.shape) for t in x]
    if not rows:
        return tuple(t.new_zeros(s) for t, s in zip(x, shapes, strict=True))
    return tuple(
        stack(column).view(s) for column, s in zip(zip(*rows, strict=True), shapes, strict=True)
    )


def _mapped_jacobian_of(
    y: Tensor, i: int, x: tuple[Tensor, ...], create_graph: bool, strict: bool
) -> tuple[Tensor, ...]:
    n = y.numel()
    if not n or not y.requires_grad:
        return _jacobian_of(y, i, x, create_graph, strict)
    (unit,) = _construct_standard_basis_for((y,), (n,))
    found = grad(
        (y,),
        x,
        (unit.view(n, *y.shape),),
        True,
        create_graph,
        is_grads_batched=True,
        materialize_grads=True,
    )
    return tuple(
        g.reshape((*y.shape, *t.shape)) for g, t in zip(found, x, strict=True) if g is not None
    )


def _scalar(func: Callable[..., Any], name: str) -> Callable[..., Tensor]:
    """Decorate ``func`` to check its result: one tensor with one element."""

    def checked(*x: Any) -> Tensor:
        y = func(*x)
        many, found = _as_tuple(y, "outputs of the user-provided function", name)
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
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Compute the Hessian of a function with one element as its result: for each pair of inputs a
    tensor of shape ``input.shape + other.shape``."""
    many, _ = _as_tuple(inputs, "inputs", "hessian")
    checked = _scalar(func, "hessian")

    def gradient(*x: Tensor) -> tuple[Tensor, ...] | Tensor:
        y = checked(*x)
        _check_outputs((y,), strict)
        first = _gradients((y,), x, None, True, False)
        _check_jacobian(first, strict)
        return first if many else first[0]

    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    return jacobian(gradient, inputs, create_graph, strict, vectorize)


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Compute ``(func(*inputs), vᵀ H)`` for a function with one element as its result."""
    with enable_grad():
        many, x = _inputs(inputs, "vhp", create_graph)
        v = _vector(v, x, many, "vhp", _INPUT)
        y = _scalar(func, "vhp")(*x)
        _check_outputs((y,), strict)
        first = _gradients((y,), x, None, True, strict, recorded=False)
        _check_jacobian(first, strict)
        found = _gradients(first, x, v, create_graph, strict, what="The jacobian", of="hessian")
    return _results(False, (y,), create_graph), _results(many, found, create_graph)


def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Compute ``(func(*inputs), H v)`` for a function with one element as its result.

    Equals ``vhp``, as Hessians are symmetric, at twice the cost; kept for functions whose second
    derivatives are not.
    """
    with enable_grad():
        many, x = _inputs(inputs, "hvp", create_graph)
        v = _vector(v, x, many, "hvp", _INPUT)
        y = _scalar(func, "hvp")(*x)
        _check_outputs((y,), strict)
        first = _gradients((y,), x, None, True, strict, recorded=False)
        _check_jacobian(first, strict)
        found = _pushed(first, x, v, create_graph, strict, "The jacobian", "hessian")
    return _results(False, (y,), create_graph), _results(many, found, create_graph)
