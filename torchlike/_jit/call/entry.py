"""``torchlike.jit(fn)``, and what holds for all functions that are given to it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torchlike._jit.call.function import JitFunction
from torchlike._jit.call.programs import checked

_mode = "on"
_fallback: str | None = None
_warmup: int | None = None


def set_mode(mode: str) -> None:
    """Set whether ``jit`` and ``compile`` compile the functions that they are given from now on.

    Args:
      mode: "on" (the default), or "off", which makes them give functions back as they are.

    Raises:
      ValueError: another mode.

    Example:
      >>> torchlike.jit.set_mode("off")
      >>> def double(x):
      ...     return 2 * x
      >>> torchlike.jit(double) is double
      True
      >>> torchlike.jit.set_mode("on")
    """
    global _mode
    if mode not in ("on", "off"):
        raise ValueError(f"mode must be 'on' or 'off', not {mode!r}")
    _mode = mode


def set_fallback(fallback: str | None) -> None:
    """Set what happens to calls that cannot be compiled, of functions that are given to ``jit`` or
    ``compile`` from now on and do not say.

    Args:
      fallback: "eager" runs them eagerly with a warning; None, the default, raises JitCaptureError.

    Raises:
      ValueError: another value.

    Example:
      >>> torchlike.jit.set_fallback("eager")
      >>> torchlike.jit.set_fallback(None)
    """
    global _fallback
    if fallback not in (None, "eager"):
        raise ValueError(f"fallback must be None or 'eager', not {fallback!r}")
    _fallback = fallback


def set_warmup(calls: int | None) -> None:
    """Set how many calls of a kind run eagerly at first (``warmup=``) where functions that are
    given to ``jit`` or ``compile`` from now on do not say.

    Args:
      calls: how many; 0 compiles the first call; None, the default, as many as compiling is thought
        to take, and none where the program is small.

    Raises:
      TypeError: ``calls`` is no int and not None.
      ValueError: it is below 0.

    Example:
      >>> torchlike.jit.set_warmup(2)
      >>> torchlike.jit(torch.sin).warms_up
      True
      >>> torchlike.jit.set_warmup(None)
    """
    global _warmup
    _warmup = checked(calls)


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
      a `JitFunction` with the function's name; ``fn`` itself after ``set_mode("off")``, and
      where it is one already; without ``fn``, the decorator.

    Example:
      >>> @torchlike.jit
      ... def scaled(x, k):
      ...     return (x * k).sum()
      >>> scaled(torch.arange(4.0), 2)
      tensor(12.)
      >>> scaled.compiles
      1
    """
    if fn is None:
        return functools.partial(
            jit,
            max_programs=max_programs,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            dynamic=dynamic,
            fallback=fallback,
            warmup=warmup,
            checks=checks,
        )
    return compiled(
        fn,
        max_programs=max_programs,
        static_argnums=static_argnums,
        static_argnames=static_argnames,
        dynamic=dynamic,
        fallback=fallback,
        warmup=warmup,
        checks=checks,
    )


def compiled(
    fn: Callable[..., Any],
    *,
    fallback: str | None = None,
    warmup: int | None = None,
    **options: Any,
) -> Any:
    """Return ``fn`` compiled as `jit` says; ``limit`` is the `RecompileLimit` of ``torch.compile``.

    TypeError where it cannot be called.
    """
    if not callable(fn):
        raise TypeError(f"jit expects a function or module, not {type(fn).__name__}")
    if warmup is not None:
        checked(warmup)
    if _mode == "off" or isinstance(fn, JitFunction):
        return fn
    return JitFunction(
        fn,
        fallback=fallback or _fallback,
        warmup=_warmup if warmup is None else warmup,
        heeds_stance=True,
        **options,
    )
