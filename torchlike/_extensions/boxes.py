"""Boxes: what a cell holds, in an array's place, while a ``torch.func`` transform runs.

``vmap`` and ``jvp`` are *levels*. Inside one, a tensor's cell may hold a box of that level: a value
for each example (`Batched`), or a value and its tangent (`Dual`). Inside a box are tensors of the
level below, with their own places on the tape, which may again be boxed::

    vmap(f)(x)       Tensor -> cell: Batched(level 1) -> Tensor -> cell: jax.Array

A box is a kind of cell (torchlike/_core/cells.py) with the shape and dtype that the transformed
function sees. An executable met by boxes is itself transformed (by ``jax.vmap`` or ``jax.jvp``),
cached, and run on what is inside, one level at a time from the innermost. So the hot path asks
nothing, and every op has it.

A tensor's ``requires_grad`` and node belong to the level of its cell: ``vmap(grad(f))`` gives a
gradient for each example, while what was recorded outside of ``vmap`` is on the tape of the tensors
inside the boxes, and sums over the examples.
"""

from __future__ import annotations

import textwrap
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from torchlike._core import cells, errors, modes
from torchlike._core.cells import StandIn
from torchlike._runtime import printing
from torchlike.tensor import Tensor


class _Reverse(threading.local):
    """What this thread knows of reverse-mode transforms, which need no level."""

    #: How many ``grad``, ``vjp`` and ``linearize`` are running their function.
    running = 0


reverse = _Reverse()


class Level:
    """A running transform. `depth` orders nested ones; the innermost has the greatest."""

    #: What error messages call it.
    transform = ""
    #: Whether tensors of the level may be used after it ended.
    outlived = False
    #: The storages made while the level runs, where it is asked what its function made itself.
    made: weakref.WeakSet[Any] | None = None

    def __init__(self) -> None:
        self.depth = len(modes.current.levels)
        self.alive = True

    def __enter__(self) -> Any:
        modes.current.levels = (*modes.current.levels, self)
        return self

    def __exit__(self, *exc: object) -> None:
        modes.current.levels = modes.current.levels[:-1]
        self.alive = False

    def apply(self, exe: Any, arrays: list[Any]) -> Any:
        """Run an executable on operands of which some are boxes of this level: a box for each
        output (a tuple of them where the op gives one)."""
        raise NotImplementedError

    def execute(self, exe: Any, arrays: list[Any], operands: Any) -> Any:
        """Run an executable at this level, and record it. Return tensors."""
        raise NotImplementedError

    def backward(self, node: Any, operands: list[Any]) -> Any:
        """Run the backward of a recorded op, whose operands include boxes of this level."""
        raise NotImplementedError

    def adopt(self, storage: Any) -> None:
        """Note a new storage as made inside this level."""
        if self.made is not None:
            self.made.add(storage)

    def check_out(self, targets: Any, operands: Any, name: str) -> None:
        """Refuse ``out=`` where a transform cannot have it: on duals, and for what vmap maps in
        tensors that it does not."""
        if any(map(_has_tangent, (*targets, *operands))):
            tensors = [t for t in (*targets, *operands) if isinstance(t, Tensor)]
            if modes.current.grad_enabled and any(t.requires_grad for t in tensors):
                raise RuntimeError(errors.OUT_RECORDED.format(name))
            raise NotImplementedError(
                f"Trying to use forward AD with {name}_out that does not support it because it is "
                "an out= function"
            )
        if any(map(_is_mapped, operands)) and not all(map(_is_mapped, targets)):
            raise RuntimeError(
                f"Batching rule not implemented for aten::{name}.out; the fallback path doesn't "
                "work on out= or view ops."
            )

    def lift(self, value: Any) -> Box:
        """Return a tensor of a lower level as a box of this one."""
        raise NotImplementedError

    def call(self, function: Callable[..., Any], arrays: list[Any]) -> Any:
        """Apply a function of arrays that is no op, such as the read of a view, at this level."""
        raise NotImplementedError


class Mapped(Level):
    """A running ``vmap``: the number of examples, and whether random numbers differ in them."""

    transform = "vmap"
    #: Whether what it maps over has the examples otherwise in memory than one after the other.
    reordered = False

    def __init__(self, size: int, randomness: str) -> None:
        super().__init__()
        self.size = size
        self.randomness = randomness
        #: What it maps over: the user's tensor, its mapped dimension, one example of it.
        self.entered: list[tuple[Any, int, Any]] = []


