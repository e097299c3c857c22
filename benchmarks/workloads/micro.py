"""One op at a time: dispatch, memory traffic, writing in place.

A case gives NumPy inputs, and for each family of frameworks a function that closes over the arrays
and returns the step to time. `transform` is what the framework does to a function before it is
called: nothing, ``torchlike.jit``, ``torch.compile`` or ``jax.jit``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Step = Callable[[], Any]
Transform = Callable[[Callable[..., Any]], Callable[..., Any]]

MEGABYTE = 1_000_000
ROW = 512


@dataclass(frozen=True)
class Case:
    """One timed op.

    Attributes:
        group: the table it is printed in.
        arrays: makes the inputs.
        in_torch: ``(torch, transform, *tensors) -> step``; `torch` is PyTorch or torchlike.
        in_jax: ``(transform, *arrays) -> step``.
        frameworks: the frameworks for which the case means something.
        wait_each: wait for the result of every call. Left out where the call takes microseconds
            and waiting would be most of it; then the last result of a block is waited for.
        view: the result shares its operand's memory, so that there is nothing to wait for.
    """

    title: str
    group: str
    arrays: Callable[[], tuple[np.ndarray, ...]]
    in_torch: Callable[..., Step]
    in_jax: Callable[..., Step]
    frameworks: tuple[str, ...]
    wait_each: bool
    view: bool = False


def normal(count: int, *shape: int) -> Callable[[], tuple[np.ndarray, ...]]:
    """Return a function that draws `count` float32 arrays of one shape."""

    def make() -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng(0)
        return tuple(rng.standard_normal(shape, dtype=np.float32) for _ in range(count))

    return make


def _op_in_torch(fn: Callable[..., Any]) -> Callable[..., Step]:
    """Return a maker of the step of ``fn(torch, *tensors)``."""

    def make(torch: Any, transform: Transform, *tensors: Any) -> Step:
        call = transform(lambda *args: fn(torch, *args))
        return lambda: call(*tensors)

    return make


def _op_in_jax(fn: Callable[..., Any]) -> Callable[..., Step]:
    """Return a maker of the step of ``fn(jnp, *arrays)``."""

    def make(transform: Transform, *arrays: Any) -> Step:
        import jax.numpy as jnp

        call = transform(lambda *args: fn(jnp, *args))
        return lambda: call(*arrays)

    return make


def _add_in_torch(torch: Any, transform: Transform, a: Any, b: Any) -> Step:
    # A bare lambda: at a microsecond an op, one more Python call would show.
    call = transform(lambda a, b: a + b)
    return (lambda: a + b) if transform is _as_it_is else (lambda: call(a, b))


def _add_in_jax(transform: Transform, a: Any, b: Any) -> Step:
    call = transform(lambda a, b: a + b)
    return (lambda: a + b) if transform is _as_it_is else (lambda: call(a, b))


def _as_it_is(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn


#: The transform of the eager frameworks.
AS_IT_IS: Transform = _as_it_is


def _rows(count: int) -> itertools.cycle[int]:
    """Return row numbers all over the buffer: a row index frozen into a program would recompile
    here."""
    return itertools.cycle((i * 7919) % count for i in range(512))


def _write_row_in_torch(torch: Any, transform: Transform, buffer: Any, row: Any) -> Step:
    index = _rows(buffer.shape[0])

    def step() -> Any:
        buffer[next(index)] = row
        return buffer

    return step


def _write_row_in_jax(transform: Transform, buffer: Any, row: Any) -> Step:
    import jax

    index = _rows(buffer.shape[0])
    write = jax.jit(lambda buffer, row, i: buffer.at[i].set(row), donate_argnums=0)

    def step() -> Any:
        nonlocal buffer
        buffer = write(buffer, row, next(index))
        return buffer

    return step


def _add_one_in_torch(torch: Any, transform: Transform, x: Any) -> Step:
    return lambda: x.add_(1)


def _add_one_in_jax(transform: Transform, x: Any) -> Step:
    import jax

    add = jax.jit(lambda x: x + 1, donate_argnums=0)

    def step() -> Any:
        nonlocal x
        x = add(x)
        return x

    return step


def _row_case(megabytes: int) -> Case:
    rows = megabytes * MEGABYTE // (4 * ROW)
    return Case(
        title=f"buf[i] = row, {rows:,}×{ROW} ({megabytes} MB)",
        group="in place",
        arrays=lambda: (np.zeros((rows, ROW), np.float32), np.ones(ROW, np.float32)),
        in_torch=_write_row_in_torch,
        in_jax=_write_row_in_jax,
        frameworks=("torchlike", "torch", "jax"),
        wait_each=False,
    )


#: name -> (title, number of inputs, ``fn(torch, *tensors)``, ``fn(jnp, *arrays)``).
_ELEMENTWISE: dict[str, tuple[str, int, Callable[..., Any], Callable[..., Any]]] = {
    "exp": ("exp(x)", 1, lambda torch, x: torch.exp(x), lambda jnp, x: jnp.exp(x)),
    "add1": ("x + 1", 1, lambda torch, x: x + 1, lambda jnp, x: x + 1),
    "mul": ("a * b", 2, lambda torch, a, b: a * b, lambda jnp, a, b: a * b),
    "relu": ("relu(x)", 1, lambda torch, x: torch.relu(x), lambda jnp, x: jnp.maximum(x, 0)),
}


def _elementwise_cases() -> dict[str, Case]:
    return {
        f"{name}_{megabytes}mb": Case(
            title=f"{title}, {megabytes} MB",
            group="elementwise",
            arrays=normal(count, megabytes * MEGABYTE // 4),
            in_torch=_op_in_torch(in_torch),
            in_jax=_op_in_jax(in_jnp),
            frameworks=("torchlike", "torch", "jnp"),
            wait_each=True,
        )
        for megabytes in (16, 100)
        for name, (title, count, in_torch, in_jnp) in _ELEMENTWISE.items()
    }


MICRO: dict[str, Case] = {
    "op": Case(
        title="a + b, 64×64",
        group="op overhead",
        arrays=normal(2, 64, 64),
        in_torch=_add_in_torch,
        in_jax=_add_in_jax,
        frameworks=("torchlike", "torchlike.jit", "torch", "torch.compile", "jax", "jnp"),
        wait_each=False,
    ),
    "row_2mb": _row_case(2),
    "row_100mb": _row_case(100),
    "add_": Case(
        title="x.add_(1), 25,000,000 elements",
        group="in place",
        arrays=normal(1, 25_000_000),
        in_torch=_add_one_in_torch,
        in_jax=_add_one_in_jax,
        frameworks=("torchlike", "torch", "jax"),
        wait_each=True,
    ),
    **_elementwise_cases(),
}
