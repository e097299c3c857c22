"""gradcheck: the gradients of a function against finite differences.

A complex number counts as two real ones, so the Jacobians compared are real: for an output part
``p`` and an input part ``q``, ``dp/dq``. The backward pass started with 1 gives the derivatives of
an output's real part, with 1j those of its imaginary part; a gradient's real and imaginary parts
are the derivatives by the parts of the input (PyTorch's convention for complex gradients).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.layouts import strided
from torchlike._extensions.boxes import Dual
from torchlike._extensions.tensor_of_parts import TensorOfParts
from torchlike.autograd import forward_ad
from torchlike.autograd.backward import grad
from torchlike.autograd.grad_mode import enable_grad
from torchlike.autograd.gradcheck_extras import (
    GradcheckError,
    check_batched,
    check_batched_forward,
    check_undefined,
    detached,
    with_tangent,
)
from torchlike.random import Generator
from torchlike.tensor import Tensor, wrap

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

_torch = NAMESPACES[""]
#: By how much of a Jacobian's largest number two runs may differ: an operation's first calls are
#: computed by NumPy, later ones by XLA, which rounds otherwise.
_ROUNDING = 1e-12
#: ``convert(func, inputs, masked)``: a function of the values of inputs without memory of their
#: own, and those values. Filled by the room of sparse tensors.
of_values: list[Callable[..., tuple[Callable[..., Any], tuple[Any, ...]]]] = []


def _with_memory(
    func: Callable[..., Any], inputs: Any, masked: Any
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the function and its inputs in a form that can be varied one number after another."""
    given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    for convert in of_values:
        func, given = convert(func, given, bool(masked))
    return func, given


def _checked_inputs(inputs: tuple[Any, ...]) -> list[int]:
    """Return the positions of the inputs that are differentiated; raise ValueError when there are
    none."""
    found = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]
    if not found:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the "
            "them have requires_grad=True."
        )
    for i in found:
        if inputs[i].dtype.name not in ("float64", "complex128"):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. ",
                UserWarning,
            )
        if 0 in inputs[i].stride() and inputs[i].numel() > 1:
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs "
                "that are non-overlapping to be able to compute the numerical gradients correctly. "
                "You should call .contiguous on the input before passing it to gradcheck."
            )
    return found


