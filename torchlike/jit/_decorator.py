"""``torchlike.jit(fn)``, which is ``torchlike.jit.jit``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torchlike._jit.call.entry import compiled
from torchlike.jit._optimized_module import JitModule, OptimizedModule
from torchlike.nn import Module


def jit(
    fn: Callable[..., Any] | None = None,
    *,
    max_programs: int = 64,
    static_argnums: Any = None,
    static_argnames: Any = None,
    dynamic: bool | None = None,
    fallback: str | None = None,
    warmup: int | None = None,
    checks: bool | None = None,
) -> Any:
    """Compile a function, method or module; also a decorator, with or without arguments.

    A new shape, dtype, grad mode, training flag or static argument compiles again, and so does a
    change of any plain Python value that the function read (a global, a closure variable, an
    attribute, an element of a list; in functions it calls too). The same signature never does.
    ``max_programs`` are kept; of more, the one unused for longest goes.

    Numbers among the arguments (int, float) are frozen into the program at first. An argument that
    made the function compile again twice by changing its value is *traced* from then on: one
    program serves all its values, with the bits of eager execution. Comparisons of it (``if step >
    100``) become guards; where its value itself is needed in Python (a shape, ``range``, an
    f-string, ``math.sqrt``) it stays static.

    Args:
      fn: what to compile.
      max_programs: how many programs are kept.
      static_argnums: positions of arguments that stay static: each value is compiled for.
      static_argnames: the same by name.
      dynamic: True traces numbers from the first call on; False never does. (Shapes are always
        compiled for: XLA's programs have fixed shapes.)
      fallback: "eager" runs calls that cannot be compiled (or would be at every call) eagerly, with
        a warning that names the line, instead of raising JitCaptureError, and compiles the modules
        that they call; counters and logs go on at every call. ``torch.compile`` means this.
      warmup: how many calls run eagerly at first, while XLA compiles in a thread; 0 waits for the
        compiler at the first. None means what ``set_warmup`` said, or as many as compiling is
        thought to take, or loading where the executable is on disk: none for a program of up to 600
        equations. It is counted for each program (a new shape warms up, too). The second of these
        calls is traced as well, and raises what cannot be compiled (``warmup=1``: the first). The
        call after them runs the program and waits for it, if need be: results do not depend on
        timing. An error of XLA's is raised there.
      checks: whether the program checks values as eager operations do (is an index in range?), by
        default unless ``TORCHLIKE_CHECKS=off``. The error of such a check is the eager one. It is
        raised when a value is read next, at a later call (on the CPU one of the next sixteen), by
        ``synchronize()``, or at the end of the process; parameters, buffers and optimizers are then
        as they were before the call that failed. Without, an index out of range reads NaN.

    ``if``, ``while``, ``for``, ``and``, ``or``, ``not`` and ternaries on tensors' values become
    part of the graph (see ``_jit.control_flow.rewriting``).

    A function that changes a plain Python value, reads a clock or draws from Python's or NumPy's
    random is right at every call, because it is compiled at every call; the third warns.

    Differs from eager execution: ``print`` and other output run once per compilation; what a file
    or a socket gave is frozen; an exception leaves Python values, too, as they were before. Lists
    and dictionaries among the arguments are copies inside; what the function changes in them is
    put into the caller's own at each call. One that it also reaches another way (a global), or
    keeps, cannot be changed: JitCaptureError.

    Raises:
      JitCaptureError: when a value is needed in Python while the graph is captured (``.item()``,
        ``if tensor:``); the message names the line and what to write instead.
      TypeError: ``fn`` cannot be called, or ``warmup`` is no int.
      ValueError: ``warmup`` is negative.

    Returns:
      a `JitFunction` with the function's name; of a module the ``OptimizedModule`` around it, as
      ``torch.compile`` gives, with the names of a `JitFunction`, too, that the module does not
      have; ``fn`` itself where it is one already, and a function after ``set_mode("off")``; without
      ``fn``, the decorator.

    Example:
      >>> @torchlike.jit
      ... def scaled(x, k):
      ...     return (x * k).sum()
      >>> scaled(torch.arange(4.0), 2)
      tensor(12.)
      >>> scaled.compiles
      1
    """
    options: dict[str, Any] = {
        "max_programs": max_programs,
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "dynamic": dynamic,
        "fallback": fallback,
        "warmup": warmup,
        "checks": checks,
    }
    if fn is None:
        return functools.partial(jit, **options)
    if isinstance(fn, OptimizedModule):
        return fn
    return JitModule(fn, **options) if isinstance(fn, Module) else compiled(fn, **options)
