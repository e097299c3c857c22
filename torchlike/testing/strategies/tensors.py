"""A strategy for tensors: dtypes, a small pool of shapes, layouts in memory, special values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core import dtypes as _dtypes
from torchlike._ops import functions
from torchlike.tensor import Tensor
from torchlike.testing.strategies.dtypes import checked
from torchlike.testing.strategies.hypothesis_package import st
from torchlike.testing.strategies.values import values

#: Few shapes, so that few programs are compiled: scalars, ones that broadcast, sizes of zero. The
#: simplest first, to which hypothesis shrinks, and those without elements last, which would be in
#: its way.
SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (1,),
    (3,),
    (1, 3),
    (4, 1),
    (2, 3),
    (3, 3),
    (2, 1, 4),
    (2, 3, 4),
    (0,),
    (0, 3),
    (2, 0),
)

#: Contiguous elements end to end, and views: of a tensor that is written in another order, of every
#: second element, of the inside of a larger tensor, of one element many times.
LAYOUTS = ("contiguous", "transposed", "strided", "offset", "expanded")


def shapes(dims: int | Sequence[int] = (0, 1, 2, 3), zero: bool = True) -> Any:
    """Return a strategy for shapes of the pool with so many dimensions.

    Args:
      dims: the number of dimensions, or several.
      zero: whether sizes of zero are among them.

    Returns:
      the strategy, of tuples of ints.

    Raises:
      ValueError: the pool has no such shape.

    Example:
      >>> import hypothesis
      >>> from torchlike.testing import strategies
      >>> @hypothesis.settings(max_examples=5, database=None, deadline=None)
      ... @hypothesis.given(strategies.shapes(dims=(2,), zero=False))
      ... def check(shape):
      ...     assert len(shape) == 2 and 0 not in shape
      >>> check()
    """
    counts = (dims,) if isinstance(dims, int) else tuple(dims)
    found = [s for s in SHAPES if len(s) in counts and (zero or 0 not in s)]
    if not found:
        raise ValueError(f"no shape of the pool has {counts} dimensions: give 0 to 3")
    return st.sampled_from(found)


def tensors(
    dtype: Any = None,
    shape: Any = None,
    *,
    layouts: Sequence[str] = LAYOUTS,
    special: bool = True,
    low: float = -4,
    high: float = 4,
    requires_grad: Any = False,
    device: Any = "cpu",
) -> Any:
    """Return a strategy for tensors, also non-contiguous ones, expanded ones and views into larger
    tensors.

    Elements are drawn by hypothesis's own strategies. A falsifying example shrinks in all that it
    has: dtype, shape, layout, requires_grad, and each element. It prints as Python that makes it.

    Args:
      dtype: one, or a strategy; float32 by default. ``strategies.dtypes()`` draws from all.
      shape: one, or a strategy; ``shapes()``, a pool of twelve, by default.
      layouts: from `LAYOUTS`; the first is the simplest.
      special: whether some examples hold NaN, infinities, both zeros, the smallest normal and the
        largest number of the dtype (of integers, both ends). Without it floats are 0 or at least
        as large as the dtype's eps.
      low, high: bounds of the other values.
      requires_grad: True, False, or a strategy for both; of floating point and complex tensors
        alone. The tensor is a leaf.
      device: where they are made.

    Raises:
      ValueError: the device lacks the dtype, an unknown layout, or ``low`` above ``high``.

    Returns:
      the strategy.

    Example:
      >>> import hypothesis
      >>> from torchlike.testing import strategies
      >>> @hypothesis.settings(max_examples=5, database=None, deadline=None)
      ... @hypothesis.given(strategies.tensors(shape=(2, 3), special=False))
      ... def check(x):
      ...     assert x.shape == (2, 3) and x.abs().max() <= 4
      >>> check()
    """
    kinds = st.just(_dtypes.float32) if dtype is None else dtype
    if not isinstance(kinds, st.SearchStrategy):
        kinds = st.just(checked(dtype, device))
    if not layouts or not set(layouts) <= set(LAYOUTS):
        raise ValueError(f"layouts must be some of {LAYOUTS}, not {tuple(layouts)}")
    if low > high:
        raise ValueError(f"low must not be above high, but {low} > {high}")
    sizes = shapes() if shape is None else shape
    if not isinstance(sizes, st.SearchStrategy):
        sizes = st.just(tuple(sizes))
    grads = requires_grad
    if not isinstance(grads, st.SearchStrategy):
        grads = st.just(bool(requires_grad))

    return _tensors(kinds, sizes, st.sampled_from(layouts), special, (low, high), grads, device)


@st.composite
def _tensors(
    draw: Any,
    kinds: Any,
    sizes: Any,
    layouts: Any,
    special: bool,
    bounds: tuple[float, float],
    grads: Any,
    device: Any,
) -> Tensor:
    kind = checked(draw(kinds), device)
    size, layout, grad = tuple(draw(sizes)), draw(layouts), draw(grads)
    is_special = special and draw(st.booleans())
    memory, view = _LAYOUTS[layout](size) if size else ((), _whole)
    t = view(functions.from_numpy(draw(values(kind, memory, is_special, *bounds))))
    t = t if str(device) == "cpu" else t.to(device)
    return t.requires_grad_() if grad and kind.category >= 2 else t


#: The shape of what is in memory, and the view of it that the tensor is.
_Layout = tuple[tuple[int, ...], Callable[[Tensor], Tensor]]


def _whole(memory: Tensor) -> Tensor:
    return memory


def _transposed(size: tuple[int, ...]) -> _Layout:
    return size[::-1], lambda memory: memory.permute(*reversed(range(len(size))))


def _strided(size: tuple[int, ...]) -> _Layout:
    return (*size[:-1], 2 * size[-1]), lambda memory: memory[..., ::2]


def _offset(size: tuple[int, ...]) -> _Layout:
    return (size[0] + 2, *size[1:]), lambda memory: memory[1 : size[0] + 1]


def _expanded(size: tuple[int, ...]) -> _Layout:
    return (1, *size[1:]), lambda memory: memory.expand(size)


_LAYOUTS: dict[str, Callable[[tuple[int, ...]], _Layout]] = {
    "contiguous": lambda size: (size, _whole),
    "transposed": _transposed,
    "strided": _strided,
    "offset": _offset,
    "expanded": _expanded,
}
