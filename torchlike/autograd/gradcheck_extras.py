"""What gradcheck looks at beside Jacobians: undefined gradients, and gradients of several rows."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from torchlike._core.dispatch.record import snapshot
from torchlike._core.tape import Node
from torchlike._extensions.boxed import VmapLevel
from torchlike._extensions.boxes import Batched
from torchlike.autograd import forward_ad
from torchlike.autograd.backward import all_rows, grad
from torchlike.autograd.function import FunctionNode
from torchlike.tensor import Tensor, wrap


class GradcheckError(RuntimeError):
    """Raised by gradcheck where gradients and finite differences disagree."""


_UNDEFINED = (
    "Expected all input grads to be undefined or zero when all output grads are undefined or zero. "
    'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
)
_NOT_HANDLED = (
    'Expected backward function to handle undefined output grads. Please look at "Notes about '
    'undefined output gradients" in "tools/autograd/derivatives.yaml"'
)
_COMPATIBILITY = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by "
    "default, but it may break existing callers of this function. If this is true for you, you can "
    'call this function with "check_undefined_grad=False" to disable the feature'
)


def check_undefined(outputs: Sequence[Tensor]) -> None:
    """Raise GradcheckError where a custom Function makes something of gradients that are all absent
    (or one absent and the others zero). Operators' own nodes are not run then."""
    for node in _functions(outputs):
        if not node.ctx._materialize:
            _check_backward(node, [None] * node.n_outputs)
        if node.n_outputs > 1:
            zeros = [_zeros(aval) for aval in node.avals]
            for i in range(node.n_outputs):
                _check_backward(node, [None if j == i else z for j, z in enumerate(zeros)])


def _functions(outputs: Sequence[Tensor]) -> list[FunctionNode]:
    """Return the nodes of custom Functions behind the outputs."""
    found: list[FunctionNode] = []
    seen: set[Node] = set()
    stack: list[Any] = [o._node for o in outputs]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if isinstance(node, FunctionNode):
            found.append(node)
        stack += [edge[0] for edge in node.edges if edge is not None]
    return found


def _zeros(aval: Any) -> Any:
    return None if aval is None else wrap(np.zeros(aval[0], aval[1]))


def _check_backward(node: FunctionNode, given: list[Any]) -> None:
    try:
        found = node.run_graph(given)
    except RuntimeError as error:
        warnings.warn(_COMPATIBILITY, UserWarning)
        raise GradcheckError(_NOT_HANDLED) from error
    if any(g is not None and bool((g != 0).any()) for g in found):
        warnings.warn(_COMPATIBILITY, UserWarning)
        raise GradcheckError(_UNDEFINED)


def _rows(t: Tensor) -> Tensor:
    """Draw two random rows of a tensor's shape and dtype, from a generator of their own."""
    random = np.random.default_rng(3)
    values = random.standard_normal((2, *t.shape))
    if t.dtype.is_complex:
        values = values + 1j * random.standard_normal((2, *t.shape))
    return wrap(values.astype(t.dtype.numpy))


@contextlib.contextmanager
def _telling(what: str) -> Iterator[None]:
    """Turn what vmap refuses in a `with` block into a GradcheckError, which says what failed."""
    try:
        yield
    except RuntimeError as error:
        raise GradcheckError(
            f"While computing batched gradients, got: {error}\n\n{what}"
        ) from error


def check_batched(outputs: Sequence[Tensor], xs: Sequence[Tensor]) -> None:
    """Raise GradcheckError where gradients of two rows at once are not those of one after the
    other."""
    for k, output in enumerate(outputs):
        rows = _rows(output)
        singly = [grad(output, xs, row, retain_graph=True, allow_unused=True) for row in rows]
        with _telling(
            "gradcheck or gradgradcheck failed while testing batched gradient computation: it runs "
            "backward within vmap."
        ):
            at_once = grad(
                output, xs, rows, retain_graph=True, allow_unused=True, is_grads_batched=True
            )
        for i, found in enumerate(at_once):
            _compare([each[i] for each in singly], found, k, i, "gradients")


def detached(inputs: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Return the inputs without history, and the positions of those that are differentiated."""
    wanted = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]
    return [t.detach() if isinstance(t, Tensor) else t for t in inputs], wanted


def with_tangent(
    plain: Sequence[Any], wanted: Sequence[int], which: int, tangent: Tensor
) -> tuple[Any, ...]:
    """Return the inputs as duals: one with this tangent, the others that are differentiated with
    zeros."""
    duals = list(plain)
    for i in wanted:
        x = plain[i]
        direction = tangent if i == which else _zeros((tuple(x.shape), x.dtype.numpy))
        duals[i] = forward_ad.make_dual(x, direction)
    return tuple(duals)


def check_batched_forward(
    func: Callable[..., Any],
    inputs: Sequence[Any],
    which: int,
    outputs: Callable[..., Sequence[Tensor]],
) -> None:
    """Check forward mode as ``check_batched`` checks gradients, by the input at ``which``.
    ``outputs(func, inputs)`` runs it."""
    plain, wanted = detached(inputs)
    rows = _rows(plain[which])

    def pushed(tangent: Tensor) -> list[Tensor | None]:
        with forward_ad.dual_level():
            duals = with_tangent(plain, wanted, which, tangent)
            return [forward_ad.unpack_dual(o).tangent for o in outputs(func, duals)]

    singly = [pushed(row) for row in rows]
    with (
        _telling(
            "gradcheck failed while testing batched forward-mode gradient computation: it runs "
            "forward mode within vmap."
        ),
        VmapLevel(2, "error") as level,
    ):
        found = pushed(wrap(Batched(level, snapshot(rows))))
        at_once = [None if g is None else all_rows(level, g) for g in found]
    for k, one in enumerate(at_once):
        _compare([each[k] for each in singly], one, k, which, "forward-mode gradients")


def _compare(
    singly: list[Tensor | None], at_once: Tensor | None, k: int, i: int, what: str
) -> None:
    for row, one in enumerate(singly):
        if one is None or at_once is None:
            continue
        if not np.allclose(at_once[row].tolist(), one.tolist(), 1e-5, 1e-8, equal_nan=True):
            raise GradcheckError(
                f"For output {k} and input {i}:\n\ngradcheck or gradgradcheck failed while "
                f"testing batched {what}: row {row} is {at_once[row]}, alone {one}"
            )
