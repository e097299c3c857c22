"""Calls above autograd: operators that PyTorch makes of others stay whole.

A mode with ``pre_dispatch`` sees ``linear``, where one below autograd sees ``t`` and ``addmm``. It
is asked instead of autograd: results say that they require grad, and hang on a node that has no
backward pass.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torchlike._core import dtypes, modes, overrides
from torchlike._core.tape import Node, gradient_edge
from torchlike.ops._aten import arguments, handlers, schemas
from torchlike.ops._aten.handlers import tensors_of
from torchlike.ops._aten.packets import aten
from torchlike.ops._aten.recording import has_no_gradient

#: ``rule(*args, **kwargs)`` of public functions that call a whole operator by other arguments than
#: their own, by their marked name: "F.cross_entropy", "Tensor.float".
WHOLE: dict[str, Callable[..., Any]] = {}


def whole(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function that tells which whole operator the public functions of these names
    call."""

    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        WHOLE.update(dict.fromkeys(names, rule))
        return rule

    return register


def is_on() -> bool:
    """Return whether the innermost mode sees whole operators."""
    found = overrides.state.dispatch_modes
    return bool(found) and getattr(found[-1], "pre_dispatch", False)


def rule_of(
    names: tuple[str, ...], otherwise: Callable[..., Any] | None, call: Callable[..., Any]
) -> Any:
    """Return the rule that stands for a public function: ``rule(plain, args, kwargs)``.

    Args:
      names: what it may be called in ``WHOLE`` and among aten's operators, the likeliest first.
      otherwise: its rule below autograd.
      call: ``call(rule, plain, args, kwargs)`` of a rule of ``WHOLE``.
    """
    for name in names:
        if name in WHOLE:
            return functools.partial(call, WHOLE[name])
    operator = next((n for n in names if "." not in n and schemas.overloads_of(n)), None)
    if operator is None:
        return otherwise
    lines = schemas.overloads_of(operator).values()
    if otherwise is not None and not any(line.is_composite for line, _ in lines):
        return otherwise  # it is one operator below autograd, too
    return functools.partial(_called_whole, operator, otherwise)


def _called_whole(
    name: str, otherwise: Callable[..., Any] | None, plain: Any, args: Any, kwargs: dict[str, Any]
) -> Any:
    """Call the operator of this name, or the rule that stands for it below autograd, where no
    overload takes the arguments."""
    given = dict(kwargs)
    wants_grad = given.pop("requires_grad", False)
    written = given.pop("inplace", False)
    found = arguments.fit(name + "_" * bool(written), args, given)
    if found is None:
        return plain(*args, **kwargs) if otherwise is None else otherwise(plain, args, kwargs)
    packet = getattr(aten, name + "_" * bool(written))
    result = recorded(getattr(packet, found.overload or "default"), found.args, found.kwargs)
    return result.requires_grad_() if wants_grad else result


class AbstractNode(Node):
    """What a traced result that requires grad hangs on."""

    def run(self, cotangents: Any) -> Any:
        """Raise RuntimeError: a trace above autograd has no backward pass."""
        raise RuntimeError(
            f"{self.name}: a graph that is traced above autograd (torch.export, "
            "make_fx(pre_dispatch=True)) has no backward pass; take gradients of its results"
        )


def recorded(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> overrides.Result:
    """Run the operator and return its result, as the mode gives it. It requires grad where an
    argument does."""
    result = handlers.handled(overload, args, kwargs)
    wanted = [t for t in tensors_of((*args, *kwargs.values())) if t.requires_grad]
    if not wanted or not modes.current.grad_enabled or has_no_gradient(overload):
        return result
    node = AbstractNode(overload.operator.name, [gradient_edge(t) for t in wanted])
    for t in tensors_of((result,)):
        if t.dtype.numpy in dtypes.DIFFERENTIABLE and not t.requires_grad:
            t._node, t._output_nr, t._requires_grad = node, 0, True
    return result
