"""``assert_draws_anew``: random functions give other numbers at each call, and the same by seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike.jit._decorator import jit
from torchlike.random import default_generator
from torchlike.tensor import Tensor
from torchlike.testing.comparison import assert_close
from torchlike.testing.state import ReachableState
from torchlike.testing.trees import copied, named_leaves


def assert_draws_anew(fn: Callable[..., Any], *args: Any, seed: int = 0, **kwargs: Any) -> None:
    """Raise AssertionError unless ``fn(*args, **kwargs)`` gives other numbers at its second call,
    and the same two from the same seed; eagerly and compiled.

    It finds what is frozen: a mask that is kept, a key of JAX's that does not change, numbers that
    ``torch.manual_seed`` knows nothing of. Arguments are copied, state that the function reaches
    is put back.

    Args:
      fn: a function or module that draws so many elements that equal draws are no accident.
      args, kwargs: its arguments.
      seed: of the random generator, for both runs.

    Raises:
      AssertionError: the draws are equal, or do not follow from the seed.

    Example:
      >>> torchlike.testing.assert_draws_anew(torch.nn.Dropout(0.5), torch.ones(64))
    """
    state, before = ReachableState(fn), default_generator.get_state()

    def draws(run: Callable[..., Any]) -> list[list[Tensor]]:
        state.restore()
        default_generator.manual_seed(seed)
        found = []
        for _ in range(2):
            a, k = copied(args, kwargs)
            leaves = named_leaves(run(*a, **k), "").values()
            found.append([t.detach().clone() for t in leaves if isinstance(t, Tensor)])
        return found

    try:
        for way, run in (("eagerly", fn), ("compiled", jit(fn, warmup=0))):
            first = draws(run)
            if all(a.equal(b) for a, b in zip(*first, strict=True)):
                raise AssertionError(f"{way}, the second call gives the numbers of the first")
            assert_close(
                draws(run),
                first,
                equal_nan=True,
                msg=lambda text, way=way: f"{way}, the same seed gives other numbers: {text}",
            )
    finally:
        state.restore()
        default_generator.set_state(before)
