"""Autocast: ops that compute in a lower dtype, in float32, or in the widest of their operands'.

Nothing of it is on an op's path while it is off. An op finds its compiled form in ``spec.cache``;
for the ops that have a policy, entering the first autocast of the process swaps that dictionary for
one which also looks at the thread's state (``modes.current.autocast``), and leaving the last one
swaps it back. The casts stand inside the compiled form, so their gradients are JAX's, and XLA
fuses them. Composites with a policy look at the state themselves (0.1 of their 10 µs and more).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes, modes
from torchlike._core.dispatch.registry import OPS
from torchlike._core.dispatch.spec import AUTOCAST, has_autocast
from torchlike.tensor import Tensor

if TYPE_CHECKING:
    from torchlike._core.dispatch.executable import Executable

T = TypeVar("T")


class State(NamedTuple):
    """What is on in a thread: whose policies, and the lower dtype."""

    device: str
    dtype: np.dtype

    def casting(self, pure: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return an op's pure function with the casts of this state."""
        policy = AUTOCAST[self.device].get(name)
        if policy is None:
            return pure

        def cast(*operands: Any) -> Any:
            # A Python number is weakly typed, and takes the dtype of the tensors.
            floats = [
                getattr(x, "dtype", None) in _CAST and not getattr(x.aval, "weak_type", False)
                for x in operands
            ]
            pairs = list(zip(operands, floats, strict=True))
            target = _target(policy, self, {x.dtype for x, is_float in pairs if is_float})
            return pure(*(x.astype(target) if is_float else x for x, is_float in pairs))

        return cast

    def run(
        self, fn: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run a composite on tensors that are cast (recorded, so gradients come back as they went);
        inside, autocast is off."""
        given = cast_arguments(name, args, kwargs)
        if given is None:
            return fn(*args, **kwargs)
        with switched_off():
            return fn(*given[0], **given[1])


#: float64 is never cast, nor is anything that is no float.
_CAST = frozenset(map(np.dtype, (jnp.bfloat16, np.float16, np.float32)))
_FLOAT32 = np.dtype(np.float32)


def _target(policy: str, state: State, present: Collection[np.dtype]) -> np.dtype:
    if policy == "low":
        return state.dtype
    return _FLOAT32 if policy == "float32" or _FLOAT32 in present else state.dtype


# -- ops -------------------------------------------------------------------------------------------


class _AutocastCache(dict[Any, Any]):
    """The cache of an op while some thread has autocast on: one for each state."""

    def __init__(self, plain: dict[Hashable, Executable]) -> None:
        super().__init__()
        self.plain = plain

    def get(self, key: Hashable, default: Any = None) -> Any:
        state = modes.current.autocast
        if state is None:
            return self.plain.get(key, default)
        return dict.get(self, (state, key), default)

    def __setitem__(self, key: Hashable, value: Executable) -> None:
        state = modes.current.autocast
        if state is None:
            self.plain[key] = value
        else:
            dict.__setitem__(self, (state, key), value)

    def clear(self) -> None:
        dict.clear(self)
        self.plain.clear()


_caches: dict[int, _AutocastCache] = {}  # by the spec's id; specs live as long as the process
#: The specs of ops that have a policy, of so many ops as there were when one was last looked for.
_specs: list[Any] = []
_known = 0
_lock = threading.Lock()
_on = 0


def enter() -> None:
    """Count one more autocast that is on somewhere in the process; the first has ops that have a
    policy use caches that tell states apart."""
    global _on, _known
    with _lock:
        _on += 1
        if _on == 1:
            if _known != len(OPS):
                _specs[:] = [spec for spec in OPS.values() if has_autocast(spec.name)]
                _known = len(OPS)
            for spec in _specs:
                cache = _caches.get(id(spec))
                if cache is None:
                    cache = _caches[id(spec)] = _AutocastCache(spec.cache)
                spec.cache = cache


def leave() -> None:
    """Count one autocast fewer; the last has ops use their plain caches again."""
    global _on
    with _lock:
        _on -= 1
        if _on == 0:
            for spec in _specs:
                spec.cache = spec.cache.plain


# -- composites ------------------------------------------------------------------------------------


def _cast_tensors(value: Any, cast: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return cast(value)
    if type(value) in (list, tuple):
        return type(value)(_cast_tensors(v, cast) for v in value)
    return value


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif type(value) in (list, tuple):
        for v in value:
            yield from _tensors(v)


def asks_of(name: str) -> bool:
    """Return whether the thread's present autocast state casts an op's arguments."""
    state = modes.current.autocast
    return state is not None and name in AUTOCAST[state.device]


def cast_arguments(
    name: str, args: tuple[object, ...], kwargs: dict[str, object]
) -> tuple[tuple[object, ...], dict[str, object]] | None:
    """Cast the arguments of an op as the thread's present autocast state asks for; return None
    where it asks nothing."""
    if not asks_of(name):
        return None
    state = modes.current.autocast
    policy = AUTOCAST[state.device][name]
    whole = (list(args), list(kwargs.values()))
    present = {t.dtype.numpy for t in _tensors(whole)} & _CAST
    kind = dtypes.from_numpy_dtype(_target(policy, state, present))

    def cast(t: Tensor) -> Tensor:
        return t.to(kind) if t.dtype.numpy in _CAST else t

    return _cast_tensors(args, cast), {k: _cast_tensors(v, cast) for k, v in kwargs.items()}


class switched_off:
    """``with switched_off():`` the thread has no autocast."""

    def __enter__(self) -> None:
        self._state = modes.current.autocast
        modes.current.autocast = None

    def __exit__(self, *exc: object) -> None:
        modes.current.autocast = self._state
