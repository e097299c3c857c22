"""What an operator's fake knows while it runs: ``torch.library.get_ctx()``."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator
from typing import Any

from torchlike._compat.symbolic import SymInt


class FakeImplCtx:
    """Gives an operator's fake sizes that only values tell."""

    def __init__(self, shape_env: Any, op: Any, refused: type[Exception]) -> None:
        self._shape_env, self._op, self._refused = shape_env, op, refused

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> SymInt:
        """Return an unbacked symbol for a size within bounds.

        DynamicOutputShapeException where fakes have no ``shape_env``. ValueError for bounds that
        are symbols, or negative.
        """
        if self._shape_env is None:
            raise self._refused(self._op)
        if isinstance(min, SymInt) or isinstance(max, SymInt):
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, max={max}): expected min and max to be "
                "statically known ints but got SymInt. This is not supported."
            )
        if min < 0:
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, ...): expected min to be greater than or equal "
                "to 0: this API can only create non-negative sizes."
            )
        return self._shape_env.unbacked_int(min, math.inf if max is None else max)

    create_unbacked_symint = new_dynamic_size


class _RunningFake(threading.local):
    context: FakeImplCtx | None = None


_running = _RunningFake()


def get_ctx() -> FakeImplCtx | None:
    """Return the context of the operator whose fake runs on fake tensors; None outside of one.

    Example:
      >>> torch.library.get_ctx() is None
      True
    """
    return _running.context


@contextlib.contextmanager
def running(context: FakeImplCtx) -> Iterator[None]:
    """Run a `with` block as an operator's fake."""
    before, _running.context = _running.context, context
    try:
        yield
    finally:
        _running.context = before
