"""Inference tensors are not saved for backward outside of their mode: RuntimeError, as in PyTorch.

Nothing looks for them until inference mode was entered once in this process. From then on nodes are
made by `_node`, which asks the operands that a node keeps. Many ops keep more than their gradient
reads (``torch.where`` its branches), so one that is found is refused only if backward reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax

from torchlike._core import dtypes, errors, modes, tape
from torchlike._core.dispatch.executable import Executable, flatten
from torchlike._core.dispatch.record import OpNode
from torchlike._runtime.jax_private.tracing import inputs_read
from torchlike.tensor import Tensor


def watch() -> None:
    """Look for inference tensors among what nodes keep, from now on and in all threads."""
    type(tape.saving).make = staticmethod(_node)


def _node(
    exe: Executable,
    edges: Any,
    saved: Any,
    avals: Any,
    residuals: Any,
    n_outputs: int,
    shown_operands: tuple[int, ...] | None,
    operands: Sequence[Any],
    output: Tensor | None,
) -> OpNode:
    refuse(exe, operands, saved, avals)
    return OpNode(exe, edges, saved, avals, residuals, n_outputs, shown_operands)


def refuse(exe: Executable, operands: Sequence[Any], saved: Sequence[Any], avals: Any) -> None:
    """Raise RuntimeError for an inference tensor among the operands that backward reads."""
    if exe.rule is not None:
        return  # it keeps its result alone
    for place, i in enumerate(exe.saved):
        o = operands[i]
        if isinstance(o, Tensor) and o._inference and _is_read(exe, saved, avals, place):
            raise RuntimeError(errors.INFERENCE_SAVED)


def refuse_all(tensors: Iterable[Tensor | None]) -> None:
    """Raise RuntimeError for an inference tensor among those that a custom Function saves."""
    if not modes.current.inference and any(t is not None and t._inference for t in tensors):
        raise RuntimeError(errors.INFERENCE_SAVED)


def _is_read(exe: Executable, saved: Sequence[Any], avals: Any, place: int) -> bool:
    """Return whether a gradient of the op is computed from the values of what it keeps at
    ``place``."""
    like = [jax.ShapeDtypeStruct(s.shape, s.dtype) if hasattr(s, "shape") else s for s in saved]
    key = ("is read", place, avals, *(repr(s) for s in like))
    known: dict[Any, Any] = exe.transformed
    if key not in known:
        known[key] = _reads(exe, like, avals, place)
    return known[key]


def _reads(exe: Executable, like: list[Any], avals: Any, place: int) -> bool:
    operands: list[Any] = [None] * (len(exe.saved) + len(exe.unsaved))
    for i, s in zip(exe.saved, like, strict=True):
        operands[i] = s
    for i, aval in zip(exe.unsaved, avals, strict=True):
        operands[i] = None if aval is None else jax.ShapeDtypeStruct(*aval)
    arrays = [i for i, s in enumerate(operands) if isinstance(s, jax.ShapeDtypeStruct)]

    def of_arrays(*values: Any) -> Any:
        merged = list(operands)
        for i, value in zip(arrays, values, strict=True):
            merged[i] = value
        return exe.pure(*merged)

    outputs = flatten(jax.eval_shape(of_arrays, *(operands[i] for i in arrays)))
    cotangents = [o if o.dtype in dtypes.DIFFERENTIABLE else None for o in outputs]

    def backward(value: Any, others: list[Any], cotangents: list[Any]) -> Any:
        kept = [*others[:place], value, *others[place:]]
        return exe._run_backward(avals, kept, None, cotangents)

    others = [*like[:place], *like[place + 1 :]]
    jaxpr = jax.make_jaxpr(backward)(like[place], others, cotangents).jaxpr
    return inputs_read(jaxpr)[0]
