"""Autocast: ops that compute in a lower dtype, in float32, or in the widest of their operands'.

Nothing of it is on an op's path while it is off. An op finds its compiled form in ``spec.cache``;
for the ops that have a policy, entering the first autocast of the process swaps that dictionary for
one which also looks at the thread's state (``modes.current.autocast``), and leaving the last one
swaps it back. The casts stand inside the compiled form, so their gradients are JAX's, and XLA
fuses them. Composites with a policy look at the state themselves (0.1 of their 10 µs and more).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes, modes
from torchlike.tensor import Tensor

if TYPE_CHECKING:
    from torchlike._core.dispatch.executable import Executable
    from torchlike._core.dispatch.spec import OpSpec

T = TypeVar("T")


class State(NamedTuple):
    """What is on in a thread: whose policies, and the lower dtype."""

    device: str
    dtype: np.dtype


#: device -> name -> "low", "float32" or "widest", as the ops' definitions say (``autocast=``). They
#: follow PyTorch's lists, of its CPU and CUDA kernels, and of torch_xla for TPUs; what those
#: compute otherwise without saying (matmul as a part) follows from the parts.
POLICIES: dict[str, dict[str, str]] = {"cpu": {}, "cuda": {}, "xla": {}}
_NAMES_OF_POLICIES = frozenset(("low", "float32", "widest"))


def declare(name: str, policies: str | Mapping[str, str] | None) -> None:
    """Note the policies in an op's definition: one for every device, or one for each of some.

    Definitions of the same name share them: the op ``mse_loss`` and the public function that calls
    it. ValueError for a device or a policy that there is not.
    """
    if policies is None:
        return
    if isinstance(policies, str):
        policies = dict.fromkeys(POLICIES, policies)
    for device, policy in policies.items():
        if device not in POLICIES or policy not in _NAMES_OF_POLICIES:
            raise ValueError(f"op {name}: there is no autocast policy {device}: {policy}")
        POLICIES[device][name] = policy


def _has_policy(name: str) -> bool:
    return any(name in names for names in POLICIES.values())


#: float64 is never cast, nor is anything that is no float.
_CAST = frozenset(map(np.dtype, (jnp.bfloat16, np.float16, np.float32)))
_FLOAT32 = np.dtype(np.float32)


def _target(policy: str, state: State, present: Collection[np.dtype]) -> np.dtype:
    if policy == "low":
        return state.dtype
    return _FLOAT32 if policy == "float32" or _FLOAT32 in present else state.dtype


def casting(pure: Callable[..., T], name: str) -> Callable[..., T]:
    """Return an op's pure function with the casts of the thread's present autocast state."""
    state = modes.current.autocast
    if state is None:
        return pure
    policy = POLICIES[state.device].get(name)
    if policy is None:
        return pure

    def cast(*operands: Any) -> T:
        # A Python number is weakly typed, and takes the dtype of the tensors.
        floats = [
            getattr(x, "dtype", None) in _CAST and not getattr(x.aval, "weak_type", False)
            for x in operands
        ]
        present = {x.dtype for x, f in zip(operands, floats, strict=True) if f}
        target = _target(policy, state, present)
        return pure(*(x.astype(target) if f else x for x, f in zip(operands, floats, strict=True)))

    return cast


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


_specs: list[Any] = []
_caches: dict[int, _AutocastCache] = {}  # by the spec's id; specs live as long as the process
_lock = threading.Lock()
_on = 0


def watch(spec: OpSpec) -> None:
    """Note a registered op; those with a policy are kept."""
    if _has_policy(spec.name):
        _specs.append(spec)


def enter() -> None:
    """Count one more autocast that is on somewhere in the process; the first has ops use caches
    that tell states apart."""
    global _on
    with _lock:
        _on += 1
        if _on == 1:
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


def composite(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Decorate a composite that has a policy; return the function itself without one.

    Its tensors are cast (recorded, so gradients come back as they went), and inside it is off.
    """
    if not _has_policy(name):
        return fn

    @functools.wraps(fn)
    def function(*args: object, **kwargs: object) -> object:
        given = cast_arguments(name, args, kwargs)
        if given is None:
            return fn(*args, **kwargs)
        with switched_off():
            return fn(*given[0], **given[1])

    return function


def asks_of(name: str) -> bool:
    """Return whether the thread's present autocast state casts an op's arguments."""
    state = modes.current.autocast
    return state is not None and name in POLICIES[state.device]


def cast_arguments(
    name: str, args: tuple[object, ...], kwargs: dict[str, object]
) -> tuple[tuple[object, ...], dict[str, object]] | None:
    """Cast the arguments of an op as the thread's present autocast state asks for; return None
    where it asks nothing."""
    if not asks_of(name):
        return None
    state = modes.current.autocast
    policy = POLICIES[state.device][name]
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
