"""``torch.compile``: PyTorch's spelling of ``torchlike.jit``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, overload

from torchlike._jit.call.entry import compiled
from torchlike._jit.call.programs import of_options
from torchlike._jit.call.recompile_limit import RecompileLimit
from torchlike._runtime.lazy import LazyModule
from torchlike.jit._optimized_module import OptimizedModule
from torchlike.nn import Module

#: Imported with the first specification.
specified: Any = LazyModule("torchlike.compiler.specified")

#: What is compiled is called as it was.
_F = TypeVar("_F", bound=Callable[..., Any])


@overload
def compile(
    model: _F,
    *,
    fullgraph: Any = False,
    dynamic: Any = None,
    backend: Any = "inductor",
    mode: Any = None,
    options: Any = None,
    disable: Any = False,
    name: Any = None,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
    dynamic_shapes: Any = None,
) -> _F: ...
@overload
def compile(
    model: None = None,
    *,
    fullgraph: Any = False,
    dynamic: Any = None,
    backend: Any = "inductor",
    mode: Any = None,
    options: Any = None,
    disable: Any = False,
    name: Any = None,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
    dynamic_shapes: Any = None,
) -> Callable[[_F], _F]: ...
def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: Any = False,
    dynamic: Any = None,
    backend: Any = "inductor",
    mode: Any = None,
    options: Any = None,
    disable: Any = False,
    name: Any = None,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
    dynamic_shapes: Any = None,
) -> Any:
    """Compile a function or module; also a decorator, with or without arguments.

    A module comes back as the ``OptimizedModule`` around it, which calls it compiled; the module
    itself stays as it is. ``module.compile()`` compiles it in place.

    Differs from PyTorch: there are no graph breaks. The whole function becomes one graph, or runs
    eagerly with a warning that names the line that is in the way (its modules are compiled by
    themselves then); with ``fullgraph=True`` that line is a JitCaptureError. A function that raises
    an error of its own leaves what it did before; with ``fullgraph=True`` all is as it was.
    The first calls of a large function run eagerly while it is compiled. ``options={"warmup": k}``,
    ``torchlike.jit``'s ``warmup``, says how many do, and 0 to wait at the first. Other ``options``,
    ``backend`` and ``mode`` are accepted and have no effect, since XLA is the only backend.
    ``dynamic`` speaks of Python numbers among the arguments (see ``torchlike.jit``): each shape
    compiles once.

    Args:
      model: a function or module.
      fullgraph: whether what cannot be compiled raises instead of running eagerly.
      dynamic: whether Python numbers among the arguments are traced; see ``torchlike.jit``.
      backend, mode: accepted, without effect.
      options: ``{"warmup": k}`` runs the first k calls eagerly while XLA compiles; without, their
        number depends on the program's size.
      disable: give ``model`` back as it is.
      recompile_limit: for how many kinds of calls it is compiled, of those that differ in more
        than sizes and numbers (in sizes as well, with ``dynamic=False``). Others run eagerly, or
        raise with ``fullgraph=True``. None means ``torch._dynamo.config.recompile_limit`` with
        ``fullgraph=True``, and no limit without. PyTorch counts changes of what a function reads
        from outside as well.
      name, isolate_recompiles: accepted, without effect: each compiled function has its own
        programs and counts by itself.
      dynamic_shapes: what ``torch.fx.experimental.dynamic_spec`` says of the arguments: a
        ShapesSpec, ParamsSpec or dict. Each call is checked against it, and an int that is an
        IntVar is traced from the first call on. ``shapes_spec`` is its name in PyTorch 2.13. What a
        function with ``@dynamic_spec`` says goes without it.

    Returns:
      the compiled function, or the ``OptimizedModule``; without ``model``, the decorator.

    Raises:
      JitCaptureError: from a call that cannot be compiled, with ``fullgraph=True``.
      FailOnRecompileLimitHit: (of ``torch._dynamo.exc``) from a call beyond ``recompile_limit``,
        with ``fullgraph=True``.
      InternalTorchDynamoError, AssertionError, RuntimeError: from a call that ``dynamic_shapes``
        does not allow: a number or a rank, a range or a sum, an assumption.
      TypeError: ``recompile_limit`` is no number, or ``dynamic_shapes`` says nothing of shapes.
      ValueError: two of ``dynamic``, ``dynamic_shapes`` and ``shapes_spec``.

    Example:
      >>> @torch.compile
      ... def double(x):
      ...     return 2 * x
      >>> double(torch.ones(2))
      tensor([2., 2.])
    """
    limit = RecompileLimit.of(recompile_limit, fullgraph)
    name_of_spec = "dynamic_shapes" if shapes_spec is None else "shapes_spec"
    if shapes_spec is not None and dynamic_shapes is not None:
        raise ValueError("`shapes_spec` is `dynamic_shapes` by its older name: pass one of them.")
    spec = shapes_spec if dynamic_shapes is None else dynamic_shapes
    if spec is not None or hasattr(getattr(model, "forward", model), "_dynamic_spec"):
        spec = specified.spec_of(model, spec, name_of_spec)
        _check(dynamic, name_of_spec)
    if model is None:
        return functools.partial(
            compile,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            disable=disable,
            recompile_limit=recompile_limit,
            **{name_of_spec: spec},
        )
    if disable:
        return model
    how: dict[str, Any] = {
        "dynamic": dynamic,
        "fallback": None if fullgraph else "eager",
        "warmup": of_options(options),
        "limit": limit,
    }
    if spec is not None:
        how["numbers"] = functools.partial(specified.SpecifiedNumbers, spec)
    return OptimizedModule(model, **how) if isinstance(model, Module) else compiled(model, **how)


def _check(dynamic: Any, name: str) -> None:
    if dynamic is not None:
        raise ValueError(
            f"`dynamic` and `{name}` cannot both be set. `{name}` controls dynamic behavior."
        )
