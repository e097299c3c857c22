"""Who handles an operator: the modes that are on, the classes of its tensors, or its kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core import modes, overrides
from torchlike._extensions.overrides import protocol
from torchlike.tensor import Tensor


def tensors_of(values: Any) -> list[Tensor]:
    """Return the tensors among arguments and in their lists."""
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            found += tensors_of(value)
    return found


def handled(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> overrides.Result:
    """Run an operator by the innermost mode, else by the first class that does not decline, else by
    the kernel, and return the result. Nothing is recorded: this is below autograd.

    TypeError in PyTorch's words where all decline.
    """
    found = protocol.handlers((*args, *kwargs.values()))
    types = tuple(map(type, found))
    outside = overrides.state.outside
    outside.append(modes.current.grad_enabled)
    try:
        with modes.unrecorded():
            mode = None
            if overrides.state.dispatch_modes:
                mode = protocol.pop_dispatch()
                try:
                    result = _ask_handler(mode, overload, types, args, kwargs)
                finally:
                    protocol.push_dispatch(mode)
                if result is not NotImplemented:
                    return result
            for value in found:
                result = _ask_handler(value, overload, types, args, kwargs)
                if result is not NotImplemented:
                    return result
            if mode is None and not found:
                return overload.operator(*args, **kwargs)
    finally:
        outside.pop()
    raise protocol.Declined(_nobody(overload, types, mode))


def _ask_handler(
    handler: Any, overload: Any, types: Any, args: Any, kwargs: Any
) -> overrides.Result:
    """Call a handler's ``__torch_dispatch__`` and return its answer. RuntimeError in PyTorch's
    words for an answer that is no tensor, where the operator returns one."""
    answer = handler.__torch_dispatch__
    if isinstance(getattr(answer, "__self__", None), type) and not isinstance(handler, Tensor):
        raise RuntimeError(
            "Defining your mode's `__torch_dispatch__` as a classmethod is not supported, please "
            "make it a plain method"
        )
    result = answer(overload, types, args, kwargs)
    if overload.namespace == "torchlike":  # which declares no results
        return result
    if not isinstance(result, Tensor) and result is not None and result is not NotImplemented:
        returns = overload._schema.returns
        given = (result,) if len(returns) == 1 else result
        for kind, value in zip(returns, given, strict=False):
            if kind.base == "Tensor" and not (
                value is None or isinstance(value, (list, tuple) if "[]" in kind.marks else Tensor)
            ):
                raise RuntimeError(f"Unable to cast {value} to {kind.shown()}")
    return result


def _nobody(overload: Any, types: Any, mode: Any) -> str:
    said = (
        f"Multiple dispatch failed for 'torch.ops.{overload}'; all __torch_dispatch__ handlers "
        "returned NotImplemented:\n\n"
    )
    said += "" if mode is None else f"  - mode object {mode!r}\n"
    said += "".join(f"  - tensor subclass {kind!r}\n" for kind in types)
    return f"{said}\nFor more information, try re-running with TORCH_LOGS=not_implemented"


class unhandled:
    """``with unhandled():`` the modes that are on see nothing."""

    def __enter__(self) -> list[Any]:
        self._modes: list[Any] = []
        while overrides.state.dispatch_modes:
            self._modes.append(protocol.pop_dispatch())
        return self._modes[::-1]

    def __exit__(self, *exc: object) -> None:
        for mode in reversed(self._modes):
            protocol.push_dispatch(mode)


#: ``rule(*args, **kwargs)`` of operators that PyTorch makes of others, by their name in aten, or by
#: that of a public function: "F.softmax", "Tensor.to".
COMPOSITES: dict[str, Callable[..., Any]] = {}


def composite(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function to stand for the operators or public functions of these names."""

    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        COMPOSITES.update(dict.fromkeys(names, rule))
        return rule

    return register
