"""``assert_matches_eager``: a compiled function does what it does eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike.jit._optimized_module import uncompiled
from torchlike.random import default_generator
from torchlike.testing.observation import assert_same, observe
from torchlike.testing.state import ReachableState
from torchlike.testing.trees import copied
from torchlike.testing.variants import Variant


def assert_matches_eager(
    fn: Callable[..., Any],
    *args: Any,
    variant: str = "jit",
    calls: int = 2,
    seed: int = 0,
    rtol: float | None = None,
    atol: float | None = None,
    **kwargs: Any,
) -> None:
    """Raise AssertionError unless ``fn(*args, **kwargs)`` does the same compiled and eagerly.

    Compared are the results; gradients of a weighted sum of them, by arguments and modules that
    require grad; the arguments after the call, which may be written in place; the state that the
    function reaches (modules, tensors, optimizers and generators in its closure, in globals that it
    names, in the object that it is a method of); the random generator's state; and the type of an
    error, if there is one. The arguments are copied for each run, and the state is put back, so a
    function that trains can be given. Put back, and not compared, are Python values that it changes
    as well: attributes of objects of yours, lists, dictionaries, variables of closures and globals.

    Args:
      fn: a function, method or module; of one that is compiled already, what was compiled.
      variant: what is held against eager execution: "jit", or another of ``variants``.
      calls: how many calls are made in a row: what is frozen at the first shows at the second.
      seed: of the random generator, for both runs.
      rtol, atol: both or neither; by default rtol 1e-5 and atol 1e-5 of float32, the tolerances of
        ``assert_close`` of other dtypes.

    Raises:
      ValueError: an argument has a history (``grad_fn``): it cannot be copied.
      JitCaptureError: the function cannot be compiled.

    Example:
      >>> layer = torch.nn.Linear(3, 2)
      >>> torchlike.testing.assert_matches_eager(layer, torch.ones(4, 3), calls=1)
    """
    plain = uncompiled(fn)
    compiled = Variant(variant)(plain)
    state = ReachableState(plain)
    changed: list[str] = []
    try:
        eager = _run(plain, args, kwargs, calls, seed, state)
        changed = state.restore()
        found = _run(compiled, args, kwargs, calls, seed, state)
    finally:
        state.restore()
    for number, (ours, expected) in enumerate(zip(found, eager, strict=True), 1):
        who = variant if number == 1 else f"call {number} of {variant}"
        try:
            assert_same(ours, expected, who, rtol=rtol, atol=atol)
        except AssertionError as error:
            if changed:
                error.add_note(
                    f"The function changes Python values: {', '.join(changed)}. They were put back "
                    "between the runs."
                )
            raise


def _run(
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    calls: int,
    seed: int,
    state: ReachableState,
) -> list[dict[str, Any]]:
    """Call a function several times in a row, each time with the arguments as they were at first,
    and return what was observed."""
    before = default_generator.get_state()
    default_generator.manual_seed(seed)
    found = []
    try:
        for _ in range(calls):
            a, k = copied(args, kwargs)
            seen = observe(fn, a, k, state.tensors)
            if "error" not in seen:
                seen.update({f"{n} after the call": t for n, t in state.observed().items()})
                seen["the random generator"] = default_generator.get_state()
            found.append(seen)
    finally:
        default_generator.set_state(before)
    return found
