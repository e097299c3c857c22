"""Makes a `JitFunction` of a function, and holds the settings of all that are made from then on."""

from __future__ import annotations

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


def compiled(
    fn: Callable[..., Any],
    *,
    fallback: str | None = None,
    warmup: int | None = None,
    **options: Any,
) -> Any:
    """Return ``fn`` compiled as ``torchlike.jit`` says; ``limit`` is the `RecompileLimit` of
    ``torch.compile``.

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
