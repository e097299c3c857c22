"""How executables run on boxes: transformed by ``jax.vmap`` or ``jax.jvp``, on what is inside.

A transformed executable is an executable like any other, made once for each pattern of boxed
operands, and run by ``record.execute`` on the tensors inside the boxes: so it is recorded there,
and transformed again when those are boxed themselves.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax

from torchlike._core import dtypes, modes
from torchlike._core.dispatch.executable import Executable, flatten
from torchlike._core.dispatch.record import execute, recorded, snapshot
from torchlike._core.overrides import TENSOR_TYPES
from torchlike._core.tape import gradient_edge
from torchlike._extensions.boxes import Batched, Box, Dual, Level, Mapped
from torchlike.tensor import Tensor, wrap

#: Functions that are no ops (reads of views and the like) as executables.
_functions: dict[tuple[Any, int], Executable] = {}


class BoxLevel(Level):
    """What the two kinds of level share."""

    def call(self, function: Callable[..., Any], arrays: list[Any]) -> Any:
        key = (function, len(arrays))
        exe = _functions.get(key)
        if exe is None:
            exe = Executable("CallBackward0", function, 0, len(arrays))
            _functions[key] = exe
        return self.apply(exe, arrays)

    def execute(self, exe: Executable, arrays: list[Any], operands: Any) -> Any:
        """Compute an op at this level and record it on the tape of the level for operands of the
        level; operations on those of lower levels are recorded where they are. (A level of
        ``forward_ad`` has one tape with those below: what its tensors give is differentiated like
        any other.)"""
        own = [isinstance(a, Box) and a.level is self for a in arrays]
        edges = [
            gradient_edge(operands[i]) if own[i] or self.outlived else None for i in exe.wanted
        ]
        # Lifted, a tensor of a lower level keeps its place there also in what the node saves.
        arrays = [
            self.lift(o) if type(o) in TENSOR_TYPES and not mine else a
            for o, a, mine in zip(operands, arrays, own, strict=True)
        ]
        out = self.apply(exe, arrays)
        if any(e is not None for e in edges):
            return recorded(exe, edges, arrays, out, None, operands)
        return tuple([wrap(o) for o in out]) if type(out) is tuple else wrap(out)

    def backward(self, node: Any, operands: list[Any]) -> Any:
        return flatten(self.apply(node.backward_executable(0, len(operands)), operands))

    def _inside(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the operands one level down: tensors from inside this level's boxes, else as they
        are."""
        return [a.value if isinstance(a, Box) and a.level is self else a for a in arrays]


def _mask(exe: Executable, operands: Sequence[Any]) -> int:
    """Return the mask of the operands of the level below that want a gradient."""
    if not (modes.current.grad_enabled and exe.differentiable):
        return 0
    mask = 0
    for i, o in enumerate(operands):
        if isinstance(o, Tensor) and o.requires_grad:
            mask |= 1 << i
    return mask


def _run(exe: Executable, operands: list[Any]) -> Any:
    return execute(exe, [o._read() if isinstance(o, Tensor) else o for o in operands], operands)


def _with_mask(exe: Executable, operands: list[Any]) -> Executable:
    """Return an executable like another one, made for other wanted gradients."""
    mask = _mask(exe, operands)
    if mask == exe.mask:
        return exe
    key = ("plain", mask)
    found = exe.transformed.get(key)
    if found is None:
        found = Executable(
            exe.name, exe.pure, mask, len(operands), differentiable=exe.differentiable
        )
        exe.transformed[key] = found
    return found


class VmapLevel(BoxLevel, Mapped):
    """A running ``vmap``."""

    def lift(self, value: Any) -> Batched:
        return Batched(self, snapshot(value), batched=False)

    def apply(self, exe: Executable, arrays: list[Any]) -> Any:
        axes = tuple(
            [0 if type(a) is Batched and a.level is self and a.batched else None for a in arrays]
        )
        operands = self._inside(arrays)
        batched = 0 in axes
        own = self._batched(exe, axes, operands) if batched else _with_mask(exe, operands)
        out = _run(own, operands)
        if isinstance(out, tuple):
            return tuple(
                [Batched(self, o, batched and i >= own.unmapped) for i, o in enumerate(out)]
            )
        if batched and exe.facts is not None and exe.facts[0].copies:
            out._storage.strides = operands[0]._storage.strides
        return Batched(self, out, batched)

    def _batched(self, exe: Executable, axes: tuple[Any, ...], operands: list[Any]) -> Executable:
        mask = _mask(exe, operands)
        key = (axes, mask)
        found = exe.transformed.get(key)
        if found is None:
            rule = None
            if exe.rule is not None and axes[0] == 0 and mask == 1:
                rule = jax.vmap(exe.rule)
            pure = jax.vmap(exe.pure, in_axes=axes)
            if exe.pushed is not None and 0 not in axes[: exe.pushed[1]]:
                pure = _with_one_primal(exe, axes, key)
            found = Executable(
                exe.name, pure, mask, len(axes), rule=rule, differentiable=exe.differentiable
            )
            exe.transformed[key] = found
        return found