class Box(StandIn):
    """A value of a transform: the level it belongs to, and the tensor inside."""

    __slots__ = ("level", "value")
    precedence = 2
    has_values = True

    def __init__(self, level: Level, value: Any, shape: Iterable[int], dtype: Any) -> None:
        self.level = level
        self.value = value
        self.shape = tuple(shape)
        self.dtype = dtype

    def __jax_array__(self) -> Any:
        raise NotImplementedError(
            f"this operation reads whole arrays and does not work inside {self.level.transform}; "
            "use PyTorch operators there"
        )

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise RuntimeError(errors.UNWRAP_TRANSFORMED)

    def astype(self, dtype: Any) -> Any:
        return cells.apply(lambda x: x.astype(dtype), self)

    def reshape(self, *shape: Any) -> Any:
        return cells.apply(lambda x: x.reshape(*shape), self)

    def __getitem__(self, index: Any) -> Any:
        return cells.apply(lambda x: x[index], self)

    @property
    def device(self) -> Any:
        return self.value.device

    @classmethod
    def execute(cls, exe: Any, arrays: list[Any], operands: Any, again: Callable[..., Any]) -> Any:
        return _level_among(arrays).execute(exe, arrays, operands)

    @classmethod
    def backward(cls, node: Any, cotangents: list[Any]) -> Any:
        operands = [*node.saved, *cotangents]
        return _level_among(operands).backward(node, operands)

    @classmethod
    def apply(cls, function: Callable[..., Any], arrays: list[Any]) -> Any:
        return _level_among(arrays).call(function, arrays)

    @classmethod
    def outputs_of(cls, exe: Any, arrays: list[Any]) -> list[Any]:
        return [_inside(x) for x in _level_among(arrays).apply(exe, arrays)]

    def innermost(self, t: Any) -> Any:
        return innermost(t)

    def check_write(self, storage: Any) -> None:
        check_write(storage, self)

    def host_values(self, t: Any, asked: str, instead: str) -> np.ndarray:
        return visible(t._read(), asked, instead)._value(asked, instead)

    def shown(self, t: Any) -> str | None:
        return repr(t._read())


class Batched(Box):
    """A value for each example of a ``vmap``, along the first dimension of the tensor inside; or
    (not `batched`) one value for all of them that takes part in the level's autograd."""

    __slots__ = ("batched",)

    def __init__(self, level: Level, value: Any, batched: bool = True) -> None:
        shape = value._read().shape
        super().__init__(level, value, shape[1:] if batched else shape, value.dtype.numpy)
        self.batched = batched

    def check_data(self, written: bool = False) -> None:
        if written:
            raise RuntimeError(
                "mutating directly with `.data` under vmap transform is not allowed."
            )
        if self.batched:
            raise RuntimeError("accessing `data` under vmap transform is not allowed")

    def detached(self) -> Batched:
        return Batched(self.level, self.value.detach(), self.batched)

    def __repr__(self) -> str:
        dim = 0 if self.batched else None
        return (
            f"BatchedTensor(lvl={self.level.depth + 1}, bdim={dim}, value=\n"
            f"{textwrap.indent(repr(self.value), '    ')}\n)"
        )


class Dual(Box):
    """A value (the primal) and its tangent, a tensor of the same shape; None stands for zeros."""

    __slots__ = ("tangent",)

    def __init__(self, level: Level, value: Any, tangent: Any = None) -> None:
        super().__init__(level, value, value._read().shape, value.dtype.numpy)
        self.tangent = tangent

    def detached(self) -> Dual:
        return Dual(self.level, self.value.detach())

    def leaf_gradient(self) -> Dual:
        """Return the gradient without its tangent."""
        return self.detached()

    def shared_with_numpy(self, t: Any) -> np.ndarray | None:
        return t._read().value.detach().numpy()

    def __repr__(self) -> str:
        text = repr(self.value)
        if self.tangent is None or not self.level.alive:
            return text
        if not self.shape:
            return f"{text[:-1]}, tangent={self.tangent.item()})"
        more = f"tangent={self.tangent!r}"
        alone = (
            len(text.rpartition("\n")[2]) + len(more) + 1 > printing.get_printoptions()["linewidth"]
        )
        return f"{text[:-1]},{alone * (chr(10) + ' ' * 6)} {more})"


BOXES = frozenset((Batched, Dual))


