"""``__torch_function__``: whose classes and modes are asked before a public function runs, in which
order, and what is passed to them.

The code of every public function comes here once anybody could be asked (``code_exchange.py``).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from torchlike._core import overrides
from torchlike._core.overrides import (
    PLAIN,
    DisableTorchFunctionSubclass,
    Disabling,
    Function,
    Result,
    enable,
    has_function,
    modes_changed,
    no_dispatch,
    no_function,
    start_dispatch,
    state,
)
from torchlike._runtime.homes import home

if TYPE_CHECKING:
    from torchlike._extensions.overrides.python_signatures import Form

Keywords = dict[str, Any]

#: Containers in which arguments are looked for.
_NESTS = (tuple, list)
#: Accessors and methods of Tensor that say the class of their tensor to modes, plain as it may be.
of_self: set[object] = set()


class Declined(TypeError):
    """All that have ``__torch_dispatch__`` gave NotImplemented."""


def dispatches(kind: type) -> bool:
    """Return whether a class has a ``__torch_dispatch__`` that handles its instances."""
    return kind not in PLAIN and getattr(kind, "__torch_dispatch__", no_dispatch) is not no_dispatch


def handlers(values: Iterable[Any], depth: int = 2) -> list[Any]:
    """Return the tensors whose classes have ``__torch_dispatch__``, one of each class, subclasses
    before their bases. ``depth``: of lists to look into."""
    found: list[Any] = []
    if state.dispatch_off:
        return found
    for value in values:
        kind = type(value)
        if kind in PLAIN:
            continue
        if kind in (tuple, list):
            more = handlers(value, depth - 1) if depth else []
        else:
            more = [value] if dispatches(kind) else []
        for one in more:
            kinds = [type(f) for f in found]
            if type(one) not in kinds:
                at = next((i for i, k in enumerate(kinds) if issubclass(type(one), k)), len(found))
                found.insert(at, one)
    return found


def below(plain: Function, public: object, args: tuple[Any, ...], kwargs: Keywords) -> Result:
    """Run a call that no ``__torch_function__`` takes: by handlers of ``__torch_dispatch__``, or
    the ``plain`` code."""
    dispatch = overrides.dispatch
    if dispatch is not None and (
        state.dispatch_modes or handlers((*args, *kwargs.values()) if kwargs else args)
    ):
        return dispatch(public, plain, args, kwargs)
    return plain(*args, **kwargs)


def enter_below(
    public: object, plain: Function, form: Form | None, args: tuple[Any, ...], kwargs: Keywords
) -> Result:
    """Run a call of an op that is not public: ``__torch_function__`` does not see it."""
    return below(plain, public, args, kwargs)


def _collect(
    values: Iterable[Any], found: list[Any], kinds: list[type], depth: int, tensors: bool = False
) -> None:
    for value in values:
        kind = type(value)
        if kind in PLAIN and not (tensors and hasattr(kind, "__torch_function__")):
            continue
        if isinstance(value, _NESTS) and not hasattr(kind, "__torch_function__"):
            if depth:
                _collect(value, found, kinds, depth - 1, tensors)
        elif kind not in kinds and (
            has_function(kind)
            or (tensors and kind in PLAIN and kind.__torch_function__ is not no_function)
        ):
            # Before the first of its bases, so that a subclass can override what they do.
            at = next((i for i, k in enumerate(kinds) if issubclass(kind, k)), len(kinds))
            found.insert(at, value)
            kinds.insert(at, kind)


def overloaded(values: Iterable[object], depth: int = 0) -> list[Any]:
    """Return the values whose classes are to be asked, one of each class, in the order of asking:
    subclasses before their bases, else from left to right. ``depth``: of lists to look into."""
    found: list[Any] = []
    if not (state.off or state.subclasses_off):
        _collect(values, found, [], depth)
    return found


def _asked(
    public: object,
    plain: Function,
    form: Form | None,
    args: tuple[Any, ...],
    kwargs: Keywords,
    operator: bool,
) -> Result:
    now = state
    if now.off:
        return below(plain, public, args, kwargs)
    found = overloaded((*args, *kwargs.values()) if kwargs else args, 2)
    if not found and not now.modes:
        return below(plain, public, args, kwargs)
    if form is None:
        return ask(public, found, args, kwargs or None, False, operator)
    passed = form.passed(args, kwargs)
    if passed is None:  # which it is to refuse
        return plain(*args, **kwargs)
    args, kwargs = passed
    found = []  # plain tensors are counted among those asked
    if not now.subclasses_off:
        _collect((*args, *kwargs.values()), found, [], 2, True)
    return ask(public, found, args, kwargs, True, operator)


def enter(
    public: object,
    plain: Function,
    form: Form | None,
    args: tuple[Any, ...],
    kwargs: Keywords,
) -> Result:
    """Run a call of a public function: its ``plain`` code, unless a mode or an argument's class
    acts in its place. ``form``: how it passes itself on (``python_signatures.py``),
    None for as it came.
    """
    return _asked(public, plain, form, args, kwargs, False)


def enter_operator(
    public: object,
    plain: Function,
    form: Form | None,
    args: tuple[Any, ...],
    kwargs: Keywords,
) -> Result:
    """Run a call as ``enter`` does, for a binary operator: return NotImplemented, which leaves it
    to Python, where all decline."""
    try:
        return _asked(public, plain, form, args, kwargs, True)
    except Declined:
        return NotImplemented


def enter_maker(
    public: object,
    plain: Function,
    form: Form | None,
    args: tuple[Any, ...],
    kwargs: Keywords,
) -> Result:
    """Run a call as ``enter`` does, for a function that modes see, but not the classes of its
    arguments."""
    if state.modes and not state.off:
        return ask(public, (), args, kwargs or None, False)
    with DisableTorchFunctionSubclass():
        return below(plain, public, args, kwargs)


def ask(
    public: object,
    found: Sequence[Any],
    args: tuple[Any, ...],
    kwargs: Keywords | None,
    in_python: bool = True,
    operator: bool = False,
) -> Result:
    """Return the result of the innermost mode, or of the first class that does not decline, for a
    call.

    TypeError when all decline; its words depend on whether the function is written in Python. An
    ``operator`` is NotImplemented then.
    """
    types = tuple(map(type, found))
    if not found and public in of_self and not state.subclasses_off:
        types = (type(args[0]),)
    mode = None
    if state.modes:
        with popped() as mode:
            if isinstance(getattr(mode.__torch_function__, "__self__", None), type):
                raise RuntimeError(
                    "Defining your mode's `__torch_function__` as a classmethod is not supported, "
                    "please make it a plain method"
                )
            result = mode.__torch_function__(public, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for value in found:
        answer = value.__torch_function__
        if getattr(answer, "__self__", None) is value:
            warnings.warn(
                "Defining your `__torch_function__` as a plain method is deprecated and will be an "
                "error in future, please define it as a classmethod.",
                DeprecationWarning if in_python else UserWarning,
                stacklevel=5,
            )
        result = answer(public, types, args, kwargs)
        if result is not NotImplemented:
            return result
    if operator:
        return NotImplemented
    raise TypeError(_nobody(public, types, mode, in_python))


def _nobody(public: object, types: Iterable[type], mode: object, in_python: bool) -> str:
    name = name_of(public)
    if in_python:
        room, _, own = name.rpartition(".")
        name = {"torch": "torch.functional", "torch.Tensor": "torch._tensor"}.get(room, room)
        name += f".{own}"
        said = f"no implementation found for '{name}' on types that implement __torch_function__: "
        return f"{said}{list(types)}" + ("" if mode is None else f" nor in mode {mode}")
    said = f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned "
    said += "NotImplemented:\n\n"
    said += "" if mode is None else f"  - mode object {mode!r}\n"
    said += "".join(f"  - tensor subclass {kind!r}\n" for kind in types)
    return f"{said}\nFor more information, try re-running with TORCH_LOGS=not_implemented"


def name_of(public: Any) -> str:
    """Return a public function's name in messages."""
    owner = getattr(public, "__self__", None)
    if isinstance(owner, property):  # Tensor.shape.__get__
        own = getattr(owner.fget, "__name__", "")
        return f"torch.Tensor.{own}.{public.__name__}"
    name = getattr(public, "__name__", None) or type(public).__name__
    if getattr(public, "__qualname__", "").startswith("Tensor."):
        return f"torch.Tensor.{name}"
    return f"{(home(public) or 'torch').replace('torchlike', 'torch', 1)}.{name}"