def _outputs(func: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Return the differentiable outputs: floating point or complex tensors. AttributeError, as in
    PyTorch, for one that is no tensor."""
    result = func(*inputs)
    many = result if isinstance(result, (tuple, list)) else (result,)
    if any(isinstance(o, TensorOfParts) and o.layout is not strided for o in many):
        raise ValueError(
            "Sparse output is not supported at gradcheck yet. Please call "
            "to_dense(masked_grad=...) on the output of fn for gradcheck."
        )
    return tuple(o for o in many if o.requires_grad or o.is_floating_point() or o.is_complex())


def _parts(values: Any) -> np.ndarray:
    """Return values as a flat vector of real numbers: the real parts, then any imaginary ones."""
    flat: Any = np.asarray(values).reshape(-1)
    return np.concatenate([flat.real, flat.imag]) if np.iscomplexobj(flat) else flat


def _numerical(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    which: int,
    eps: float,
    directions: Sequence[np.ndarray] | None = None,
) -> list[np.ndarray]:
    """Compute central differences: per output, an array of (input parts, output parts); with
    ``directions`` along those, in the place of one part after another."""
    x = inputs[which]
    start = np.array(x.detach().resolve_conj().tolist(), dtype=x.dtype.numpy).reshape(x.shape)
    rows = []

    seen: list[tuple[Any, Any]] = []

    def outputs_at(values: np.ndarray) -> list[np.ndarray]:
        x._write(jax.numpy.asarray(values))
        found = _outputs(func, inputs)
        seen[:] = _checked_alike(found, seen)
        return [
            _parts(np.array(o.detach().resolve_conj().tolist())).astype(np.float64) for o in found
        ]

    units = (1.0, 1j) if np.iscomplexobj(start) else (1.0,)
    if not start.size:
        n = 0 if directions is None else len(directions)
        return [np.zeros((n, column.size)) for column in outputs_at(start)]
    if directions is None:
        directions = [unit * row for unit in units for row in np.eye(start.size)]
    # Gradients stay on: a function may give other outputs where nothing is recorded.
    try:
        for direction in directions:
            step = (eps * direction).astype(start.dtype).reshape(start.shape)
            up, down = outputs_at(start + step), outputs_at(start - step)
            rows.append([(a - b) / (2 * eps) for a, b in zip(up, down, strict=True)])
    finally:
        x._write(jax.numpy.asarray(start))
    return [np.array(column) for column in zip(*rows, strict=True)]


def _checked_alike(outputs: Sequence[Tensor], seen: list[Any]) -> list[Any]:
    """Return the shapes and dtypes of outputs; raise AssertionError where they are not those seen
    before."""
    now = [(o.shape, o.dtype) for o in outputs]
    for was, is_now in zip(seen, now, strict=bool(seen)):
        for what, a, b in zip(("shape", "dtype"), was, is_now, strict=True):
            if a != b:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are "
                    f"perturbed by eps, but got: {what}s {a} and {b}."
                )
    return now


def _analytical(
    output: Tensor, inputs: Sequence[Tensor], starts: Sequence[np.ndarray] | None = None
) -> list[np.ndarray]:
    """Compute Jacobians by backward passes: per input, an array of (input parts, output parts);
    with ``starts`` from those, in the place of one part after another."""
    columns: list[list[np.ndarray]] = [[] for _ in inputs]
    if starts is None:
        units = (1.0, 1j) if output.dtype.is_complex else (1.0,)
        starts = [unit * row for unit in units for row in np.eye(output.numel())]
    for start in starts:
        value = start.astype(output.dtype.numpy).reshape(output.shape)
        cotangent = wrap(jax.numpy.asarray(value))
        found: tuple[Tensor | None, ...] = (None,) * len(inputs)
        if output.requires_grad:
            found = grad(output, inputs, cotangent, retain_graph=True, allow_unused=True)
        for column, g, x in zip(columns, found, inputs, strict=True):
            zeros = np.zeros(x.shape, x.dtype.numpy)
            value = zeros if g is None else np.array(g.detach().resolve_conj().tolist())
            column.append(_parts(value.astype(zeros.dtype)).astype(np.float64))
    size = [x.numel() * (1 + bool(x.dtype.is_complex)) for x in inputs]
    return [
        np.array(column).T if column else np.zeros((n, 0))
        for column, n in zip(columns, size, strict=True)
    ]


def _forward(func: Callable[..., Any], inputs: tuple[Any, ...], which: int) -> list[np.ndarray]:
    """Compute Jacobians by forward mode: per output, an array of (input parts, output parts)."""
    plain, wanted = detached(inputs)
    x = plain[which]
    rows: list[list[np.ndarray]] = []
    for unit in (1.0, 1j) if x.dtype.is_complex else (1.0,):
        for k in range(x.numel()):
            step = np.zeros(x.numel(), x.dtype.numpy)
            step[k] = unit
            with forward_ad.dual_level():
                tangent = wrap(jax.numpy.asarray(step.reshape(x.shape)))
                duals = with_tangent(plain, wanted, which, tangent)
                rows.append([_tangent_parts(o) for o in _outputs(func, duals)])
    if not rows:
        return [np.zeros((0, o.numel())) for o in _outputs(func, tuple(plain))]
    return [np.array(column) for column in zip(*rows, strict=True)]


def _tangent_parts(output: Tensor) -> np.ndarray:
    primal, tangent = forward_ad.unpack_dual(output)
    zeros = np.zeros(primal.shape, primal.dtype.numpy)
    value = zeros if tangent is None else np.array(tangent.detach().resolve_conj().tolist())
    return _parts(value.astype(zeros.dtype)).astype(np.float64)


def _mismatch(
    output: Tensor,
    k: int,
    x: Tensor,
    i: int,
    found: np.ndarray,
    numerical: np.ndarray,
    forward: bool,
) -> str:
    """Return the message for differing Jacobians of output ``k`` by input ``i``: of one part of
    a complex output, the imaginary one first as in PyTorch, and by complex inputs as complex
    numbers."""
    halves: list[tuple[str, np.ndarray, np.ndarray]] = [("", found, numerical)]
    if output.dtype.is_complex:
        n = output.numel()
        halves = [
            (
                f"While considering the {part} part of complex outputs only, ",
                found[:, at],
                numerical[:, at],
            )
            for part, at in (("imaginary", slice(n, None)), ("real", slice(n)))
        ]
        unlike = [h for h in halves if not np.allclose(h[1], h[2], 1e-3, 1e-5, equal_nan=True)]
        halves = unlike or halves
    said, *both = halves[0]
    if x.dtype.is_complex:
        m = x.numel()
        both = [j[:m] + 1j * j[m:] for j in both]
    analytical, differences = (wrap(jax.numpy.asarray(j)) for j in both)
    how = "Jacobian computed with forward mode mismatch" if forward else "Jacobian mismatch"
    return (
        f"{said}{how} for output {k} with respect to input {i},\n"
        f"numerical:{differences}\nanalytical:{analytical}\n"
    )


class _Checked:
    """One run of gradcheck: a function at its inputs, and the tolerances."""

    def __init__(
        self,
        func: Callable[..., Any],
        inputs: tuple[Any, ...],
        eps: float,
        atol: float,
        rtol: float,
        nondet_tol: float,
    ) -> None:
        self.func, self.inputs, self.wanted = func, inputs, _checked_inputs(inputs)
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol
        self.xs = [inputs[i] for i in self.wanted]
        self.outputs = _outputs(func, inputs)
        #: Which of them are looked at.
        self.moving = [k for k, o in enumerate(self.outputs) if o.requires_grad]
        self.numerical: list[list[np.ndarray]] = []

    def _compare(self, k: int, j: int, found: np.ndarray, forward: bool = False) -> None:
        numerical = self.numerical[j][k]
        if not np.allclose(found, numerical, self.rtol, self.atol, equal_nan=True):
            raise GradcheckError(
                _mismatch(self.outputs[k], k, self.xs[j], self.wanted[j], found, numerical, forward)
            )

    def check(
        self,
        *,
        backward: bool,
        forward: bool,
        undefined: bool,
        batched: bool,
        rows: bool,
        fast: bool,
    ) -> None:
        """Raise GradcheckError where something is wrong. ``batched``, ``rows``: whether gradients,
        and those of forward mode, are computed for several rows at once, too. ``fast``: whether one
        number of each Jacobian is compared, where that can be."""
        fast = (
            fast
            and bool(self.moving)
            and not forward
            and not any(t.dtype.is_complex for t in (*self.xs, *self.outputs))
        )
        if not fast:
            self.numerical = [_numerical(self.func, self.inputs, i, self.eps) for i in self.wanted]
        if not self.moving:
            if any(np.abs(j).max(initial=0) > self.atol for js in self.numerical for j in js):
                raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        if backward:
            (self._check_one_number if fast else self._check_backward)()
            if batched:
                check_batched(self._moving_outputs(), self.xs)
            if undefined:
                check_undefined(self._moving_outputs())
        if forward:
            for j, i in enumerate(self.wanted):
                columns = _forward(self.func, self.inputs, i)
                for k in self.moving:
                    self._compare(k, j, columns[k], forward=True)
                if rows:
                    check_batched_forward(self.func, self.inputs, i, _outputs)

    def _moving_outputs(self) -> list[Tensor]:
        """Compute the outputs again and return those that require grad."""
        outputs = _outputs(self.func, self.inputs)
        return [outputs[k] for k in self.moving]

    def _check_backward(self) -> None:
        for k in self.moving:
            for j, found in enumerate(self._reentrant(k)):
                self._compare(k, j, found)

    def _reentrant(self, k: int, starts: Sequence[np.ndarray] | None = None) -> list[np.ndarray]:
        """Compute the analytical Jacobians of an output twice and return them; raise GradcheckError
        where they differ the second time."""
        analytical, again = (
            _analytical(_outputs(self.func, self.inputs)[k], self.xs, starts) for _ in range(2)
        )
        for one, other in zip(analytical, again, strict=True):
            rounding = _ROUNDING * np.abs(one[np.isfinite(one)]).max(initial=0)
            if not np.allclose(one, other, rtol=0, atol=self.nondet_tol + rounding):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and "
                    "grad_output multiple times gives different values. The tolerance for "
                    f"nondeterminism was {self.nondet_tol}."
                )
        return analytical

    def _check_one_number(self) -> None:
        """Compare of each Jacobian J the number v·J·u, for vectors of positive random numbers: one
        backward pass for each output and two runs for each input. Whole Jacobians are for the
        message."""
        generator = Generator()
        us = [_direction(x.numel(), generator) for x in self.xs]
        vs = {k: _direction(self.outputs[k].numel(), generator) for k in self.moving}
        along = [
            _numerical(self.func, self.inputs, i, self.eps, [u])
            for i, u in zip(self.wanted, us, strict=True)
        ]
        for k, v in vs.items():
            for j, column in enumerate(self._reentrant(k, [v])):
                if not us[j].size:
                    continue
                numerical, found = float(along[j][k].reshape(-1) @ v), float(us[j] @ column[:, 0])
                limit = self.atol * us[j].sum() * v.sum()
                if not np.isclose(found, numerical, self.rtol, limit, equal_nan=True):
                    raise GradcheckError(self._told_of_number(k, j, found, numerical))

    def _told_of_number(self, k: int, j: int, found: float, numerical: float) -> str:
        i = self.wanted[j]
        whole = _numerical(self.func, self.inputs, i, self.eps)[k]
        backward = _analytical(_outputs(self.func, self.inputs)[k], self.xs)[j]
        text = (
            f"Jacobian mismatch for output {k} with respect to input {i},\n"
            f"numerical:{numerical}\nanalytical:{found}\n\nThese are products of the Jacobians "
            "with random vectors (fast_mode). Whole:\n\n"
            f"Numerical:\n {wrap(jax.numpy.asarray(whole))}\n"
            f"Analytical:\n{wrap(jax.numpy.asarray(backward))}\n\n"
            f"The greatest difference of elements is {np.abs(whole - backward).max(initial=0)}.\n"
        )
        if np.allclose(backward, whole, self.rtol, self.atol, equal_nan=True):
            text += "Element by element they are close: with fast_mode=False the check passes.\n"
        return text


def _direction(n: int, generator: Generator) -> np.ndarray:
    """Return a vector of length 1 of positive random numbers."""
    values = np.asarray(_torch["rand"](n, generator=generator).tolist(), np.float64)
    return values / np.linalg.norm(values) if n else values


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Return whether the gradients of ``func`` at ``inputs`` agree with central differences.

    The inputs that require grad are perturbed in place and put back; they should be float64 or
    complex128 (a warning says so otherwise). ``check_forward_ad`` compares forward mode with them
    too, ``check_backward_ad`` (default) the backward passes.

    Raises:
      GradcheckError: on a mismatch, unless ``raise_exception`` is False.
      ValueError: when no input requires grad.

    ``fast_mode`` compares one number of each Jacobian, its product with two random vectors. Of
    sparse inputs the elements that are there vary where ``masked``, else all places.

    Differs from PyTorch: ``fast_mode`` compares whole Jacobians where a tensor is complex or
    forward mode is checked. Undefined gradients are handed to custom Functions alone (the engine
    runs no operator without one), and gradients' dtypes are not looked at (the engine converts
    them). Beside ``nondet_tol`` two runs may differ by 1e-12 of the largest number.

    Example:
      >>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
      >>> torch.autograd.gradcheck(torch.exp, (x,))
      True
    """
    for held, words in (
        (
            check_forward_ad or check_backward_ad,
            "Expected at least one of check_forward_ad or check_backward_ad to be True",
        ),
        (
            check_backward_ad or not check_batched_grad,
            "Setting check_batched_grad=True requires check_backward_ad to be True",
        ),
        (
            check_forward_ad or not check_batched_forward_grad,
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True",
        ),
    ):
        if not held:
            raise AssertionError(words)
    func, given = _with_memory(func, inputs, masked)
    try:
        with enable_grad():
            _Checked(func, given, eps, atol, rtol, nondet_tol).check(
                backward=check_backward_ad,
                forward=check_forward_ad,
                undefined=check_undefined_grad,
                batched=check_batched_grad,
                rows=check_batched_forward_grad,
                fast=fast_mode,
            )
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Return whether ``gradcheck`` holds of the gradients: second derivatives against differences
    of first ones.

    ``grad_outputs`` are what the first backward pass starts from, random unless given.
    """
    for held, words in (
        (
            check_fwd_over_rev or check_rev_over_rev,
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True",
        ),
        (
            check_rev_over_rev or not check_undefined_grad,
            "Setting check_undefined_grad=True requires check_rev_over_rev to be True",
        ),
        (
            check_rev_over_rev or not check_batched_grad,
            "Setting check_batched_grad=True requires check_rev_over_rev to be True",
        ),
    ):
        if not held:
            raise AssertionError(words)
    func, given = _with_memory(func, inputs, masked)
    if grad_outputs is None:
        outputs = [o for o in _outputs(func, given) if o.requires_grad]
        starts = tuple(_random_like(o, 7 + i) for i, o in enumerate(outputs))
    else:
        starts = tuple(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,)
    n = len(given)

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        with enable_grad():
            x = tuple(
                _leaf(a) if isinstance(a, Tensor) and w.requires_grad and not a.requires_grad else a
                for a, w in zip(args[:n], given, strict=True)
            )
            outputs = [o for o in _outputs(func, x) if o.requires_grad]
            wanted = [t for t in x if isinstance(t, Tensor) and t.requires_grad]
            found = grad(outputs, wanted, args[n:], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradients,
        (*given, *starts),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )


def _leaf(t: Tensor) -> Tensor:
    """Return a leaf that requires grad with the tensor's value; a dual tensor keeps its tangent."""
    return (t if isinstance(t._read(), Dual) else t.detach()).requires_grad_()


def _random_like(output: Tensor, seed: int) -> Tensor:
    """Draw normal numbers from a generator of their own, so that the user's stays where it is."""
    random = np.random.default_rng(seed)
    values = random.standard_normal(output.shape)
    if output.dtype.is_complex:
        values = values + 1j * random.standard_normal(output.shape)
    return wrap(jax.numpy.asarray(values.astype(output.dtype.numpy))).requires_grad_()