def top(arrays: Iterable[Any]) -> Level | None:
    """Return the innermost level of the boxes among operands; None without boxes.

    RuntimeError for a box whose transform has ended: it escaped through a side effect. (A level of
    ``forward_ad`` may end: its tensors are then their primals.)
    """
    found: Level | None = None
    for a in arrays:
        if type(a) in BOXES and (found is None or a.level.depth > found.depth):
            found = a.level
    if found is not None and not (found.alive or found.outlived):
        raise RuntimeError(errors.ESCAPED.format(transform=found.transform))
    return found


def _level_among(arrays: Iterable[Any]) -> Level:
    level = top(arrays)
    assert level is not None
    return level


def apply(function: Callable[..., Any], *arrays: Any) -> Any:
    """Return ``function(*arrays)``, on boxes too. For functions that live as long as the
    process."""
    return cells.apply(function, *arrays) if modes.current.levels else function(*arrays)


def _has_tangent(t: Any) -> bool:
    """Return whether a tensor (or one among several) is a dual of a level of forward_ad."""
    if isinstance(t, (tuple, list)):
        return any(map(_has_tangent, t))
    cell = t._read() if isinstance(t, Tensor) else None
    return type(cell) is Dual and cell.level.outlived and cell.tangent is not None


def _is_mapped(t: Any) -> bool:
    """Return whether a tensor (or one among several) has a value for each example of a vmap."""
    if isinstance(t, (tuple, list)):
        return any(map(_is_mapped, t))
    cell = t._read() if isinstance(t, Tensor) else None
    return type(cell) is Batched and cell.batched


def drawing_levels() -> list[Any]:
    """Return the running vmaps for whose examples random numbers differ, outermost first.

    RuntimeError in PyTorch's words where the innermost forbids random numbers.
    """
    found: list[Any] = []
    for level in modes.current.levels:
        if isinstance(level, Mapped):
            if level.randomness == "error":
                raise RuntimeError(errors.VMAP_RANDOM)
            if level.randomness == "different":
                found.append(level)
    return found


def reordered(cell: Any) -> bool:
    """Return whether a cell holds a box of examples whose order in memory differs in PyTorch from
    that in which torchlike keeps them."""
    return type(cell) in BOXES and any(
        isinstance(level, Mapped) and level.reordered for level in modes.current.levels
    )


def lifted_as(made: Any, like: Any) -> Any:
    """Lift the value of ``made``, a tensor with the shape of another, into the levels of that one,
    so that what the level computes may be written into it. Return ``made``."""
    cell = like._storage.cell
    if type(cell) in BOXES:
        made._storage.cell = cell.level.lift(lifted_as(made, cell.value))
    return made


def check_write(storage: Any, new: Box) -> None:
    """Refuse to write a transform's value into a tensor that the transform does not know
    (RuntimeError in PyTorch's words): its other examples, or its tangent, would be lost, and a box
    left in it that nobody can open afterwards."""
    cell = storage.cell
    if type(cell) in BOXES and cell.level.depth >= new.level.depth:
        return
    if type(new) is Batched and new.batched:
        raise RuntimeError(errors.VMAP_IN_PLACE)
    made = new.level.made
    captured = made is not None and storage not in made
    if type(new) is Dual and captured and not new.level.outlived:
        raise RuntimeError(errors.CAPTURED_IN_PLACE)


def visible(box: Box, asked: str, instead: str) -> Any:
    """Return the tensor whose value Python may see in place of a box: the primal, the one value for
    all examples. RuntimeError in PyTorch's words where there is a value for each example."""
    if type(box) is Batched and box.batched:
        if asked == ".item()":
            raise RuntimeError(errors.VMAP_ITEM)
        if asked == "bool(tensor)":
            raise RuntimeError(errors.VMAP_CONTROL_FLOW)
        if asked == ".tolist()":
            raise RuntimeError(errors.UNWRAP_TRANSFORMED)
        words = errors.VMAP_VALUE.format(asked=asked, instead=instead)
        if asked == "indexing with a boolean mask (its size depends on values)":
            words = errors.VMAP_MASK.format(instead=instead)
        elif asked.endswith("(its size depends on values)"):
            words = errors.VMAP_SIZE.format(name=asked.partition("(")[0], instead=instead)
        raise RuntimeError(words)
    return box.value


def innermost(t: Any) -> Any:
    """Return the tensor inside all boxes, all examples of it; for checks of values."""
    cell = t._read()
    return innermost(cell.value) if type(cell) in BOXES else t


def _inside(x: Any) -> Any:
    """Return the array in a box, with all examples."""
    while isinstance(x, Box):
        x = x.value._read()
    return x