def push(mode: object) -> None:
    """Switch a mode on."""
    enable()
    state.modes.append(mode)
    modes_changed()


def pop() -> object:
    """Switch the innermost mode off, and give it.

    RuntimeError, in PyTorch's words, where none is on: a mode's own handler runs without it.
    """
    if not state.modes:
        raise RuntimeError("trying to pop from empty mode stack")
    mode = state.modes.pop()
    modes_changed()
    return mode


def push_dispatch(mode: object) -> None:
    """Switch a mode with ``__torch_dispatch__`` on."""
    enable()
    start_dispatch()
    state.dispatch_modes.append(mode)
    modes_changed()


def pop_dispatch() -> Any:
    """Switch the innermost of those modes off, and give it."""
    mode = state.dispatch_modes.pop()
    modes_changed()
    return mode


class popped:
    """``with popped() as mode:`` without the innermost mode, which is given."""

    def __enter__(self) -> Any:
        self._mode = pop()
        return self._mode

    def __exit__(self, *exc: object) -> None:
        push(self._mode)


class DisableTorchFunction(Disabling):
    """``with DisableTorchFunction():`` neither classes of arguments nor modes are asked."""

    _field = "off"


class EnableTorchFunction:
    """``with EnableTorchFunction():`` both are asked again, inside of those that disable it."""

    def __enter__(self) -> None:
        self._previous = state.off, state.subclasses_off
        state.off = state.subclasses_off = False

    def __exit__(self, *exc: object) -> None:
        state.off, state.subclasses_off = self._previous


class EnablingGuard(EnableTorchFunction):
    """``guard = EnablingGuard()``: both are asked again until the object goes."""

    def __init__(self) -> None:
        self.__enter__()

    def __del__(self) -> None:
        self.__exit__()
