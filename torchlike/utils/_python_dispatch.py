"""``torch.utils._python_dispatch``: modes that see operators below autograd, and what wrapper
subclasses are written with.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from torchlike._core import overrides
from torchlike._extensions.overrides import protocol
from torchlike._extensions.wrapper_storage import WrapperStorage
from torchlike.ops._aten.handlers import unhandled
from torchlike.tensor import Tensor

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "_disable_current_modes",
    "_get_current_dispatch_mode",
    "_get_current_dispatch_mode_stack",
    "_pop_mode",
    "_pop_mode_temporarily",
    "_push_mode",
    "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]


class TorchDispatchMode:
    """``with mode:`` operators come to ``mode.__torch_dispatch__(func, types, args, kwargs)``.

    ``func`` is an overload such as ``torch.ops.aten.add.Tensor``. Inside, the mode is off, and
    nothing is recorded by autograd.
    """

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: Any = None) -> None:
        self._entered: list[int] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> overrides.Result:
        raise NotImplementedError

    def __enter__(self) -> Self:
        _push_mode(self)
        return self

    def __exit__(self, *exc: object) -> None:
        protocol.pop_dispatch()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """Return an instance, as it was made before ``with`` took instances."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Return False: no mode is PyTorch's own."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that does nothing but run the operators."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> overrides.Result:
        return func(*args, **(kwargs or {}))


def _push_mode(mode: TorchDispatchMode) -> None:
    """Switch a mode on."""
    protocol.push_dispatch(mode)


def _pop_mode(k: Any = None) -> Any:
    """Switch the innermost mode off, and give it."""
    return protocol.pop_dispatch()


@contextlib.contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    """Remove the innermost mode, which is given, for a `with` block."""
    mode = protocol.pop_dispatch()
    try:
        yield mode
    finally:
        protocol.push_dispatch(mode)


def _disable_current_modes() -> Any:
    """Switch all modes off within a `with` block, which is given those that were on."""
    return unhandled()


def _get_current_dispatch_mode() -> Any:
    """Return the innermost mode, or None without one."""
    on = overrides.state.dispatch_modes
    return on[-1] if on else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """Return the modes that are on, innermost last."""
    return list(overrides.state.dispatch_modes)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Return whether a mode is on; unless asked, those that say ``is_infra_mode()`` do not
    count."""
    on = overrides.state.dispatch_modes
    return any(include_infra_modes or not m.is_infra_mode() for m in on)


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Return whether an object can be taken apart and made again: it has ``__tensor_flatten__`` and
    ``__tensor_unflatten__``."""
    return is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: Any) -> bool:
    """Return whether instances of a class are what `is_traceable_wrapper_subclass` asks for."""
    return (
        isinstance(t, type)
        and issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(
    t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """Rebuild a wrapper like ``t`` on other inner tensors: ``callback(name, inner)`` for each.

    AssertionError where the result has not the size asked for.
    """
    outer_size = t.size() if outer_size is None else outer_size
    outer_stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(inner, context, outer_size, outer_stride)
    if made.shape != tuple(outer_size):
        raise AssertionError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal to "
            f"{outer_size}, but got: {made.shape}"
        )
    return made


def return_and_correct_aliasing(
    func: Any, args: Sequence[Any], kwargs: Any, out: Any
) -> overrides.Result:
    """Return the result that a handler gives back: for an argument that ``func`` writes, that
    argument itself; for a view, ``out`` as a view of its argument.

    AssertionError for an operator that writes where the argument has the alias of no result.
    """
    schema = func._schema
    named = {a.name: i for i, a in enumerate(schema.arguments)}
    written = [a for a in schema.arguments if a.is_written]
    if written:
        found = []
        for a in written:
            at = named[a.name]
            found.append((kwargs or {})[a.name] if a.name in (kwargs or {}) else args[at])
        results = len(schema.returns)
        if not results:
            return out
        return found[0] if results == 1 else type(out)(found[:results])
    if func.is_view and args and isinstance(args[0], Tensor):
        base = args[0] if args[0]._base is None else args[0]._base
        # What is detached shares memory, and is no view to autograd.
        is_detached = func.overloadpacket.__name__ == "detach"
        for o in (out,) if isinstance(out, Tensor) else out:
            if isinstance(o, Tensor) and o is not args[0] and o._base is None:
                o._base = None if base is o or is_detached else base
                if isinstance(o._storage, WrapperStorage):
                    o._storage.root = getattr(args[0]._storage, "root", args[0]._storage)
    return out