def _with_one_primal(exe: Executable, axes: tuple[Any, ...], key: Any) -> Callable[..., Any]:
    """Return a jvp mapped over its tangents alone: its outputs are one value for all examples, so a
    Jacobian of many columns computes the function once."""
    assert exe.pushed is not None
    mapped = jax.vmap(exe.pushed[0], in_axes=axes, out_axes=(None, 0))

    def pure(*flat: Any) -> tuple[Any, ...]:
        try:
            out, tangents = mapped(*flat)
        except ValueError:  # the primal of a custom rule may depend on the tangents, to JAX's eyes
            return jax.vmap(exe.pure, in_axes=axes)(*flat)
        exe.transformed[key].unmapped = len(out)
        return (*out, *tangents)

    return pure


class JvpLevel(BoxLevel):
    """A running ``jvp``, or a level of ``forward_ad``."""

    def __init__(self, transform: str = "jvp") -> None:
        super().__init__()
        self.transform = transform
        self.outlived = transform != "jvp"
        self.made = weakref.WeakSet()
        #: What the switch of forward_ad said when the next level inside was entered, and that one.
        self._said = True
        self._next: JvpLevel | None = None

    def __enter__(self) -> JvpLevel:
        """Enter the level; ``jvp`` does so with tangents on, whatever the switch said."""
        if not self.outlived:
            around = [level for level in modes.current.levels if isinstance(level, JvpLevel)]
            self._around = around[-1] if around else JvpLevel()
            self._around._said, self._around._next = modes.current.forward_grad, self
            modes.current.forward_grad = True
        return super().__enter__()

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        if not self.outlived:
            modes.current.forward_grad = self._around._said
            self._around._said, self._around._next = True, None

    def lift(self, value: Any) -> Dual:
        return Dual(self, snapshot(value))

    def _pushes(self) -> bool:
        """Return whether an op has tangents now. (Inference mode switches them off for
        forward_ad.)"""
        level: JvpLevel | None = self
        pushes = self.alive and modes.current.forward_grad
        while pushes and level is not None:  # a switch that is off is off for the levels around too
            pushes, level = level._said, level._next
        return pushes and not (self.outlived and modes.current.inference)

    def apply(self, exe: Executable, arrays: list[Any]) -> Any:
        operands = self._inside(arrays)
        moving = (
            tuple(
                [
                    i
                    for i, a in enumerate(arrays)
                    if type(a) is Dual and a.level is self and a.tangent is not None
                ]
            )
            if exe.differentiable and self._pushes()
            else ()
        )
        if not moving:
            out = _run(_with_mask(exe, operands), operands)
            if isinstance(out, tuple):
                return tuple([self._dual(o) for o in out])
            return self._dual(out)
        operands += [arrays[i].tangent for i in moving]
        out = flatten(_run(self._pushed(exe, moving, len(arrays), operands), operands))
        # The outputs, then a tangent for each of them that is differentiable.
        n = 0
        floating: list[int] = []
        while n + len(floating) < len(out):
            if out[n].dtype.numpy in dtypes.DIFFERENTIABLE:
                floating.append(n)
            n += 1
        tangents = dict(zip(floating, out[n:], strict=True))
        duals = tuple([Dual(self, o, tangents.get(i)) for i, o in enumerate(out[:n])])
        return duals if exe.has_tuple else duals[0]

    def _dual(self, primal: Tensor) -> Any:
        """Return a value as a dual without a tangent; after the level, as no box at all."""
        return Dual(self, primal) if self.alive else primal._value_now()

    def end(self) -> None:
        """Leave the level; the tensors made in it hold their primals from now on."""
        self.alive = False
        for storage in list(self.made or ()):
            cell = storage.cell
            if type(cell) is Dual and cell.level is self:
                storage.cell = cell.value._read()

    def _pushed(
        self, exe: Executable, moving: tuple[int, ...], n: int, operands: list[Any]
    ) -> Executable:
        """Return the executable ``(operands, tangents of the moving ones) -> (outputs, their
        tangents)``."""
        mask = _mask(exe, operands)
        key = ("jvp", moving, mask)
        found = exe.transformed.get(key)
        if found is None:

            def pushed(*flat: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
                primals, tangents = flat[:n], flat[n:]

                def of_moving(*values: Any) -> tuple[Any, ...]:
                    merged = list(primals)
                    for i, value in zip(moving, values, strict=True):
                        merged[i] = value
                    out = exe.pure(*merged)
                    exe.has_tuple = isinstance(out, tuple)
                    differentiable = tuple(
                        o for o in flatten(out) if o.dtype in dtypes.DIFFERENTIABLE
                    )
                    return differentiable, flatten(out)

                at = tuple(primals[i] for i in moving)
                given = tuple(t.astype(p.dtype) for t, p in zip(tangents, at, strict=True))
                _, derivative, out = jax.jvp(of_moving, at, given, has_aux=True)
                return tuple(out), derivative

            found = Executable(exe.name, lambda *flat: sum(pushed(*flat), ()), mask, len(operands))
            found.pushed = pushed, n
            exe.transformed[key] = found
        return found
