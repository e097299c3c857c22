"""Large results in the memory of earlier ones that nobody holds any more.

Memory that was given back to the system comes again page by page, each filled with zeros: ``x + 1``
on 100 MB takes 24 ms then (so it does in PyTorch) and 4 otherwise. `tune_allocator` asks glibc to
keep what is freed, but the heaps of any thread other than the first are of 64 MiB, no larger block
fits into one, and which thread allocates is for XLA to say. An array cannot be told to lie in
memory of ours; a program, though, writes its result into an operand's memory that it is given to
keep. So the array of a large result is put aside when its cell goes and nothing else holds it, and
the next op with such a result gets it beside its operands, from the fourth result of a kind on: it
is a second program to compile.

Only eager results that are not recorded on the tape: the arrays that a graph keeps are freed by it,
cell or no cell. Put aside are `_MOST` bytes at most, in processes that called `tune_allocator`.
Once an op has given a large result, it asks how large its operands are (0.6 µs).

Evaluating six convolutions with batch norm and relu, 84 MB a result: 330 or 790 ms, by which thread
allocated (without any of these settings 780), so 440, for what is put aside is not there for a
convolution's temporary memory. From 8 MiB on, where results are 17 MB: 63 -> 66 to 98 ms, and
530 MB instead of 360; smaller results are therefore left to the allocator.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Protocol, TypeGuard

import jax
import numpy as np
from jax import core

from torchlike._runtime import targets

#: Results of fewer bytes are left to the allocator.
_LEAST = 32 << 20
#: How many results of a kind an op has to have given.
_OFTEN = 2
#: Operands of fewer elements give no such result (of bools may come 64-bit numbers), broadcasting
#: aside.
_FEWEST = _LEAST // 8
#: Bytes put aside at most: three results of 100 MB. A function of seven ops on 100 MB frees four at
#: its end: with two put aside it takes 72 ms, with three or four 37 (PyTorch 220).
_MOST = 384 << 20

_enabled = False
_free: deque[jax.Array] = deque()


class Recyclable(Protocol):
    """What gives large results: an executable."""

    #: {signature of operands: (kind of the result, how many there were)}
    large: dict[Hashable, tuple[Hashable, int]]
    forward: Callable[..., Any]

    @property
    def into(self) -> Callable[..., Any]:
        """``forward`` of all but the first argument, in the memory of that."""
        ...


def enable() -> None:
    """Put aside what is freed from now on, by ops whose first large result comes after this."""
    global _enabled
    _enabled = True


def concerns(avals: Iterable[Any]) -> bool:
    """Return whether an op that is being traced for these results should ask `forward`: not one of
    sizes that are symbols, about which no condition may become part of an exported program."""
    return _enabled and targets.is_cpu() and any(map(_is_known_to_be_large, avals))


def _is_known_to_be_large(aval: Any) -> bool:
    return all(type(n) is int for n in aval.shape) and _bytes(aval.shape, aval.dtype) >= _LEAST


def forward(exe: Recyclable, arrays: Sequence[object]) -> Any:
    """Run ``exe.forward(*arrays)``, outside any capture, in the memory of an array put aside where
    there is one."""
    for a in arrays:
        if math.prod(getattr(a, "shape", ())) >= _FEWEST:
            break
    else:
        return exe.forward(*arrays)
    key = _signature(arrays)
    if key is None:
        return exe.forward(*arrays)
    kind, times = exe.large.get(key, (None, 0))
    spare = _take(kind) if times >= _OFTEN else None
    if spare is not None:
        return exe.into(spare, *arrays)
    out = exe.forward(*arrays)
    if type(out) is not tuple:
        exe.large[key] = _kind(out), times + 1
    return out


def is_large(array: Any) -> bool:
    """Return whether a result of `forward` is worth putting aside when its cell goes."""
    enough = math.prod(array.shape) >= _FEWEST
    return enough and _bytes(array.shape, array.dtype) >= _LEAST


def put_aside(array: Any) -> None:
    """Keep an array that nothing holds any more for the next result of its kind."""
    if _is_concrete(array) and not array.is_deleted():
        _free.append(array)
        # Without a lock: a garbage collection may come here again at any line.
        while sum(a.nbytes for a in tuple(_free)) > _MOST:
            _free.popleft()


def clear() -> None:
    """Give back all that is put aside."""
    _free.clear()


def _take(kind: Hashable) -> jax.Array | None:
    """Take out the array of that kind that was put aside last, which may still be in the
    processor's cache; return None where there is none."""
    others = []
    try:
        while True:
            found = _free.pop()
            if _kind(found) == kind:
                return found
            others.append(found)
    except IndexError:
        return None
    finally:
        _free.extend(reversed(others))


def _signature(arrays: Sequence[object]) -> tuple[Hashable, ...] | None:
    """Return the key on which the result's shape and dtype depend; None where an operand has no
    values."""
    key = []
    for a in arrays:
        if not hasattr(a, "shape"):
            key.append(type(a))
        elif _is_concrete(a):
            key.append(_kind(a))
        else:
            return None
    return tuple(key)


def _kind(array: jax.Array) -> tuple[Hashable, ...]:
    return array.shape, array.dtype, array.sharding


def _is_concrete(a: object) -> TypeGuard[jax.Array]:
    return isinstance(a, jax.Array) and not isinstance(a, core.Tracer)


def _bytes(shape: tuple[int, ...], dtype: np.dtype) -> int:
    return math.prod(shape) * dtype.itemsize
