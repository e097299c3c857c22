"""``torch._dynamo``: what scripts tell PyTorch's compiler front end, and ask of it.

Dynamo itself has no counterpart: ``torchlike.jit`` captures a whole function, so there is one graph
and no graph break. What cannot be captured raises JitCaptureError.

Imports `compiler`, `jit` and below. Begin with this file; ``utils.py``, ``exc.py`` and the others
are places at which scripts look for names.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torchlike._compat.unsupported import Gap, raising
from torchlike._core import errors, modes
from torchlike._dynamo import config, eval_frame, utils
from torchlike._dynamo import exc as exc
from torchlike._dynamo.eval_frame import is_dynamo_supported
from torchlike._jit.call.function import JitFunction
from torchlike.compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
    set_stance,
    substitute_in_graph,
)
from torchlike.compiler.torch_compile import compile
from torchlike.jit._explain import Explanation
from torchlike.jit._explain import explain as _explain
from torchlike.jit._optimized_module import OptimizedModule
from torchlike.nn import Module
from torchlike.tensor import Tensor

__all__ = [
    "ExplainOutput",
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "error_on_graph_break",
    "eval_frame",
    "explain",
    "export",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "optimize",
    "optimize_assert",
    "register_backend",
    "reset",
    "run",
    "set_stance",
    "skip_frame",
    "substitute_in_graph",
    "utils",
]


@dataclass
class ExplainOutput:
    """What ``explain`` found."""

    graph_count: int
    graph_break_count: int
    break_reasons: list[str]
    #: Instructions of the compiled program.
    op_count: int
    out_guards: list[str] = field(default_factory=list)
    compile_times: str = ""
    #: All that ``torchlike.jit.explain`` says.
    explanation: Explanation | None = None

    def __str__(self) -> str:
        lines = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
            "Break Reasons:",
            *(f"  Break Reason {i}: {why}" for i, why in enumerate(self.break_reasons, 1)),
            "Out Guards:",
            *(f"  Guard {i}: {guard}" for i, guard in enumerate(self.out_guards, 1)),
            f"Compile Times: {self.compile_times}",
        ]
        return "\n".join(lines)


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """Call ``f`` compiled, by ``explain(f)(*args)``, and say how many graphs it took: 1, or 0 with
    the reason when it cannot be compiled and ran eagerly.

    Differs from PyTorch: ``graphs`` and ``ops_per_graph`` are not there; ``torchlike.jit.explain``
    lists the program's inputs, outputs and costs. The call is a real one.
    """
    compiled = JitFunction(f.forward if isinstance(f, Module) else f, fallback="eager")

    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that it runs eagerly: said below
            found = _explain(compiled)(*args, **kwargs)
        if compiled.ran_eagerly:
            return ExplainOutput(0, 1, [found.not_kept], 0, explanation=found)
        return ExplainOutput(
            1, 0, [], found.instructions, found.guards, f"{found.compile_seconds:.4f} s", found
        )

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


def optimize(
    backend: Any = "inductor",
    *,
    nopython: Any = False,
    dynamic: Any = None,
    disable: Any = False,
    **_: Any,
) -> Callable[[Any], Any]:
    """Return ``torch.compile`` as a decorator with arguments."""
    return functools.partial(
        compile, backend=backend, fullgraph=nopython, dynamic=dynamic, disable=disable
    )


def optimize_assert(backend: Any = "inductor", **options: Any) -> Callable[[Any], Any]:
    """Do ``optimize`` with ``nopython=True``, which is always so."""
    return optimize(backend, nopython=True, **options)


def run(fn: Callable[..., Any] | None = None) -> Any:
    """Run ``fn`` with what is compiled already, and eagerly where no program fits; without ``fn``
    return a context manager (``set_stance("eager_on_recompile")``)."""
    stance = _RunOnly()
    return stance if fn is None else stance(fn)


class _RunOnly(contextlib.ContextDecorator):
    def __enter__(self) -> None:
        self._stance = set_stance("eager_on_recompile")

    def __exit__(self, *error: object) -> None:
        self._stance.__exit__(*error)

    def _recreate_cm(self) -> _RunOnly:
        return _RunOnly()


def nonstrict_trace(traceable_fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as it is: a capture runs it, whatever is inside."""
    return traceable_fn


def forbid_in_graph(fn: Any) -> Any:
    """Wrap a function so that it raises AssertionError inside of compiled code; of a list of
    functions each.

    Differs from PyTorch: it is a new function, so the result has to be used.
    """
    if isinstance(fn, (list, tuple)):
        return [forbid_in_graph(f) for f in fn]
    if not callable(fn):
        raise AssertionError("forbid_in_graph applies only to callables")

    @functools.wraps(fn)
    def forbidden(*args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            raise AssertionError(f"Attempt to trace forbidden callable {fn}")
        return fn(*args, **kwargs)

    return forbidden


class error_on_graph_break(contextlib.ContextDecorator):
    """Whether what cannot be compiled inside raises (True), or its function runs eagerly (False):
    a context manager or decorator. The innermost one counts."""

    def __init__(self, error_on_graph_break: bool) -> None:
        self.error_on_graph_break = error_on_graph_break
        #: How many refusals there were at each entry.
        self._before: list[int] = []

    def __enter__(self) -> None:
        self._before.append(len(modes.running_capture().refusals))

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        before, capturing = self._before.pop(), modes.is_capturing()
        refused = modes.the_capture().refusals[before:] if capturing else [error]
        for refusal in refused:  # caught inside, too
            if isinstance(refusal, errors.JitCaptureError) and refusal.is_final is None:
                refusal.is_final = self.error_on_graph_break


_BACKEND = Gap("XLA is the only backend", "torchlike.export and its StableHLO for other compilers")
register_backend = raising("_dynamo.register_backend", _BACKEND)
lookup_backend = raising("_dynamo.lookup_backend", _BACKEND)
export = raising("_dynamo.export", Gap("it gives an FX graph", "torch.export.export"))


def disallow_in_graph(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as it is.

    Differs from PyTorch: there are no graph breaks, so it becomes part of the graph.
    """
    return fn


def graph_break(msg: str = "") -> None:
    """Do nothing: there are no graph breaks."""


skip_frame = graph_break


def mark_dynamic(t: Any, index: Any, **_: Any) -> None:
    """Say that a dimension will change.

    Differs from PyTorch: a program is compiled for each shape (``torchlike.jit.pad_to_bucket``
    keeps them few). TypeError unless ``t`` is a tensor, IndexError for a dimension it has not.
    """
    if not isinstance(t, Tensor):
        raise TypeError(f"mark_dynamic expects a Tensor, not {type(t).__name__}")
    for dim in index if isinstance(index, (tuple, list)) else (index,):
        if not t.dim():
            raise errors.dimension_out_of_range(dim, 0)
        errors.wrap_dim(dim, t.dim())


maybe_mark_dynamic = mark_dynamic


def mark_static(t: Any, index: Any = None) -> None:
    """Do nothing: every dimension is compiled for."""


def mark_static_address(t: Any, guard: Any = True) -> None:
    """Do nothing: arrays have no addresses that a program could rely on."""
