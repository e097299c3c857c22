"""``torch.compiler.set_stance``: what compiled functions do, from one place."""

from __future__ import annotations

from typing import Any

from torchlike._core import errors, modes
from torchlike._jit.call.function import exchange_stance
from torchlike.autograd.grad_mode import DecoratingContext, F

_STANCES_TEXT = """
default force_eager eager_on_recompile fail_on_recompile eager_then_compile
"""
_STANCES = tuple(_STANCES_TEXT.split())


class set_stance(DecoratingContext):
    """Say what functions given to ``torchlike.jit`` or ``torch.compile`` do when they are called:
    as a statement from now on, as a context manager, or as a decorator of a function. It holds for
    all threads and for functions compiled before as well.

    - "default": compile what no program fits.
    - "force_eager": run everything eagerly.
    - "eager_on_recompile": run what is compiled, and the rest eagerly.
    - "fail_on_recompile": RuntimeError instead of compiling, a first call included. It says what
      changed.
    - "eager_then_compile": run the first call that would compile eagerly, for each function.

    ``torch.jit.script``, ``trace`` and ``torch.export`` compile whatever the stance is.

    Differs from PyTorch: an unknown stance is refused here rather than by the next call.

    Raises:
      RuntimeError: for an unknown stance; inside of a function that is being compiled.
      NotImplementedError: for "aot_eager_then_compile", ``skip_guard_eval_unsafe`` and
        ``force_backend``.

    Example:
      >>> double = torch.compile(lambda x: 2 * x)
      >>> with torch.compiler.set_stance("force_eager"):
      ...     double(torch.ones(2))
      tensor([2., 2.])
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: Any = None,
    ) -> None:
        if force_backend is not None:
            if stance != "default":
                raise RuntimeError("non-default stance cannot have force_backend set")
            raise NotImplementedError(
                "torch.compiler.set_stance(force_backend=...): XLA is the only backend. Use "
                "set_stance('force_eager') to run everything eagerly."
            )
        if skip_guard_eval_unsafe:
            raise NotImplementedError(
                "torch.compiler.set_stance(skip_guard_eval_unsafe=True): a program is never run "
                "without asking whether it fits (about 50 ns a value). torchlike.jit.explain lists "
                "what is asked; what need not be looked up inside can be passed as an argument."
            )
        if stance == "aot_eager_then_compile":
            raise NotImplementedError(
                "torch.compiler.set_stance('aot_eager_then_compile'): XLA is the only backend. Use "
                "'eager_then_compile'."
            )
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}': one of {_STANCES}")
        if modes.is_capturing():
            refusal = errors.JitCaptureError("attempted to set_stance in a torch.compile region")
            refusal.is_final = True  # eagerly, it would be set
            raise refusal
        self._stance = stance
        self._previous = exchange_stance(stance)

    def __call__(self, function: F) -> F:
        """Decorate a function to run under this stance; outside of its calls the stance is what it
        was."""
        exchange_stance(self._previous)
        return super().__call__(function)

    def _again(self) -> set_stance:
        return set_stance(self._stance)

    def __enter__(self) -> None:
        exchange_stance(self._stance)

    def __exit__(self, *exc: object) -> None:
        exchange_stance(self._previous)
