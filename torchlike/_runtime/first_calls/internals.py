"""The private names of JAX that ``first_calls`` needs, looked up once.

Where one is missing, in an older or newer JAX, ``MISSING`` names it, one line is logged, and every
call is compiled at once.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import jax

from torchlike._runtime import logs

log = logs.logger("first_calls")

#: Where each name is found: module, attribute.
NAMES = {
    "pjit": ("jaxlib._jax", "pjit"),
    "cache_keys": ("jax._src.interpreters.pxla", "JitGlobalCppCacheKeys"),
    "shard_arg": ("jax._src.interpreters.pxla", "cc_shard_arg"),
    "global_cache": ("jax._src.pjit", "_get_cpp_global_cache"),
    "function_name": ("jax._src.pjit", "fun_name"),
    "registry": ("jax._src.tree_util", "dispatch_registry"),
    "trace_context": ("jax._src.config", "trace_context"),
    "trace_state_clean": ("jax._src.core", "trace_state_clean"),
    "put": ("jaxlib._jax", "batched_device_put"),
    "array": ("jax._src.array", "ArrayImpl"),
    "jaxpr": ("jax._src.core", "Jaxpr"),
    "literal": ("jax._src.core", "Literal"),
    "trace": ("jax._src.interpreters.partial_eval", "trace_to_jaxpr_dynamic"),
    "wrap_init": ("jax._src.linear_util", "wrap_init"),
    "debug_info": ("jax._src.core", "DebugInfo"),
}


class Internals:
    """The names of ``NAMES`` as attributes."""

    pjit: Callable[..., Any]
    cache_keys: Callable[..., Any]
    shard_arg: Any
    global_cache: Callable[..., Any]
    function_name: Callable[..., Any]
    registry: Any
    trace_context: Callable[[], Any]
    trace_state_clean: Callable[[], bool]
    put: Callable[..., Any]
    array: Any
    jaxpr: Any
    literal: Any
    trace: Callable[..., Any]
    wrap_init: Callable[..., Any]
    debug_info: Callable[..., Any]

    def __init__(self) -> None:
        #: What this JAX lacks, or "".
        self.missing = ""
        for name, (module, attribute) in NAMES.items():
            try:
                setattr(self, name, getattr(importlib.import_module(module), attribute))
            except (ImportError, AttributeError):
                self.missing = f"{module}.{attribute}"
                break
        else:
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
        for attribute in ("_jit_info", "_cache_miss"):
            if not hasattr(jitted, attribute):
                return f"jax.jit(f).{attribute}"
        try:
            self.hooked(_nothing, jitted, jitted._cache_miss)
        except (AttributeError, TypeError) as error:
            return f"{NAMES['pjit'][0]}.pjit ({error})"
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
        keys = self.cache_keys(**{name: getattr(info, name) for name in fields})
        pjit = self.pjit(
            self.function_name(function),
            function,
            cache_miss,
            info.static_argnums,
            info.static_argnames,
            keys,
            self.registry,
            self.shard_arg,
            self.global_cache(keys.contains_explicit_attributes),
        )
        hooked: Any = functools.wraps(function)(pjit)
        # What methods of JAX's class (lower, trace, eval_shape) look for.
        hooked._fun, hooked._jit_info = function, info
        return hooked


def _nothing() -> None:
    """Do nothing: the function that the trial jits."""


internals = Internals()
