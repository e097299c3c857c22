"""``torch.compiler``: what scripts tell the compiler, and ask of it.

Imports `_jit` and below; torchlike's own compiler is there, not here. Begin with
``torch_compile.py``, which turns ``torch.compile``'s arguments into those of `torchlike.jit`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from torchlike._compat.unsupported import Gap, raising
from torchlike._core import modes
from torchlike._core.dispatch.registry import NAMESPACES, clear_executables
from torchlike._jit.call.function import reset_all
from torchlike._runtime.first_calls.report import report
from torchlike._runtime.first_calls.settings import get_first_calls, set_first_calls
from torchlike._runtime.trees import flatten, unflatten
from torchlike.compiler.stance import set_stance
from torchlike.compiler.torch_compile import compile
from torchlike.jit._optimized_module import uncompiled
from torchlike.tensor import Tensor

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "cudagraph_mark_warmup_incomplete",
    "disable",
    "get_default_backend",
    "get_first_calls",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe",
    "list_backends",
    "load_cache_artifacts",
    "load_compiled_function",
    "nested_compile_region",
    "nonstrict_trace",
    "report",
    "reset",
    "save_cache_artifacts",
    "set_default_backend",
    "set_enable_guard_collectives",
    "set_first_calls",
    "set_stance",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph",
    "wrap_numpy",
]

_default_backend: Any = None


def is_compiling() -> bool:
    """Return whether this code runs while ``torchlike.jit`` captures it, or torch.export traces it;
    False in what ``torch.jit`` scripts or traces."""
    if modes.is_capturing():
        return not modes.the_capture().scripting
    return modes.current.exporting


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """Return whether this code runs while torch.export traces it."""
    return modes.current.exporting


def disable(
    fn: Any = None, recursive: Any = True, *, reason: str | None = None
) -> Callable[..., Any]:
    """Return the function itself, uncompiled.

    Differs from PyTorch: there are no graph breaks. Called inside compiled code, the function
    becomes part of the graph; what it cannot do there raises JitCaptureError as anywhere.
    """
    if fn is None:
        return disable
    return uncompiled(fn)


def allow_in_graph(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as it is: everything is allowed in the graph."""
    return fn


def nonstrict_trace(traceable_fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as it is: tracing is what runs in every compiled function.

    Differs from PyTorch: tensors that it closes over are inputs of the program, with gradients, not
    constants.
    """
    return traceable_fn


def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as it is: Python results are constants of the graph already."""
    return fn


def substitute_in_graph(
    original_fn: Callable[..., Any],
    *,
    can_constant_fold_through: bool = False,
    skip_signature_check: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives its function back.

    Differs from PyTorch: a capture runs Python, C functions included, so ``original_fn`` itself is
    called; there is nothing to take its place in a graph. TypeError unless both are callable.
    """
    if not callable(original_fn):
        raise TypeError(f"substitute_in_graph expects a function, not {original_fn!r}")

    def decorate(traceable_fn: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(traceable_fn):
            raise TypeError(f"substitute_in_graph decorates functions, not {traceable_fn!r}")
        return traceable_fn

    return decorate


def nested_compile_region(
    fn: Any = None, *, options: Any = None, max_reuse_entries: int = 8, reuse_hash_fn: Any = None
) -> Callable[..., Any]:
    """Return the function as it is; also a decorator with arguments.

    Differs from PyTorch: its body is traced at each of its calls. ``torchlike.jit.scan_layers``
    compiles equal layers once.
    """
    return nested_compile_region if fn is None else fn


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of NumPy arrays as one of tensors on the host: tensors in the arguments
    become arrays, arrays in the result tensors.

    Differs from PyTorch: it is not part of a graph. Inside of a compiled function it raises
    JitCaptureError, and an argument that requires grad raises RuntimeError; write the function
    with tensors for both.
    """

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        leaves = [x.numpy() if isinstance(x, Tensor) else x for x in leaves]
        args, kwargs = unflatten(structure, leaves)
        leaves, structure = flatten(fn(*args, **kwargs))
        as_tensor = NAMESPACES[""]["as_tensor"]
        return unflatten(
            structure,
            [as_tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in leaves],
        )

    return wrapped


def cudagraph_mark_step_begin() -> None:
    """Do nothing: a jitted step is one executable."""


def cudagraph_mark_warmup_incomplete() -> None:
    """Do nothing: no CUDA graphs are recorded, and so none too early."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Return ["xla"]."""
    return ["xla"]


def set_default_backend(backend: Any) -> None:
    """Set what ``get_default_backend`` says from now on; None for "inductor", PyTorch's.

    Differs from PyTorch: it has no other effect, since XLA is the only backend (as has ``backend=``
    of ``torch.compile``). TypeError unless ``backend`` is a string, callable or None.
    """
    global _default_backend
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"backend must be a string, a callable or None, not {backend!r}")
    _default_backend = backend


def get_default_backend() -> str:
    """Return the backend that ``set_default_backend`` was given last, or "inductor"."""
    return "inductor" if _default_backend is None else _default_backend


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Return False: what was set before. NotImplementedError for True: there is one process, so
    nobody to agree with about recompiling."""
    if enabled:
        raise NotImplementedError(
            "torch.compiler.set_enable_guard_collectives(True): there is one process, which drives "
            "all devices, so no other one can disagree about recompiling. Leave the call out."
        )
    return False


def _every_guard(guard_entries: Sequence[Any]) -> list[bool]:
    """Keep every guard: a program is run only where all that it took for granted holds.

    Differs from PyTorch: no guard is skipped, whatever the function's name promises; that costs
    about 50 ns a value and call, and is never wrong.
    """
    return [True for _ in guard_entries]


def keep_tensor_guards_unsafe(
    guard_entries: Sequence[Any], keep_parameters: bool = False
) -> list[bool]:
    """Keep every guard, as the other filters do."""
    return _every_guard(guard_entries)


keep_portable_guards_unsafe = skip_guard_on_inbuilt_nn_modules_unsafe = _every_guard
skip_guard_on_all_nn_modules_unsafe = skip_guard_on_globals_unsafe = _every_guard
skip_all_guards_unsafe = _every_guard

_CACHE = Gap(
    "compiled programs are kept in JAX's cache folder",
    "TORCHLIKE_CACHE_DIR, and copy that folder",
)
save_cache_artifacts = raising("compiler.save_cache_artifacts", _CACHE)
load_cache_artifacts = raising("compiler.load_cache_artifacts", _CACHE)
load_compiled_function = raising(
    "compiler.load_compiled_function",
    Gap("Dynamo's files hold bytecode and guards", "torch.export.save and torch.export.load"),
)


def reset() -> None:
    """Forget every compiled program; what is run next is compiled again. The stance stays."""
    reset_all()
    clear_executables()
    jax.clear_caches()
