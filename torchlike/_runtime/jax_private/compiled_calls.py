"""Jitted functions whose calls without an executable come to us."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

from torchlike._runtime.jax_private import arrays, jaxprs, tracing
from torchlike._runtime.jax_private.names import declare, log

_COMPILED = "every call is compiled at once"
_FOR = "a jitted function whose calls without an executable come to us"

PJIT = declare("jaxlib._jax.pjit", _FOR, _COMPILED)
CACHE_KEYS = declare(
    "jax._src.interpreters.pxla.JitGlobalCppCacheKeys",
    "the key of JAX's cache in C++ for such a function",
    _COMPILED,
)
SHARD_ARG = declare(
    "jax._src.interpreters.pxla.cc_shard_arg", "how C++ places its arguments", _COMPILED
)
GLOBAL_CACHE = declare("jax._src.pjit._get_cpp_global_cache", "the cache in C++", _COMPILED)
FUNCTION_NAME = declare("jax._src.pjit.fun_name", "its name", _COMPILED)
REGISTRY = declare(
    "jax._src.tree_util.dispatch_registry", "the registry of pytrees that C++ uses", _COMPILED
)
CACHE_MISS = declare(
    "jax.jit(f)._cache_miss", "what JAX does where it has no executable", _COMPILED
)
JIT_INFO = declare("jax.jit(f)._jit_info", "how a function was jitted", _COMPILED)

#: What `CompiledCalls.hooked`, and the first calls that are built upon it, need.
NEEDED = (
    PJIT,
    CACHE_KEYS,
    SHARD_ARG,
    GLOBAL_CACHE,
    FUNCTION_NAME,
    REGISTRY,
    tracing.TRACE_CONTEXT,
    tracing.TRACE_STATE_CLEAN,
    arrays.PUT,
    arrays.ARRAY,
    jaxprs.JAXPR,
    jaxprs.LITERAL,
    tracing.TRACE,
    tracing.WRAP_INIT,
    tracing.DEBUG_INFO,
)
_ATTRIBUTES = "_jit_info", "_cache_miss"


class CompiledCalls:
    """JAX's way to a jitted function's executables, where this JAX has it."""

    def __init__(self) -> None:
        #: What this JAX lacks, or "".
        self.missing = next((name.where for name in NEEDED if not name.exists()), "")
        if not self.missing:
            self._pjit, self._keys = PJIT.find(), CACHE_KEYS.find()
            self._shard_arg, self._cache = SHARD_ARG.find(), GLOBAL_CACHE.find()
            self._name, self._registry = FUNCTION_NAME.find(), REGISTRY.find()
            self.missing = self._trial()
        if self.missing:
            log.warning(
                "JAX %s has no %s as torchlike knows it: operations on new shapes are compiled "
                "at their first call.",
                jax.__version__,
                self.missing,
            )

    def _trial(self) -> str:
        """Try JAX's internals on a jitted function; return the attribute that is not there, or
        ""."""
        jitted: Any = jax.jit(_nothing)
        for attribute in _ATTRIBUTES:
            if not hasattr(jitted, attribute):
                return f"jax.jit(f).{attribute}"
        try:
            self.hooked(_nothing, jitted, jitted._cache_miss)
        except (AttributeError, TypeError) as error:
            return f"{PJIT.where} ({error})"
        return ""

    def hooked(self, function: Any, jitted: Any, cache_miss: Callable[..., Any]) -> Any:
        """Return ``jitted`` with a hook: its calls with a signature that has no executable go to
        ``cache_miss``.

        ``cache_miss`` gives (outputs, what the C++ cache is to keep for this signature or None,
        whether to ask again), as JAX's own does.
        """
        info = jitted._jit_info
        fields = (
            "donate_argnums",
            "donate_argnames",
            "device",
            "backend",
            "in_shardings_treedef",
            "in_shardings_leaves",
            "out_shardings_treedef",
            "out_shardings_leaves",
            "in_layouts_treedef",
            "in_layouts_leaves",
            "out_layouts_treedef",
            "out_layouts_leaves",
            "compiler_options_kvs",
        )
        keys = self._keys(**{name: getattr(info, name) for name in fields})
        pjit = self._pjit(
            self._name(function),
            function,
            cache_miss,
            info.static_argnums,
            info.static_argnames,
            keys,
            self._registry,
            self._shard_arg,
            self._cache(keys.contains_explicit_attributes),
        )
        hooked: Any = functools.wraps(function)(pjit)
        # What methods of JAX's class (lower, trace, eval_shape) look for.
        hooked._fun, hooked._jit_info = function, info
        return hooked


def cache_miss(jitted: Any) -> Callable[..., tuple[Any, ...]]:
    """Return what JAX does for a call of a jitted function without an executable."""
    return jitted._cache_miss


def _nothing() -> None:
    """Do nothing: the function that the trial jits."""


compiled_calls = CompiledCalls()
